"""Declared again: the same once more is no mistake, as when a cell of a notebook runs twice; something else is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import millstream as ms

ROWS = [{"ts": 1, "k": "a"}, {"ts": 22, "k": "b"}]


def cell(engine: ms.Engine, within: int = 5) -> tuple[ms.Stream, ms.Query]:
    """What a cell of a notebook might hold."""
    stream = engine.stream("s", [dict(row) for row in ROWS], progress=ms.bounded_disorder("ts", within))
    return stream, stream.window("ts", range=10).agg(n=ms.count()).to_memory().named("counts")


def test_the_same_cell_runs_twice_before_and_after_a_start() -> None:
    engine = ms.Engine(host="local")
    first, counts = cell(engine)
    again, same = cell(engine)
    assert first.node is again.node
    assert counts is same

    engine.start(ms.available_now()).await_termination()
    _, after = cell(engine)
    assert 1 == after.table().num_rows
    assert ["counts"] == list(engine._queries)


def test_another_promise_is_told() -> None:
    engine = ms.Engine(host="local")
    cell(engine)

    with pytest.raises(ms.PlanError, match=r"with another promise \(ts within 5, and now ts within 7\)"):
        cell(engine, within=7)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (ROWS, list(ROWS), True),
        (ROWS, ROWS[:1], False),
        (pa.Table.from_pylist(ROWS), pa.Table.from_pylist(ROWS), True),
        (lambda: pa.Table.from_pylist(ROWS), lambda: pa.Table.from_pylist(ROWS), True),
    ],
    ids=["rows", "other rows", "table", "callable"],
)
def test_sources_are_compared(one: object, other: object, *, same: bool) -> None:
    engine = ms.Engine(host="local")
    engine.stream("s", one, schema=pa.schema([("ts", pa.int64()), ("k", pa.string())]))
    try:
        engine.stream("s", other, schema=pa.schema([("ts", pa.int64()), ("k", pa.string())]))
    except ms.PlanError as error:
        assert not same, error  # noqa: PT017 - either may be what is wanted
        assert "another source" in error.fact  # noqa: PT017
    else:
        assert same


def test_a_timer_is_the_same_timer() -> None:
    engine = ms.Engine(host="local")
    rows = pa.table({"ts": pa.array([0], pa.timestamp("us", "UTC"))})
    for _ in range(2):
        engine.stream("s", rows, progress=ms.timer("ts", "1 second", lull="5 seconds"))


def test_other_sinks_are_told() -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", ROWS)
    first = stream.where("ts > 1").to_parquet("out").named("q")

    assert first is stream.where("ts > 1").to_parquet("out").named("q")
    with pytest.raises(ms.PlanError, match="there is a query 'q' already, with other sinks"):
        stream.where("ts > 1").to_parquet("elsewhere").named("q")


def test_statements_run_twice(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("ts,k\n1,a\n12,b\n")
    engine = ms.Engine(host="local")
    for _ in range(2):
        engine.sql(f"CREATE STREAM s FROM csv '{tmp_path}' PROGRESS ON ts WITHIN 5")
        engine.sql("CREATE VIEW few AS SELECT * FROM s WHERE ts > 1")
        query = engine.sql("SELECT k FROM few", name="q")
    engine.start(ms.available_now()).await_termination()

    assert ["b"] == query.table()["k"].to_pylist()
    with pytest.raises(ms.SqlError, match='"few" already'):
        engine.sql("CREATE VIEW few AS SELECT * FROM s WHERE ts > 2")
