"""Joins of many streams: what is kept, promised, refused, and which orders are taken."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.promise.spans import Spans
from millstream.ops.many.join import FANS
from millstream.ops.many.join_order import Fans, choose, cost
from millstream.ops.many.many_spec import ManySpec
from support import in_process, many


def engine_with(*rows: list[dict[str, Any]], progress: Any = None) -> tuple[ms.Engine, list[ms.Stream]]:
    engine = ms.Engine(host="local")
    made = [
        engine.stream(name, [some], schema="ts BIGINT, k STRING, v BIGINT", progress=progress or ms.ordered("ts"))
        for name, some in zip("abcd", rows, strict=False)
    ]
    return engine, made


def row(ts: int, k: Any = "x", v: int = 0) -> dict[str, Any]:
    return {"ts": ts, "k": k, "v": v}


def spec(streams: int, keys: list[dict[int, str]]) -> ManySpec:
    schema = pa.schema({"ts": pa.int64(), "x": pa.int64(), "y": pa.int64()})
    names = ("ts",) * streams
    limits = {(i, j): 5 for i in range(streams) for j in range(streams) if i != j}
    return ManySpec(
        schemas=(schema,) * streams, spans=Spans.closed(names, limits), keys=tuple(keys), condition=None,
        columns=tuple((f"{n}{i}", i, n) for i in range(streams) for n in schema.names), schema=schema,
    )  # fmt: skip


def test_windows_a_stream_are_exact_at_their_boundaries() -> None:
    """A row is in its stream's window while the latest row is no more than the window after it."""
    engine, (a, b, c) = engine_with([row(0), row(1)], [row(4)], [row(6), row(7)])
    query = ms.join(a, b, c, on="k", within={"a": 6, "b": 2, "c": 0}).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    found = {tuple(one.values()) for one in query.table().select(["a_ts", "b_ts", "c_ts"]).to_pylist()}
    assert {(0, 4, 6), (1, 4, 6)} == found


def test_each_stream_is_kept_once_and_nothing_in_between() -> None:
    engine = ms.Engine(host="local")
    names = "abc"
    streams = [
        engine.stream(name, [[row(t) for t in range(10)]], progress=ms.bounded_disorder("ts", 100)) for name in names
    ]
    ms.join(*streams, on="k", within=50).named("q")
    run = engine.start(ms.available_now())
    run.await_termination()

    assert 30 == run.progress["queries"]["q"]["operators"][-1]["state_rows"]


def test_rows_go_when_every_other_stream_has_passed_them() -> None:
    engine, (a, b, c) = engine_with([row(t) for t in range(50)], [row(t) for t in range(50)], [row(10)])
    ms.join(a, b, c, on="k", within=3).named("q")
    run = engine.start(ms.available_now())
    run.await_termination()

    # c has promised 10: rows of a and b below 7 are gone, and none of c is beside what a and b may still bring.
    assert 2 * 43 == run.progress["queries"]["q"]["operators"][-1]["state_rows"]


def test_a_window_on_a_joined_time_closes_as_the_slowest_stream_allows() -> None:
    engine, (a, b, c) = engine_with([row(t) for t in range(41)], [row(t) for t in range(41)], [row(5), row(27)])
    joined = ms.join(a, b, c, on="k", within=2)
    query = joined.window("a_ts", range=10).agg(n=ms.count()).named("q")
    engine.start(ms.available_now()).await_termination()

    # c < 27 is promised, so a's times in what leaves are at or above 25: two windows are closed.
    assert [0] == query.table()["window_start"].to_pylist()
    assert [19] == query.table()["n"].to_pylist()


def test_a_key_that_is_over_lets_its_rows_go() -> None:
    engine = ms.Engine(host="local")
    over = [ms.punctuation(k="x")]
    feed = {
        "a": [ms.Epoch([row(1), row(2, "y")], over)],
        "b": [ms.Epoch([row(1), row(2, "y")], over)],
        "c": [ms.Epoch([row(1), row(2, "y")], over)],
    }
    streams = [
        engine.stream(name, some, schema="ts BIGINT, k STRING, v BIGINT", progress=ms.supplied("ts", per="k"))
        for name, some in feed.items()
    ]
    query = ms.join(*streams, on="k", within=5).named("q")
    run = engine.start(ms.available_now())
    run.await_termination()

    assert 2 == query.table().num_rows
    assert 3 == run.progress["queries"]["q"]["operators"][-1]["state_rows"]


def test_a_stream_without_a_bound_is_refused_and_told_so() -> None:
    engine, (a, b, c) = engine_with([], [], [])
    ms.join(a, b, c, on="k", within={("a", "b"): 5, ("b", "c"): (None, 3)}).named("q")
    with pytest.raises(ms.ContractError, match=r"keeps the rows of c for ever.*rows of a may come") as caught:
        engine.start(ms.available_now())
    assert "Bound the time between" in str(caught.value)


def test_a_stream_without_progress_is_refused() -> None:
    engine = ms.Engine(host="local")
    a, b = (engine.stream(n, [], schema="ts BIGINT, k STRING", progress=ms.ordered("ts")) for n in "ab")
    c = engine.stream("c", [], schema="ts BIGINT, k STRING")
    ms.join(a, b, c, on="k", within=5, time="ts").named("q")
    with pytest.raises(ms.ContractError, match="no punctuation on ts comes from c"):
        engine.start(ms.available_now())


