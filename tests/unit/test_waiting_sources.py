"""Sources that have nothing now, and may have rows later: nobody waits for ever, and none is forgotten."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.runtime.sources import CallableSource

NOTHING: dict[str, Any] = {"None": None, "a list": [], "a table": pa.table({"ts": pa.array([], pa.int64())})}
SECONDS = 30


@pytest.fixture(params=["memory", "checkpoint"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> ms.Engine:
    return ms.Engine(host="local", checkpoint=tmp_path / "ck" if request.param == "checkpoint" else None)


def polled(engine: ms.Engine, waiting: list[Any], nothing: Any) -> ms.Query:
    stream = engine.stream("s", lambda: waiting.pop(0) if waiting else nothing, schema="ts BIGINT")
    return stream.where("true").named("q").to_memory()


@pytest.mark.parametrize("nothing", NOTHING)
def test_what_is_there_is_processed_and_the_wait_ends(engine: ms.Engine, nothing: str) -> None:
    waiting = [[{"ts": 1}], [{"ts": 2}]]
    query = polled(engine, waiting, NOTHING[nothing])
    run = engine.start(ms.every("20 ms"))

    for expected in ([1, 2], [1, 2, 3]):
        assert run.process_all_available(SECONDS)
        assert expected == query.table()["ts"].to_pylist()
        waiting.append([{"ts": 3}])
    run.stop()


@pytest.mark.parametrize("nothing", NOTHING)
def test_a_run_of_what_is_available_now_ends(engine: ms.Engine, nothing: str) -> None:
    waiting: list[Any] = [[{"ts": 1}], NOTHING[nothing], [{"ts": 2}]]
    query = polled(engine, waiting, NOTHING[nothing])

    for expected in ([1], [1, 2]):
        run = engine.start(ms.available_now())
        assert run.await_termination(SECONDS)
        assert expected == query.table()["ts"].to_pylist()


@pytest.mark.parametrize("nothing", [[], None])
def test_a_source_that_shows_no_schema_is_refused_at_once(nothing: Any) -> None:
    with pytest.raises(ms.SourceError, match="no rows to tell its schema from"):
        ms.Engine(host="local").stream("s", lambda: nothing)


def test_an_empty_table_shows_the_schema() -> None:
    query = polled(ms.Engine(host="local"), [], NOTHING["a table"])

    assert ["ts"] == query.schema.names


def test_punctuation_without_rows_is_an_epoch(engine: ms.Engine) -> None:
    waiting: list[Any] = [[{"ts": 1}], ms.Epoch([], [ms.punctuation("ts", before=10)])]
    stream = engine.stream(
        "s", lambda: waiting.pop(0) if waiting else [], schema="ts BIGINT", progress=ms.supplied("ts")
    )
    query = stream.window("ts", range=10).agg(n=ms.count()).named("q").to_memory()
    engine.start(ms.available_now()).await_termination()

    assert [1] == query.table()["n"].to_pylist()


def test_a_position_counts_what_was_empty() -> None:
    def source() -> CallableSource:
        waiting: list[Any] = [[{"x": 1}], [], [{"x": 2}], [], [{"x": 3}]]
        return CallableSource(lambda: waiting.pop(0) if waiting else None, schema=pa.schema({"x": pa.int64()}))

    def rest(source: CallableSource) -> Iterator[int]:
        for _ in range(3):
            yield from (x for batch in source.batches() for x in batch.rows["x"].to_pylist())

    first = source()
    assert [1] == [x for batch in first.batches() for x in batch.rows["x"].to_pylist()]
    resumed = source()
    resumed.seek(first.position)

    assert [2, 3] == [*rest(resumed)]


def test_a_stream_that_was_empty_is_read_again_while_another_is_busy(engine: ms.Engine, tmp_path: Path) -> None:
    """A folder without new files must not wait until a busy stream has a pause."""
    (tmp_path / "in").mkdir()

    def put(number: int) -> None:
        pq.write_table(pa.table({"x": [number]}), tmp_path / f"in/{number}.parquet")

    def busy() -> list[dict[str, int]]:
        calls.append(len(calls))
        if len(calls) == 3:
            put(2)
        return [{"ts": calls[-1]}]

    put(1)
    calls: list[int] = []
    engine.stream("busy", busy, schema="ts BIGINT").where("true").named("b").discard()
    engine.stream("files", tmp_path / "in").where("true").named("q").to_memory()
    seen: list[int] = []
    engine.on_epoch(lambda report: seen.append(report["sources"]["files"]["rows_in"]))
    run = engine.start(ms.every("10 ms"))
    while run.is_active and len(seen) < 12:
        run.await_termination(0.01)
    run.stop()

    assert 2 == max(seen[:12])
