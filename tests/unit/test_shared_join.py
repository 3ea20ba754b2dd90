"""One store for several joins: what it keeps, for how long, and which pairs go where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.promise.near import Reach
from millstream.ops.join import shared
from millstream.ops.join.cells import DistanceCells
from millstream.ops.join.shared import SharedJoin
from millstream.plan import nodes
from support import in_process
from support.bags import difference
from support.joins import SCHEMA, streams, table

Row = dict[str, Any]


def row(ts: int, *, k: str = "a", v: int = 0) -> Row:
    return {"ts": ts, "k": k, "j": 0, "v": v, "id": ts}


def epochs(name: str, *some: tuple[list[Row], int | None]) -> list[ms.Epoch]:
    """Rows of each epoch, and the bound that is promised with it."""
    return [
        ms.Epoch(table(given, second=name != "ts"), [] if bound is None else [ms.punctuation(name, before=bound)])
        for given, bound in some
    ]


def store_of(engine: ms.Engine) -> SharedJoin:
    found = [v.operator for v in engine.host.graph.vertices.values() if isinstance(v.operator, SharedJoin)]
    assert 1 == len(found)
    return found[0]


def kept(engine: ms.Engine, side: str) -> list[int]:
    column = {"left": "ts", "right": "ts2"}[side]
    tables = [one.tables[side] for one in store_of(engine).store.segments if side in one.tables]
    return sorted(value for one in tables for value in one[column].to_pylist())


def pairs(query: ms.Query) -> list[tuple[Any, Any]]:
    return sorted((one["ts"], one["ts2"]) for one in query.table().to_pylist())


# --- which pairs go where -----------------------------------------------------------------------------


def test_ends_that_are_hit_exactly_are_in_closed_bands_and_not_in_open_ones() -> None:
    """Row 6 of the checklist: distances of 2 and of 0."""
    engine = ms.Engine(host="local")
    streams(engine, epochs("ts", ([row(10)], None)), epochs("ts2", ([row(t) for t in (8, 9, 10, 12, 13)], None)))
    texts = {
        "closed": "b.ts2 >= a.ts - 2 AND b.ts2 <= a.ts + 2",
        "open": "b.ts2 > a.ts - 2 AND b.ts2 < a.ts + 2",
        "half": "b.ts2 >= a.ts AND b.ts2 < a.ts + 3",
        "same": "b.ts2 BETWEEN a.ts AND a.ts",
    }
    made = {
        name: engine.sql(f"SELECT a.ts, b.ts2 FROM a JOIN b ON a.k = b.k2 AND {text}", name=name)
        for name, text in texts.items()
    }
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    found = {name: [other for _, other in pairs(query)] for name, query in made.items()}
    assert {"closed": [8, 9, 10, 12], "open": [9, 10], "half": [10, 12], "same": [10]} == found
    assert 4 == len(store_of(engine).spec.readings)


@pytest.mark.parametrize("scale", [1, 1000, 10**7])
def test_cells_are_disjoint_and_each_band_is_a_run_of_them(scale: int) -> None:
    """Rows 4 and 5: the slices together are the regular join, and each has the pairs of its range of distances."""
    reaches = [Reach(-scale * i, scale * j) for i, j in ((1, 1), (2, 5), (0, 3), (7, 2), (7, 7))]
    cells = DistanceCells(reaches)
    distances = np.random.default_rng(0).integers(-7 * scale, 7 * scale + 1, 500)
    order, starts = cells.sorted(distances)
    assert sorted(order.tolist()) == list(range(500))
    assert starts[0] == 0
    assert starts[-1] == 500
    for reach, (first, last) in zip(reaches, cells.spans, strict=True):
        assert reach.low is not None
        assert reach.high is not None
        inside = distances[order][starts[first] : starts[last]]
        assert sorted(distances[(distances >= reach.low) & (distances <= reach.high)]) == sorted(inside)


def test_the_other_side_is_probed_once_with_the_widest_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    """Row 9: many joins make as many probes as the widest one."""
    probes: list[Reach] = []
    real = shared.pairs

    def counted(hashes: Any, at: Any, run: Any, reach: Reach, block: int) -> Any:
        probes.append(reach)
        return real(hashes, at, run, reach, block)

    monkeypatch.setattr(shared, "pairs", counted)
    engine = ms.Engine(host="local")
    a, b = streams(engine, epochs("ts", ([row(10)], None)), epochs("ts2", ([row(8), row(15)], None)))
    queries = [a.join(b, on=[("k", "k2")], within=i).named(f"q{i}") for i in range(1, 9)]
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    assert [Reach(-8, 8)] == probes
    assert [0, 1, 1, 1, 2, 2, 2, 2] == [query.table().num_rows for query in queries]


# --- what is kept -------------------------------------------------------------------------------------


def test_as_many_rows_are_kept_as_the_widest_join_needs() -> None:
    """Row 12: (rate + rate) times the longest window, whatever other joins there are."""

    def most(widths: list[int]) -> int:
        engine = ms.Engine(host="local")
        steps = range(0, 400, 10)
        a, b = streams(
            engine,
            epochs("ts", *(([row(at + i) for i in range(10)], at + 10) for at in steps)),
            epochs("ts2", *(([row(at + i) for i in range(10)], at + 10) for at in steps)),
        )
        for width in widths:
            a.join(b, on=[("k", "k2")], within=width).named(f"q{width}").discard()
        run = engine.start(ms.available_now())
        run.await_termination()
        operators = run.progress["queries"][f"q{widths[-1]}"]["operators"]
        return max(one["state_rows"] for one in operators)

    alone = most([100])
    assert alone == pytest.approx(2 * 100, rel=0.15)  # a slice may overstay by a sixteenth
    assert alone == most([1, 5, 20, 50, 100])


def test_a_row_stays_no_longer_than_the_last_join_of_its_bitmap_asks_for() -> None:
    """Row 16: rows with v > 5 are for the long join, those with v > 0 for the short one, the others for nobody."""
    engine = ms.Engine(host="local")
    given = [row(0, v=9), row(1, v=1), row(2, v=0)]
    a, b = streams(
        engine,
        epochs("ts", (given, None), ([], None), ([], None)),
        epochs("ts2", ([], 1), ([row(9)], 9), ([], 200)),
    )
    short = a.where("v > 0").join(b, on=[("k", "k2")], within=4).named("short")
    long = a.where("v > 5").join(b, on=[("k", "k2")], within=100).named("long")
    engine.start(ms.once()).await_termination()
    assert [0, 1] == kept(engine, "left")  # what satisfies nothing is dropped at once
    engine.start(ms.once()).await_termination()
    assert [0] == kept(engine, "left")
    engine.start(ms.once()).await_termination()
    assert [] == kept(engine, "left")
    assert ([], [(0, 9)]) == (pairs(short), pairs(long))


def test_each_condition_is_computed_once_for_a_row() -> None:
    engine = ms.Engine(host="local")
    a, b = streams(engine, [], [])
    asked = {
        f"q{i}": a.where(condition).join(b, on=[("k", "k2")], within=i).node
        for i, condition in enumerate(("v > 5", "v > 5", "v > 0", "v > 5"))
    }
    plan = engine.host.plan(asked)
    (store,) = {n for root in plan.roots for n in nodes.walk(root.node) if isinstance(n, nodes.SharedJoin)}
    assert (2, 0) == tuple(map(len, store.predicates))
    assert [0, 0, 1, 0] == [one.predicates[0] for one in store.readings]


@pytest.mark.parametrize(("text", "most"), [(False, 1.0), (True, 1.2)])
def test_a_row_takes_little_more_than_its_own_bytes(*, text: bool, most: float) -> None:
    n = 5000
    keys = pa.array([f"key-{i % 50}" for i in range(n)]) if text else pa.array(np.arange(n) % 50)
    rows = pa.table({"ts": np.arange(n), "k": keys, "v": np.arange(n) * 0.5})
    engine = ms.Engine(host="local")
    a = engine.stream("a", [rows], progress=ms.ordered("ts"))
    b = engine.stream("b", [], schema=rows.schema, progress=ms.ordered("ts"))
    a.join(b, on="k", within=10).named("q")
    engine.start(ms.available_now()).await_termination()
    size = sum(v.operator.store.nbytes for v in engine.host.graph.vertices.values() if isinstance(v.node, nodes.Join))
    assert size <= most * rows.combine_chunks().nbytes


@pytest.mark.parametrize("text", [False, True])
def test_a_row_that_joins_share_takes_at_most_a_fifth_more_than_its_own_bytes(*, text: bool) -> None:
    """Rows of four columns, with a bitmap of three conditions and the marks of two joins: six bytes more at most."""
    n = 5000
    keys = pa.array([f"key-{i % 50}" for i in range(n)]) if text else pa.array(np.arange(n) % 50)
    rows = pa.table({"ts": np.arange(n), "k": keys, "v": np.arange(n) * 0.5, "w": np.arange(n)})
    engine = ms.Engine(host="local")
    a = engine.stream("a", [rows], progress=ms.ordered("ts"))
    b = engine.stream("b", [], schema=rows.schema, progress=ms.ordered("ts"))
    for i, how in enumerate(("inner", "left", "anti")):
        a.where(f"v >= {i} - 1").join(b, on="k", within=10 + i, how=how).named(f"q{i}")
    engine.start(ms.available_now()).await_termination()
    assert n == sum(one.tables["left"].num_rows for one in store_of(engine).store.segments)
    assert store_of(engine).store.nbytes <= 1.2 * rows.combine_chunks().nbytes


@pytest.mark.parametrize("partitions", [1, 3])
def test_on_disk_the_state_is_that_of_the_widest_join_and_an_epoch(partitions: int, tmp_path: Path) -> None:
    """Row 40: 2 · rate · (longest window + disorder + epoch), whatever other joins there are."""
    width, delay, batch = 60, 5, 10
    engine = in_process.engine(tmp_path, partitions)
    made = []
    for name in ("a", "b"):
        rows = [
            pa.table({f"t{name}": np.arange(at, at + batch), f"k{name}": np.zeros(batch, dtype=np.int64)})
            for at in range(0, 300, batch)
        ]
        made.append(engine.stream(name, rows, progress=ms.bounded_disorder(f"t{name}", delay)))
    for one in (5, 20, width):
        made[0].join(made[1], on=[("ka", "kb")], within=one).named(f"q{one}").discard()
    most = 0
    for _ in range(30):
        run = engine.start(ms.once())
        run.await_termination()
        found = run.progress["shared"].values()
        most = max([most, *(one["state_rows"] for one in found)])
    assert most == pytest.approx(2 * (width + delay + batch), rel=0.15)  # progress is known an epoch later


# --- who shares ---------------------------------------------------------------------------------------


def test_what_can_fail_stays_with_its_own_query() -> None:
    engine = ms.Engine(host="local")
    a, b = streams(engine, epochs("ts", ([row(1, v=0), row(2, v=1)], None)), epochs("ts2", ([row(1), row(2)], None)))
    fails = a.where("10 / v > 1").join(b, on=[("k", "k2")], within=3).named("fails")
    other = a.join(b, on=[("k", "k2")], within=1).named("other")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    assert 0 == sum(isinstance(v.node, nodes.SharedJoin) for v in engine.host.graph.vertices.values())
    assert (2, 4) == (fails.table().num_rows, other.table().num_rows)


@pytest.mark.parametrize("partitions", [0, 2])
def test_joins_that_stay_are_not_disturbed_by_one_that_comes_later(partitions: int, tmp_path: Path) -> None:
    left = epochs("ts", *(([row(t)], t) for t in range(20)))
    right = epochs("ts2", *(([row(t)], t) for t in range(20)))

    def live(widths: list[int], some: int, engine: ms.Engine) -> dict[int, Any]:
        a, b = streams(engine, left[:some], right[:some])
        return {w: a.join(b, on=[("k", "k2")], within=w).select("ts", "ts2").named(f"q{w}") for w in widths}

    if partitions:
        for number, widths in enumerate(([1, 2], [1, 2, 3])):
            engine = in_process.engine(tmp_path / "checkpoint", partitions)
            for width, query in live(widths, 10 + 10 * number, engine).items():
                query.to_csv(tmp_path / f"q{width}")
            engine.start(ms.available_now(), end_of_stream=bool(number)).await_termination()
        found = {w: _read(tmp_path / f"q{w}") for w in (1, 2)}
    else:
        engine = ms.Engine(host="local")
        a, b = streams(engine, left, right)
        made = {w: a.join(b, on=[("k", "k2")], within=w).named(f"q{w}") for w in (1, 2)}
        engine.start(ms.once()).await_termination()
        a.join(b, on=[("k", "k2")], within=3).named("q3")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        found = {w: pairs(query) for w, query in made.items()}
    for width in (1, 2):
        wanted = [(t, u) for t in range(20) for u in range(20) if abs(t - u) <= width]
        assert {} == difference(wanted, found[width])


def _read(folder: Path) -> list[tuple[int, int]]:
    lines = [line for file in sorted(folder.glob("part-*")) for line in file.read_text().splitlines()[1:]]
    return [(int(one), int(other)) for one, other in (line.split(",") for line in lines)]


def test_rows_without_a_time_are_rejected_for_the_joins_that_would_read_them() -> None:
    engine = ms.Engine(host="local")
    rows = pa.Table.from_pylist([{**row(1, v=9), "j": None}, {**row(2, v=1), "j": None}, row(3, v=9)], schema=SCHEMA)
    a = engine.stream("a", [rows], progress=ms.supplied("ts"))
    b = engine.stream("b", [table([row(3)], second=True)], progress=ms.supplied("ts2"))
    every = a.join(b, on=[("k", "k2")], within=1, time=("j", "j2")).named("every")
    some = a.where("v > 5").join(b, on=[("k", "k2")], within=2, time=("j", "j2")).named("some")
    for query in (every, some):
        query.rejected.to_memory()
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    assert 2 == len(store_of(engine).spec.readings)
    assert ["j is null"] * 2 == every.rejected.table()["reason"].to_pylist()
    assert ["j is null"] == some.rejected.table()["reason"].to_pylist()
    books = {name: run.progress["queries"][name]["books"] for name in ("every", "some")}
    assert (2, 0) == (books["every"]["rejected"], books["every"]["unaccounted"])
    assert (1, 1, 0) == tuple(books["some"][name] for name in ("rejected", "filtered", "unaccounted"))
