"""The true progress of a stream is never broken by a later row, and no greater bound would hold."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.workload import models
from millstream.workload.arrival import Arrival, arrive

MODELS: dict[str, Callable[[pa.Table, int], Arrival]] = {
    "bounded": lambda table, seed: models.bounded(table, "t", 9, seed),
    "banded": lambda table, seed: models.banded(table, "t", 9, seed=seed),
    "block_sorted": lambda table, seed: models.block_sorted(table, "t", 9, seed),
    "late_minority": lambda table, seed: models.late_minority(table, "t", 9, 0.3, seed),
    "lagging": lambda table, _seed: models.lagging(table, "t", "site", {0: 9, 2: 4}),
    "skewed_keys": lambda table, seed: models.skewed_keys(table, "t", "site", 9, seed),
    "with_lulls": lambda table, _seed: models.with_lulls(table, "t", 7, 20),
    "in_bursts": lambda table, _seed: models.in_bursts(table, "t", 7, 0.2),
}
every_model = pytest.mark.parametrize("model", MODELS)
ordered = st.lists(st.integers(-50, 50), max_size=40).map(sorted)
seeds = st.integers(0, 2**32 - 1)


def made(model: str, at: list[int], seed: int) -> Arrival:
    table = pa.table({"t": pa.array(at, pa.int64()), "site": pa.array([i % 3 for i in range(len(at))], pa.int64())})
    return MODELS[model](table, seed)


@every_model
@given(at=ordered, seed=seeds)
def test_no_later_row_is_below_the_bound_and_one_is_at_it(model: str, at: list[int], seed: int) -> None:
    stream = made(model, at, seed)
    arrived = stream.rows["t"].to_pylist()

    assert len(at) == len(arrived) == len(stream.bounds)
    for i, bound in enumerate(stream.bounds.tolist()):
        assert min(arrived[i + 1 :], default=max(arrived) + 1) == bound


@every_model
@given(at=ordered, seed=seeds)
def test_the_same_holds_for_each_key(model: str, at: list[int], seed: int) -> None:
    stream = made(model, at, seed)
    rows = stream.rows.to_pylist()

    for i, bound in enumerate(stream.bounds_of("site").tolist()):
        later = [row["t"] for row in rows[i + 1 :] if row["site"] == rows[i]["site"]]
        assert min(later, default=max(row["t"] for row in rows) + 1) == bound


@given(ordered, seeds, st.integers(1, 12))
def test_epochs_are_the_stream_and_their_bounds_hold(at: list[int], seed: int, size: int) -> None:
    stream = made("bounded", at, seed)
    epochs = list(stream.epochs(size))

    assert stream.rows["t"].to_pylist() == [t for rows, _ in epochs for t in rows["t"].to_pylist()]
    for i, (_, bound) in enumerate(epochs):
        assert all(t >= bound for rows, _ in epochs[i + 1 :] for t in rows["t"].to_pylist())


@given(ordered, seeds)
def test_delays_are_below_the_span(at: list[int], seed: int) -> None:
    for model in ("bounded", "banded", "skewed_keys"):
        arrived = made(model, at, seed).rows["t"].to_numpy()

        assert np.all(np.maximum.accumulate(arrived) - arrived < 9) or not len(arrived)


@given(ordered)
def test_lulls_and_bursts_keep_the_order(at: list[int]) -> None:
    for model in ("with_lulls", "in_bursts"):
        stream = made(model, at, 0)
        arrived = stream.rows["t"].to_pylist()

        assert sorted(arrived) == arrived
        assert stream.rows["site"].to_pylist() == [i % 3 for i in range(len(at))]


@pytest.mark.parametrize("kind", [pa.timestamp("us", tz="UTC"), pa.date32(), pa.int32()])
def test_a_bound_is_a_value_of_the_attribute(kind: pa.DataType) -> None:
    values = pa.array([5, 3, 9], pa.int32() if pa.types.is_date32(kind) else pa.int64()).cast(kind)
    bounds = [bound for _, bound in arrive(pa.table({"t": values}), "t").epochs(1)]

    assert values.to_pylist()[1:] == bounds[:2]
