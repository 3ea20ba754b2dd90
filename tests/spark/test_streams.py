"""Any streaming frame is a stream; an epoch is one job, named in Spark's own pages; the session suits the engine."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.datasource import DataSource, SimpleDataSourceStreamReader

import millstream as ms

pytestmark = pytest.mark.spark


def first(engine: ms.Engine, query: ms.Query, rows: int) -> list[dict[str, Any]]:
    """Run until so many rows have come."""
    query.named("q")
    run = engine.start(ms.every("100 milliseconds"))
    until = time.monotonic() + 60
    while query.table().num_rows < rows and run.is_active and time.monotonic() < until:
        time.sleep(0.1)
    run.stop()
    return query.table().to_pylist()


def test_spark_s_rate_source(spark: Any) -> None:
    engine = ms.Engine(spark, partitions=2)
    frame = spark.readStream.format("rate").option("rowsPerSecond", 50).load()
    stream = engine.stream("s", frame, progress=ms.ordered("timestamp"))

    found = sorted(row["value"] for row in first(engine, stream.where("value >= 0"), 20))

    assert len(found) >= 20
    assert list(range(len(found))) == found


def test_a_socket(spark: Any) -> None:
    with socket.create_server(("localhost", 0)) as server:

        def serve() -> None:
            taken, _ = server.accept()
            with taken:
                taken.sendall(b"one\ntwo\nthree\n")
                done.wait(60)

        done = threading.Event()
        threading.Thread(target=serve, daemon=True).start()
        port = server.getsockname()[1]
        frame = spark.readStream.format("socket").option("host", "localhost").option("port", port).load()
        engine = ms.Engine(spark, partitions=2)
        stream = engine.stream("s", frame)
        found = first(engine, stream.select("value"), 3)
        done.set()

    assert ["one", "three", "two"] == sorted(row["value"] for row in found)


class Numbers(DataSource):
    """Counts, five rows an epoch."""

    @classmethod
    def name(cls) -> str:
        return "numbers"

    def schema(self) -> str:
        return "n bigint"

    def simpleStreamReader(self, schema: Any) -> Any:  # noqa: N802 - Spark's names
        class Reader(SimpleDataSourceStreamReader):
            def initialOffset(self) -> dict[str, int]:  # noqa: N802
                return {"n": 0}

            def read(self, start: dict[str, int]) -> tuple[Iterator[tuple[int]], dict[str, int]]:
                return iter([(start["n"] + i,) for i in range(5)]), {"n": start["n"] + 5}

            def readBetweenOffsets(self, start: Any, end: Any) -> Iterator[tuple[int]]:  # noqa: N802
                return iter([(n,) for n in range(start["n"], end["n"])])

        return Reader()


def test_a_data_source_in_python(spark: Any) -> None:
    spark.dataSource.register(Numbers)
    engine = ms.Engine(spark, partitions=2)
    stream = engine.stream("s", spark.readStream.format("numbers").load(), progress=ms.ordered("n"))

    found = first(engine, stream.window("n", range=5).agg(total=ms.sum("n")), 2)
    assert spark.conf.get("spark.sql.streaming.checkpointFileManagerClass", None) is None  # it was the stream's alone

    assert [(0, 10), (5, 35)] == sorted((row["window_start"], row["total"]) for row in found)[:2]


@pytest.mark.parametrize("more", [{"middle": ms.median("n")}, {}], ids=["by kernels", "reduced by Spark"])
def test_an_epoch_is_one_job_that_is_named_in_spark_s_own_pages(
    spark: Any, tmp_path: Path, more: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    name = "jobs_" + request.node.callspec.id.replace(" ", "_")
    for i in range(3):
        pq.write_table(pa.table({"n": range(10 * i, 10 * i + 10)}), tmp_path / f"{i}.parquet")
        os.utime(tmp_path / f"{i}.parquet", (1_700_000_000 + i, 1_700_000_000 + i))
    frame = spark.readStream.schema("n bigint").option("maxFilesPerTrigger", 1).parquet(str(tmp_path))
    engine = ms.Engine(spark, partitions=2)
    stream = engine.stream("s", frame, progress=ms.ordered("n"))
    stream.window("n", range=5).agg(total=ms.sum("n"), **more).named(name)
    engine.start(ms.available_now()).await_termination()

    context = spark.sparkContext
    with urllib.request.urlopen(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/jobs") as answer:
        jobs = [job.get("description", "") for job in json.load(answer)]
    mine = [text for text in jobs if name in text and text.startswith("millstream")]
    assert ["epoch 0", "epoch 1", "epoch 2", "flush"] == sorted(text.rsplit(": ", 1)[1] for text in mine)


def test_the_session_that_is_made_suits_the_engine(spark: Any) -> None:
    assert spark is ms.Engine(partitions=2).spark
    assert "UTC" == spark.conf.get("spark.sql.session.timeZone")
    assert "2" == spark.conf.get("spark.sql.shuffle.partitions")
    assert "200000" == spark.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert "2g" == spark.conf.get("spark.driver.memory")
    assert [sys.executable] == spark.sparkContext.parallelize([0], 1).map(lambda _: sys.executable).collect()
    assert spark is ms.Engine(spark).spark
