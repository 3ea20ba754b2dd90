"""What `versions.py` measures in each version: names of cells come in on standard input, figures leave as JSON.

It is run with the sources of one version on the import path, so it uses only what every version since the first has.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import millstream as ms
from millstream.workload import auction, disorder

WARM = 2
"""Epochs of a run on Spark that are not counted."""


@cache
def bids(rows: int, keys: int, seconds: int) -> pa.Table:
    """Rows of so many seconds, disordered by less than one."""
    made = auction.bids(rows, keys=keys, seed=1, rate=rows / seconds, hot=0.0)
    return disorder.bounded(made, "ts", timedelta(seconds=1), seed=2)


@cache
def files(rows: int, keys: int, epochs: int) -> Path:
    """A folder with one file for each epoch of a hundred seconds."""
    folder = Path(tempfile.mkdtemp(prefix="bids-"))
    table = bids(rows * epochs, keys, 100 * epochs)
    for i in range(epochs):
        path = folder / f"{i:04d}.parquet"
        pq.write_table(table.slice(i * rows, rows), path)
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    return folder


@cache
def session() -> Any:
    """One session for all cells."""
    from millstream.spark.local_session import local_session  # noqa: PLC0415 - starts Java

    return local_session(2)


def windows(engine: ms.Engine, source: Any, ratio: int, what: str = "price", **options: Any) -> None:
    """The greatest price and a count by auction."""
    stream = engine.stream("bids", source, progress=ms.bounded_disorder("ts", "1 second"), **options)
    made = stream.window("ts", range=f"{ratio} seconds", slide="1 second").group_by("auction")
    made.agg(top=ms.max(what), n=ms.count()).named("top").to_nothing()


def pairs(engine: ms.Engine, left: Any, right: Any, **options: Any) -> None:
    """Bids of the same auction within a second."""
    promise = ms.bounded_disorder("ts", "1 second")
    first = engine.stream("a", left, progress=promise, **options)
    second = engine.stream("b", right, progress=promise, **options)
    first.join(second, on="auction", within="1 second").named("pairs").to_nothing()


def on_local(rows: int, keys: int, ratio: int) -> dict[str, float]:
    """Windows on the local host."""
    table = bids(rows, keys, 400)
    engine = ms.Engine(host="local")
    windows(engine, table, ratio, epoch_rows=500_000)
    return timed(lambda: engine.start(ms.available_now()).await_termination())


def pairs_on_local(rows: int) -> dict[str, float]:
    """A join on the local host."""
    table = bids(rows, 10_000, 400)
    engine = ms.Engine(host="local")
    pairs(engine, table, table, epoch_rows=100_000)
    return timed(lambda: engine.start(ms.available_now()).await_termination())


def on_spark(rows: int, keys: int, ratio: int, epochs: int, what: str = "price") -> dict[str, float]:
    """The median of warm epochs."""
    return epochs_of(lambda engine: windows(engine, read(files(rows, keys, epochs)), ratio, what))


def pairs_on_spark(rows: int, epochs: int) -> dict[str, float]:
    """The same for a join."""
    folder = files(rows, 10_000, epochs)
    return epochs_of(lambda engine: pairs(engine, read(folder), read(folder)))


def opened(epochs: int) -> dict[str, float]:
    """From `start` to the end of a run that finds nothing new, on a checkpoint of so many epochs."""
    folder = files(10, 100, epochs)
    with tempfile.TemporaryDirectory() as checkpoint:
        for last in (False, True):
            engine = ms.Engine(session(), checkpoint=checkpoint, partitions=2)
            windows(engine, read(folder), 60)
            taken = timed(lambda engine=engine: engine.start(ms.available_now()).await_termination())
            if last:
                return taken
    raise AssertionError


def read(folder: Path) -> Any:
    """The folder as a stream, one file per trigger."""
    spark = session()
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def epochs_of(declare: Callable[[ms.Engine], None]) -> dict[str, float]:
    """Milliseconds of a warm epoch."""
    with tempfile.TemporaryDirectory() as checkpoint:
        engine = ms.Engine(session(), checkpoint=checkpoint, partitions=2)
        declare(engine)
        engine.start(ms.available_now()).await_termination()
        host: Any = engine.host
        wall = [one["triggerExecution"] for one in host.spark_progress if "addBatch" in one]
        return {"wall": statistics.median(wall[WARM:])}


def timed(run: Callable[[], object]) -> dict[str, float]:
    """Seconds by the clock and of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


CELLS: dict[str, Callable[[], dict[str, float]]] = {
    "local, tumbling": lambda: on_local(2_000_000, 100, 1),
    "local, range/slide 5": lambda: on_local(2_000_000, 100, 5),
    "local, range/slide 60": lambda: on_local(2_000_000, 100, 60),
    "local, 10,000 keys, 60": lambda: on_local(1_000_000, 10_000, 60),
    "local, join": lambda: pairs_on_local(400_000),
    "Spark, tumbling": lambda: on_spark(500_000, 100, 1, 8),
    "Spark, range/slide 5": lambda: on_spark(500_000, 100, 5, 8),
    "Spark, range/slide 60": lambda: on_spark(500_000, 100, 60, 8),
    "Spark, 10,000 keys, 60": lambda: on_spark(500_000, 10_000, 60, 6),
    "Spark, of a product": lambda: on_spark(500_000, 100, 1, 8, "price * 3"),
    "Spark, ten rows an epoch": lambda: on_spark(10, 100, 60, 24),
    "Spark, join": lambda: pairs_on_spark(100_000, 6),
    "Spark, opening a checkpoint": lambda: opened(24),
}


def main() -> None:
    """A line of JSON for each line of input."""
    for line in sys.stdin:
        print("figures " + json.dumps(CELLS[line.strip()]()), flush=True)


if __name__ == "__main__":
    main()
