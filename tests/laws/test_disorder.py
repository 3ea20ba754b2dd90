"""Disorder is bounded as promised, and loses and invents no row."""

from collections import Counter

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from millstream.workload import disorder

times = st.lists(st.integers(-50, 50), max_size=40)
spans = st.integers(0, 30)
seeds = st.integers(0, 2**32 - 1)


def stream(at: list[int]) -> pa.Table:
    return pa.table({"t": pa.array(at, pa.int64()), "row": pa.array(range(len(at)), pa.int64())})


def rows_of(table: pa.Table) -> Counter[tuple[int, int]]:
    return Counter(zip(table["t"].to_pylist(), table["row"].to_pylist(), strict=True))


@given(times, spans, seeds)
def test_bounded_rows_stay_above_the_bound(at: list[int], span: int, seed: int) -> None:
    arrived = disorder.bounded(stream(at), "t", span, seed)

    assert disorder.greatest(arrived, "t") < max(span, 1)
    assert rows_of(stream(at)) == rows_of(arrived)


@given(times, st.integers(1, 30), seeds)
def test_blocks_arrive_one_after_another(at: list[int], block: int, seed: int) -> None:
    arrived = disorder.block_sorted(stream(at), "t", block, seed)

    blocks = [t // block for t in arrived["t"].to_pylist()]
    assert sorted(blocks) == blocks
    assert rows_of(stream(at)) == rows_of(arrived)


@given(times, spans, st.floats(0, 1), seeds)
def test_a_late_minority_is_late_by_no_more_than_the_delay(at: list[int], delay: int, share: float, seed: int) -> None:
    arrived = disorder.late_minority(stream(at), "t", delay, share, seed)

    behind = np.maximum.accumulate(arrived["t"].to_numpy()) - arrived["t"].to_numpy()
    assert np.all(behind <= delay)
    assert np.count_nonzero(behind) <= round(share * len(at))
    assert rows_of(stream(at)) == rows_of(arrived)


@given(times, st.dictionaries(st.integers(0, 2), spans))
def test_a_lag_keeps_the_order_of_each_key_and_its_distance(at: list[int], behind: dict[int, int]) -> None:
    table = stream(at).append_column("site", pa.array([row % 3 for row in range(len(at))], pa.int64()))
    arrived = disorder.lag(table, "t", "site", behind)

    for site in range(3):
        mine = [row["t"] for row in arrived.to_pylist() if row["site"] == site]
        assert sorted(mine) == mine
    assert disorder.greatest(arrived, "t") <= max(behind.values(), default=0)
    assert rows_of(table) == rows_of(arrived)


@given(times, spans, seeds)
def test_the_seed_decides_the_order(at: list[int], span: int, seed: int) -> None:
    once, again = (disorder.bounded(stream(at), "t", span, seed) for _ in range(2))

    assert once.equals(again)
