"""Rows that nobody reads are not read from Parquet files, and nothing else changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from support.crash import STEPS, ended, pulled
from support.disk import rows_of

HOSTS = ["in memory", "durable"]
START = datetime(2026, 1, 1, tzinfo=UTC)


def write(folder: Path, *, times: bool = False, more: list[dict[str, Any]] | None = None) -> None:
    """Five files of 1,000 rows, in groups of 125 by segment."""
    folder.mkdir()
    kind = pa.timestamp("us", "UTC") if times else pa.int64()
    schema = pa.schema({"ts": kind, "segment": pa.int64(), "road": pa.string(), "speed": pa.int64()})
    for f in range(5):
        rows: list[dict[str, Any]] = [
            {
                "ts": START + timedelta(seconds=1000 * f + i) if times else 1000 * f + i,
                "segment": i // 125,
                "road": f"I-{i // 250}",
                "speed": 40 + i % 30,
            }
            for i in range(1000)
        ]
        rows += (more or []) if f == 4 else []
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / f"{f}.parquet", row_group_size=125)


def engine_on(host: str, folder: Path) -> ms.Engine:
    return ms.Engine(host="local", **({"checkpoint": folder / "ck", "partitions": 2} if host == "durable" else {}))


def run(engine: ms.Engine, folder: Path, said: str | None, *, times: bool = False, **named: Any) -> Any:
    disorder: Any = "100 seconds" if times else 100
    stream = engine.stream("cars", folder, progress=ms.bounded_disorder("ts", disorder), **named)
    window: Any = "500 seconds" if times else 500
    query = stream.window("ts", range=window).group_by("segment", "road").agg(n=ms.count(), a=ms.avg("speed"))
    query = query.named("q")
    if said is not None:
        query.feedback(ms.assumed(said))
    bounds: list[Any] = []
    engine.on_epoch(lambda report: bounds.append(report["sources"]["cars"]["progress"]))
    started = engine.start(ms.available_now(), end_of_stream=True)
    started.await_termination()
    return query, started.progress["queries"]["q"], bounds


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize(
    ("said", "times", "unread"),
    [
        ("segment > 1", False, 3750),
        ("segment > 1", True, 3750),
        ("segment IN (1, 3)", False, 1250),
        ("road = 'I-2'", False, 1250),
        ("road < 'I-2' AND segment >= 2", False, 1250),
        ("window_id < 4", False, 2000),
    ],
)
def test_groups_of_rows_that_are_ignored_are_not_read_and_progress_is_the_same(
    said: str, unread: int, host: str, tmp_path: Path, *, times: bool
) -> None:
    write(tmp_path / "in", times=times)
    full, _, bounds = run(engine_on(host, tmp_path / "a"), tmp_path / "in", None, times=times)
    engine = engine_on(host, tmp_path / "b")
    told, report, also = run(engine, tmp_path / "in", said, times=times)
    patterns = [one.pattern for one in told.feedback(ms.assumed(said)).bound]
    rows = [row for row in full.table().to_pylist() if not _ignored(row, patterns, said)]

    assert sorted(map(repr, rows)) == sorted(map(repr, told.table().to_pylist()))
    assert bounds == also
    assert unread == report["operators"][0]["unread"]
    assert {"rows_in": 5000, "unaccounted": 0} == {n: report["books"][n] for n in ("rows_in", "unaccounted")}


def _ignored(row: dict[str, Any], patterns: list[Any], said: str) -> bool:
    return any(one.matches(row) for one in patterns) if "ts" not in said else False


def test_a_group_with_a_late_row_or_one_without_a_time_is_read(tmp_path: Path) -> None:
    late = [{"ts": 3, "segment": 7, "road": "I-3", "speed": 1}, {"ts": None, "segment": 7, "road": "I-3", "speed": 1}]
    write(tmp_path / "in", more=late)
    query, report, _ = run(ms.Engine(host="local"), tmp_path / "in", "segment > 1")

    assert 3750 == report["operators"][0]["unread"]  # the last group, of two rows, is read
    assert 1 == query.late.table().num_rows
    assert 1 == query.rejected.table().num_rows


def test_a_viewport_reads_what_it_shows_and_returns_after_a_cancel(tmp_path: Path) -> None:
    write(tmp_path / "in")
    engine = ms.Engine(host="local")
    stream = engine.stream("cars", tmp_path / "in", progress=ms.bounded_disorder("ts", 100))
    query = stream.select("ts", "segment").named("q")
    handle = query.feedback(ms.assumed("segment > 1"))
    read: list[int] = []

    def look(report: dict[str, Any]) -> None:
        read.append(report["sources"]["cars"]["rows_in"] - report["queries"]["q"]["operators"][0]["unread"])
        if report["epoch"] == 2:
            handle.cancel()

    engine.on_epoch(look)
    engine.start(ms.available_now()).await_termination()

    assert [250, 500, 750, 1750, 2750] == read
    assert {0, 1} == {row["segment"] for row in query.table().to_pylist() if row["ts"] < 3000}
    assert set(range(8)) == {row["segment"] for row in query.table().to_pylist() if row["ts"] >= 3000}


def test_a_file_that_is_cut_into_epochs_is_read_whole(tmp_path: Path) -> None:
    write(tmp_path / "in")
    query, report, _ = run(ms.Engine(host="local"), tmp_path / "in", "segment > 1", epoch_rows=300)

    assert 0 == report["operators"][0]["unread"]
    assert 3750 == report["books"]["guarded"]
    assert {0, 1} == set(query.table()["segment"].to_pylist())


@pytest.mark.parametrize("step", STEPS)
def test_whatever_step_the_plug_is_pulled_at_what_was_not_read_stays_so(tmp_path: Path, step: str) -> None:
    write(tmp_path / "in")
    full, _, _ = run(ms.Engine(host="local"), tmp_path / "in", None)

    def attempt() -> Any:
        engine = engine_on("durable", tmp_path)
        stream = engine.stream("cars", tmp_path / "in", progress=ms.bounded_disorder("ts", 100))
        query = stream.window("ts", range=500).group_by("segment", "road").agg(n=ms.count(), a=ms.avg("speed"))
        query.to_parquet(tmp_path / "out", mode="append").named("q").feedback(ms.assumed("segment > 1"))
        return ended(engine.start(ms.available_now(), end_of_stream=True))

    with pulled(step, 2) as plug:
        error = attempt()
    if plug.pulled:
        assert error is not None
        assert attempt() is None
    wanted = [row for row in full.table().to_pylist() if row["segment"] <= 1]
    assert sorted(map(repr, wanted)) == sorted(map(repr, rows_of(tmp_path / "out")))
