"""A streaming frame beside sources that the driver reads, and what happens while Spark has nothing to read."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.core.errors import RunError, SinkError
from support.bags import difference

pytestmark = pytest.mark.spark
SCHEMA = "ts bigint, k string"


def folder_of(path: Path, epochs: list[list[int | None]]) -> Path:
    path.mkdir(exist_ok=True)
    for i, some in enumerate(epochs):
        add(path, f"{i}.parquet", some)
    return path


def add(path: Path, name: str, some: list[int | None]) -> None:
    rows = pa.table({"ts": pa.array(some, pa.int64()), "k": ["file"] * len(some)})
    pq.write_table(rows, path / f".{name}")
    written = 1_700_000_000 + len(list(path.glob("*.parquet")))  # Spark takes files in the order of their times
    os.utime(path / f".{name}", (written, written))
    (path / f".{name}").rename(path / name)


def streaming(spark: Any, path: Path) -> Any:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(path))


def driver_rows(*epochs: list[int | None]) -> list[pa.Table]:
    schema = pa.schema([("ts", pa.int64()), ("k", pa.string())])
    return [pa.Table.from_pylist([{"ts": ts, "k": "driver"} for ts in some], schema=schema) for some in epochs]


def test_rows_of_both_leave_once_in_every_output(spark: Any, tmp_path: Path) -> None:
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
    files = folder_of(tmp_path / "in", [[50, 51, None], [52, 1]])
    a = engine.stream("a", streaming(spark, files), progress=ms.bounded_disorder("ts", 5))
    held = driver_rows([60, None, 61], [62, 2], [63])
    b = engine.stream("b", held, progress=ms.bounded_disorder("ts", 5))
    got: list[Any] = []
    query = a.union(b).where("ts > 0 OR ts IS NULL").select("ts", "k").named("q").to_parquet(tmp_path / "out")
    query.for_each(lambda frame, _: got.extend(row.asDict() for row in frame.collect()))
    query.late.to_parquet(tmp_path / "late")
    query.rejected.to_parquet(tmp_path / "rejected")
    run = engine.start(ms.available_now())
    run.await_termination()

    expected = [{"ts": ts, "k": "file"} for ts in (50, 51, 52)] + [{"ts": ts, "k": "driver"} for ts in (60, 61, 62, 63)]
    out = ds.dataset(tmp_path / "out", format="parquet").to_table().to_pylist()
    late = ds.dataset(tmp_path / "late", format="parquet").to_table(["ts", "k"]).to_pylist()
    rejected = ds.dataset(tmp_path / "rejected", format="parquet").to_table(["k", "reason"]).to_pylist()
    assert {} == difference(expected, out)
    assert {} == difference(expected, got)
    assert {} == difference([{"ts": 1, "k": "file"}, {"ts": 2, "k": "driver"}], late)
    assert {} == difference([{"k": k, "reason": "ts is null"} for k in ("file", "driver")], rejected)
    assert 0 == run.progress["queries"]["q"]["books"]["unaccounted"]


def test_a_batch_frame_beside_a_streaming_one_is_read(spark: Any, tmp_path: Path) -> None:
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
    a = engine.stream("a", streaming(spark, folder_of(tmp_path / "in", [[1], [2]])), progress=ms.ordered("ts"))
    b = engine.stream("b", spark.createDataFrame([(3, "batch")], SCHEMA), progress=ms.ordered("ts"))
    query = a.union(b).select("ts").named("q")
    engine.start(ms.available_now()).await_termination()
    engine.start(ms.available_now()).await_termination()

    assert [1, 2, 3] == sorted(query.table()["ts"].to_pylist())


def test_while_spark_has_nothing_the_driver_s_sources_the_caller_and_the_clock_are_heard(
    spark: Any, tmp_path: Path
) -> None:
    files = folder_of(tmp_path / "in", [[1, 2]])
    waiting = driver_rows([10])
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
    a = engine.stream("a", streaming(spark, files), progress=ms.supplied("ts"))
    b = engine.stream("b", lambda: waiting.pop(0) if waiting else None, schema=waiting[0].schema)
    closed = a.window("ts", range=10).agg(n=ms.count()).named("closed")
    passing = b.select("ts").named("passing")
    run = engine.start(ms.every("100 ms"), allow_unbounded=True)
    assert run.process_all_available(60)
    assert [10] == passing.table()["ts"].to_pylist()
    assert 0 == closed.table().num_rows

    waiting.extend(driver_rows([11]))
    assert run.process_all_available(60)
    assert [10, 11] == sorted(passing.table()["ts"].to_pylist())

    a.punctuate("ts", before=20)
    assert run.process_all_available(60)
    assert [2] == closed.table()["n"].to_pylist()

    add(files, "later.parquet", [31])
    assert run.process_all_available(60)
    assert 3 == run.progress["sources"]["a"]["rows_in"]
    run.stop()


def test_a_lull_is_heard_while_spark_has_nothing(spark: Any, tmp_path: Path) -> None:
    files = folder_of(tmp_path / "in", [[1, 2]])
    now = [0]
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
    progress = ms.timer("ts", 1, lull=5, clock=lambda: now[0])
    a = engine.stream("a", streaming(spark, files), progress=progress)
    closed = a.window("ts", range=10).agg(n=ms.count()).named("closed")
    run = engine.start(ms.every("100 ms"))
    assert run.process_all_available(60)
    now[0] = 1000
    until = time.monotonic() + 30
    while not closed.table().num_rows and time.monotonic() < until:
        time.sleep(0.05)
    run.stop()

    assert [2] == closed.table()["n"].to_pylist()


def test_punctuation_for_a_batch_frame_is_taken_under_every(spark: Any) -> None:
    engine = ms.Engine(spark, partitions=2)
    a = engine.stream("a", spark.createDataFrame([(3, "batch")], SCHEMA), progress=ms.supplied("ts"))
    closed = a.window("ts", range=10).agg(n=ms.count()).named("closed")
    run = engine.start(ms.every("100 ms"), allow_unbounded=True)
    assert run.process_all_available(60)
    a.punctuate("ts", before=10)
    assert run.process_all_available(60)
    run.stop()

    assert [1] == closed.table()["n"].to_pylist()


def test_a_stop_does_not_wait_for_the_interval(spark: Any, tmp_path: Path) -> None:
    for frame in (None, streaming(spark, folder_of(tmp_path / "in", [[1]]))):
        engine = ms.Engine(spark, partitions=2)
        source = frame if frame is not None else driver_rows([1])
        engine.stream("a", source, progress=ms.ordered("ts")).select("ts").named("q")
        run = engine.start(ms.every("10 minutes"))
        until = time.monotonic() + 60
        while not run.progress.get("sources") and time.monotonic() < until:
            time.sleep(0.05)
        began = time.monotonic()
        run.stop()

        assert time.monotonic() - began < 20


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_an_exit_in_a_sink_is_a_failure(spark: Any, tmp_path: Path, error: BaseException) -> None:
    def leave(*_: object) -> None:
        raise error

    files = folder_of(tmp_path / "in", [[1]])
    for source in (streaming(spark, files), driver_rows([1])):
        engine = ms.Engine(spark, partitions=2)
        engine.stream("a", source, progress=ms.ordered("ts")).select("ts").named("q").for_each(leave)
        run = engine.start(ms.available_now())
        with pytest.raises((RunError, SinkError), match=type(error).__name__):
            run.await_termination(60)
        assert run.exception is not None
    assert sys.exc_info() == (None, None, None)