@pytest.mark.parametrize(
    ("asked", "fact"),
    [
        ({"within": {"z": 5}}, "there is no stream 'z'"),
        ({"within": (1, 2)}, "does not say between which streams"),
        ({"within": -1}, "negative"),
        ({"within": {("a", "b"): (5, 9), ("a", "c"): (0, 1), ("b", "c"): (0, 1)}}, "contradict"),
        ({"on": "nope", "within": 1}, "no column 'nope'"),
        ({"on": [("a.k", "b.v")], "within": 1}, "never equal"),
        ({"on": [3], "within": 1}, "names no columns"),
        ({"on": [("a.v", "b.v"), ("a.ts", "b.v")], "within": 1}, "two columns of a"),
        ({"within": 1, "how": "full"}, "no 'full' join"),
        ({"rows": 0}, "no number of rows"),
        ({"rows": 2, "within": 1}, "stand alone"),
        ({"within": 1, "names": ("a", "a", "b")}, "do not name 3 streams"),
        ({"within": 1, "time": ("ts",)}, "no attribute of each stream"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_hint(asked: dict[str, Any], fact: str) -> None:
    _, (a, b, c) = engine_with([], [], [])
    with pytest.raises(ms.MillstreamError, match=fact) as caught:
        ms.join(a, b, c, **asked)
    assert caught.value.hint


def test_things_that_are_no_streams_are_refused() -> None:
    _, (a, _) = engine_with([], [])
    for given, fact in (((a,), "1 streams"), ((a, 3), "3 is not a stream"), ((a, a), "do not name 2 streams")):
        with pytest.raises(ms.PlanError, match=fact):
            ms.join(*given, within=1)  # type: ignore[arg-type]  # on purpose


def test_keys_are_equal_as_in_a_join_of_two() -> None:
    """NaN is one key, both zeros are one, and null is equal to nothing."""
    values = [float("nan"), 0.0, -0.0, None, 1.5]
    engine = ms.Engine(host="local")
    streams = [
        engine.stream(
            name, [{"ts": i, "odd key": v} for i, v in enumerate(values)], schema="ts BIGINT, `odd key` DOUBLE",
            progress=ms.ordered("ts"),
        )
        for name in "abc"
    ]  # fmt: skip
    query = ms.join(*streams, on="odd key", within=9).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    found = {tuple(one) for one in zip(*(query.table()[f"{n}_ts"].to_pylist() for n in "abc"), strict=True)}
    zeros = {(i, j, k) for i in (1, 2) for j in (1, 2) for k in (1, 2)}
    assert {(0, 0, 0), (4, 4, 4), *zeros} == found


def test_rows_without_a_time_are_rejected() -> None:
    engine, (a, b, c) = engine_with([row(1), {"ts": None, "k": "x", "v": 1}], [row(1)], [row(2)])
    query = ms.join(a.where("v >= 0"), b, c, on="k", within=3, names=("a", "b", "c")).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert 1 == query.table().num_rows
    assert 1 == query.rejected.table().num_rows


def test_a_condition_that_fails_for_a_combination_rejects_it_alone() -> None:
    engine, (a, b, c) = engine_with([row(1, v=0), row(1, v=2)], [row(1)], [row(2)])
    query = ms.join(a, b, c, on="k", within=3, where="10 / a_v > b_v + c_v").named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert [2] == query.table()["a_v"].to_pylist()
    assert 1 == query.rejected.table().num_rows


def test_orders_follow_measured_selectivities() -> None:
    """From A, C matches hardly ever and B always: A goes to C first. From C it is tied to A alone."""
    made = spec(3, [{0: "x", 1: "x"}, {0: "y", 2: "y"}])
    fans = Fans(rows={0: 1000.0, 1: 1000.0, 2: 1000.0})
    fans.note([0], 1, 100, 5000, 5000)
    fans.note([0], 2, 100, 10, 10)
    assert (2, 1) == choose(made, fans, 0)
    assert (0, 1) == choose(made, fans, 2)
    fans.note([0], 2, 100, 90_000, 90_000)  # now C is the dear one
    assert (1, 2) == choose(made, fans, 0)
    assert cost(made, fans, 0, (1, 2)) < cost(made, fans, 0, (2, 1))


def test_an_operator_writes_down_what_steps_have_shown(tmp_path: Path) -> None:
    rnd = random.Random(1)
    made = many.case(rnd, 3, "common", "one length")
    engine = in_process.engine(tmp_path, 2)
    made.query(many.streams(engine, rnd, made)).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    facts = [parts[0][FANS] for found in engine.host.ledger.facts.values() for parts in found.values()]
    assert any(one["counts"] for one in facts)
    assert Fans.of(facts).counts.keys() <= {"0>1", "0>2", "1>0", "1>2", "2>0", "2>1", "0,1>2", "0,2>1", "1,2>0"}


def test_a_restart_between_any_two_epochs_changes_nothing(tmp_path: Path) -> None:
    for shape in ("common", "chain", "no key"):
        rnd = random.Random(shape)
        made = many.case(rnd, 3, shape, "pairs", "left")
        feeds = [many.arriving(rnd, rows) for rows in made.rows]
        out, place = tmp_path / f"{shape} out", tmp_path / shape
        for end in (*range(1, max(map(len, feeds)) + 1, 3), None):
            engine = in_process.engine(place, 2)
            streams = [
                engine.stream(name, feed if end is None else feed[:end], schema=many.SCHEMA, progress=ms.supplied("ts"))
                for name, feed in zip(made.names, feeds, strict=True)
            ]
            made.query(streams).to_parquet(out, mode="append").named("q")
            engine.start(ms.available_now(), end_of_stream=end is None).await_termination()
        assert made.answer() == made.got(pa.parquet.read_table(out))
