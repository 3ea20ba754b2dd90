"""Catching up on Spark: a backlog of files through the engine, against Spark's own batch aggregation of the same files.

    python bench/catching_up.py [--rows 8000000] [--rounds 5] [--cells W1,W2-60]

The batch query only reduces rows by key and second, or by key and window where windows tumble: that is the least that
any engine must do with them. The engine reads the files as streams, keeps its state and its checkpoint on disk, and
gives every window that closes to a sink. How many files an epoch takes is left to the engine.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from harness import load, save, show
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

import millstream as ms
from millstream.spark.local_session import local_session
from millstream.workload import auction, disorder

FILES = 8
WANTED = 1.5
CELLS = {
    "W1": (10, 10, "count(*) AS n, max(price) AS top", "auction"),
    "W2-60": (60, 1, "max(price) AS top", "auction"),
    "W3-60": (60, 1, "max(price) AS top", ""),
    "averages by text": (10, 10, "avg(d) AS a, count(*) AS n", "t"),
    "sliding averages by text": (60, 1, "avg(d) AS a, count(*) AS n", "t"),
}


def make_input(folder: Path, rows: int) -> None:
    """Bids out of order by less than a second, with a text for each auction and a double for each price."""
    bids = auction.bids(rows, keys=100, seed=1, rate=rows / 600, hot=0.0)
    bids = disorder.bounded(bids, "ts", timedelta(seconds=1), seed=2)
    names = [f"auction-{i:04d}" for i in range(100)]
    for i in range(FILES):
        part = bids.slice(i * rows // FILES, rows // FILES)
        words = [names[key] for key in part["auction"].to_pylist()]
        part = part.append_column("t", [words]).append_column("d", part["price"].cast("double"))
        pq.write_table(part, folder / f"{i:04d}.parquet")


def batch(spark: SparkSession, folder: Path, cell: str) -> float:
    """Seconds that Spark takes to reduce the rows."""
    size, slide, aggregates, group = CELLS[cell]
    length = size if size == slide else slide
    pane = F.expr(f"unix_micros(ts) div {length}000000").alias("pane")
    keys = [F.col(group)] if group else []
    frame = spark.read.parquet(str(folder)).groupBy(*keys, pane).agg(*map(F.expr, aggregates.split(", ")))
    began = time.perf_counter()
    frame.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - began


def ours(spark: SparkSession, folder: Path, cell: str) -> float:
    """Seconds that the engine takes, from its start to the last committed epoch."""
    size, slide, aggregates, group = CELLS[cell]
    with tempfile.TemporaryDirectory() as checkpoint:
        engine = ms.Engine(spark, checkpoint=checkpoint, partitions=2)
        frame = spark.readStream.schema(spark.read.parquet(str(folder)).schema).parquet(str(folder))
        engine.stream("bids", frame, progress=ms.bounded_disorder("ts", "1 second"))
        engine.sql(
            f"SELECT {group + ', ' if group else ''}{aggregates} FROM bids"
            f" GROUP BY {group + ', ' if group else ''}window(ts, '{size} seconds', '{slide} seconds')",
            name="q",
        ).to_nothing()
        began = time.perf_counter()
        engine.start(ms.available_now()).await_termination()
        return time.perf_counter() - began


def main() -> None:
    """All cells."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cells", default=",".join(CELLS))
    options = parser.parse_args()
    spark = local_session(2)
    folder = Path(tempfile.mkdtemp(prefix="backlog-"))
    sides: dict[str, Callable[[SparkSession, Path, str], float]] = {"batch": batch, "millstream": ours}
    results: dict[str, Any] = {}
    try:
        make_input(folder, options.rows)
        for cell in options.cells.split(","):
            taken: dict[str, list[float]] = {side: [] for side in sides}
            for turn in range(options.rounds + 2):  # the first two while the JVM compiles
                for side, run in sides.items():
                    seconds = run(spark, folder, cell)
                    if turn > 1:
                        taken[side].append(seconds)
            seconds = {side: statistics.median(some) for side, some in taken.items()}
            results[cell] = {"seconds": seconds, "ratio": seconds["millstream"] / seconds["batch"], "load": load()}
            print(cell, results[cell], flush=True)
    finally:
        shutil.rmtree(folder)
    show(
        f"Millstream ÷ Spark's batch aggregation, {options.rows} rows ({load()})",
        ("cell", "wall", "wanted"),
        [(name, one["ratio"], WANTED) for name, one in results.items()],
    )
    save("catching_up", {"rounds": options.rounds, "rows": options.rows, "cells": results})


if __name__ == "__main__":
    main()
