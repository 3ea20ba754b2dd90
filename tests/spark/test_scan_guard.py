"""Feedback that reaches the scan on Spark: Parquet is filtered where it is read, and progress does not starve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.core.pattern import Pattern, UpTo
from millstream.spark.file_scan import Folder, Scan
from millstream.spark.paths.guard_conditions import kept
from support.disk import rows_of

pytestmark = pytest.mark.spark

SCHEMA = pa.schema({"ts": pa.int64(), "segment": pa.int64(), "speed": pa.int64()})


def write(folder: Path, *, late: bool = False) -> None:
    """Four files of 1,000 rows, in groups by segment; every tenth row of segment 3 has none."""
    folder.mkdir()
    for f in range(4):
        rows: list[dict[str, Any]] = [
            {"ts": 1000 * f + i, "segment": i // 125 if i % 10 or i // 125 != 3 else None, "speed": 40 + i % 30}
            for i in range(1000)
        ]
        if late and f == 3:
            rows += [{"ts": 5, "segment": 7, "speed": 1}, {"ts": None, "segment": 7, "speed": 1}]
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / f"{f}.parquet", row_group_size=125)


def stream_of(engine: ms.Engine, spark: Any, folder: Path, name: str = "cars") -> ms.Stream:
    frame = spark.readStream.schema(spark.read.parquet(str(folder)).schema).option("maxFilesPerTrigger", 1)
    return engine.stream(name, frame.parquet(str(folder)), progress=ms.bounded_disorder("ts", 100))


ASKS = {
    "reduced by Spark": lambda s: s.window("ts", range=500).group_by("segment").agg(n=ms.count(), top=ms.max("speed")),
    "taken in by kernels": lambda s: s.window("ts", range=500).group_by("segment").agg(m=ms.median("speed")),
    "rows": lambda s: s.where("speed > 45").select("ts", "segment"),
}


@pytest.mark.parametrize("ask", ASKS)
def test_fewer_rows_are_read_and_the_rest_is_as_without_feedback(spark: Any, tmp_path: Path, ask: str) -> None:
    write(tmp_path / "in", late=True)
    found: dict[bool, Any] = {}
    for heeding in (False, True):
        engine = ms.Engine(spark, checkpoint=tmp_path / f"ck{heeding}", partitions=2)
        query = ASKS[ask](stream_of(engine, spark, tmp_path / "in")).to_parquet(tmp_path / f"out{heeding}").named("q")
        seen: list[Any] = []
        engine.on_epoch(lambda report, seen=seen: seen.append(report["sources"]["cars"]["progress"]))
        if heeding:
            query.feedback(ms.assumed("segment > 1"))
        run = engine.start(ms.available_now(), end_of_stream=True)
        run.await_termination()
        found[heeding] = rows_of(tmp_path / f"out{heeding}"), run.progress, seen, query.late.table().num_rows
    (full, _, bounds, late), (rows, report, told, also_late) = found[False], found[True]
    books, source = report["queries"]["q"]["books"], report["queries"]["q"]["operators"][0]
    wanted = [row for row in full if row["segment"] is None or row["segment"] <= 1]

    assert sorted(map(repr, wanted)) == sorted(map(repr, rows))
    assert bounds == told  # progress is as it would be
    assert late == also_late == 1
    assert {"late": 1, "rejected": 1, "unaccounted": 0} == {n: books[n] for n in ("late", "rejected", "unaccounted")}
    assert 4 * 750 - 4 * 13 <= source["unread"] <= books["guarded"]
    assert 4002 == books["rows_in"]


def test_the_plan_shows_the_pushed_filter_and_the_scan_reads_fewer_rows(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in")
    frame = spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema).parquet(str(tmp_path / "in"))
    folder = Folder.of(frame)
    assert folder is not None
    paths = [f"file://{path}" for path in sorted((tmp_path / "in").glob("*.parquet"))]
    (condition,) = kept((Pattern({"segment": UpTo(6)}),), SCHEMA)
    scanned: Any = Scan(spark, {"cars": (folder, paths)}).frame({"cars": condition})
    rows = scanned.collect()
    asked: Any = scanned  # Spark has no public way to ask for a plan
    plan = asked._jdf.queryExecution().executedPlan().toString()

    assert "PushedFilters: [Or(IsNull(segment),GreaterThanOrEqual(segment,6))]" in plan
    assert {6, 7, None} == {row["segment"] for row in rows}
    assert 4 * 375 >= _read(scanned) > 0


def _read(frame: Any) -> int:
    """The rows that the scan has handed over."""
    plan = frame._jdf.queryExecution().executedPlan()
    leaves = plan.collectLeaves()
    return sum(int(leaves.apply(i).metrics().apply("numOutputRows").value()) for i in range(leaves.size()))


def test_rows_that_no_file_scan_reads_are_dropped_before_spark_reduces_them(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in")
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
    frame = spark.readStream.schema(spark.read.parquet(str(tmp_path / "in")).schema).parquet(str(tmp_path / "in"))
    stream = engine.stream("cars", frame.where("speed > 0"), progress=ms.bounded_disorder("ts", 100))
    query = stream.window("ts", range=500).group_by("segment").agg(n=ms.count()).to_parquet(tmp_path / "out").named("q")
    query.feedback(ms.assumed("segment > 1"))
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    source = run.progress["queries"]["q"]["operators"][0]

    assert {0, 1, None} == {row["segment"] for row in rows_of(tmp_path / "out")}
    assert 0 == source["unread"]
    assert 4 * 750 - 4 * 13 <= source["guarded"]
