"""Sliding windows on Spark: Millstream against native `window()`, side by side in one session.

    python bench/spark_sliding.py [--cells 500k-100-60,...] [--rounds 3]

Parquet bids to a no-op sink, the same trigger sizes for both, the first epochs of each run left out, and the first run
of each side, while the JVM compiles. Prints native ÷ Millstream in wall time and in CPU of the process tree; the
answers are compared before any time is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow.parquet as pq
from harness import RESULTS, load, save, show
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from targets import TARGETS

import millstream as ms
from millstream.spark.local_session import local_session
from millstream.workload import auction, disorder

CELLS = {
    "500k-100-60": (500_000, 100, 60),
    "2M-100-60": (2_000_000, 100, 60),
    "500k-10k-60": (500_000, 10_000, 60),
    "500k-100-5": (500_000, 100, 5),
    "2M-100-5": (2_000_000, 100, 5),
    "500k-100-1": (500_000, 100, 1),
    "10-100-60": (10, 100, 60),
}
WARM = 2
VERBOSE = "MILLSTREAM_VERBOSE" in os.environ
SPAN = 100  # seconds of event time in an epoch
LEAST, MOST, ROWS = 6, 12, 6_000_000
"""Epochs of a run: so many at least and at most, and in between as many as these rows fill."""


@dataclass
class Taken:
    """One run: milliseconds and CPU seconds of each warm epoch, and the state at the end."""

    wall: list[float]
    cpu: float
    state_bytes: int


def cpu_seconds() -> float:
    """CPU used so far by this process and all its children, living and reaped."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        try:
            used = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += used.user + used.system + used.children_user + used.children_system
    return total


class WarmCpu(threading.Thread):
    """CPU used since the warm epochs began; `epochs` counts those that are done."""

    def __init__(self, epochs: Callable[[], int]) -> None:
        super().__init__(daemon=True)
        self._epochs, self._done, self._before = epochs, threading.Event(), cpu_seconds()
        self.start()

    def run(self) -> None:
        """Wait for the warm epochs."""
        while self._epochs() < WARM and not self._done.wait(0.1):
            pass
        self._before = cpu_seconds()

    def used(self) -> float:
        """At the end of the run."""
        self._done.set()
        self.join()
        return cpu_seconds() - self._before


def make_input(folder: Path, rows: int, keys: int, epochs: int) -> None:
    """One file an epoch, rows disordered by less than a second."""
    bids = auction.bids(rows * epochs, keys=keys, seed=1, rate=max(rows / SPAN, 0.1), hot=0.0)
    bids = disorder.bounded(bids, "ts", timedelta(seconds=1), seed=2)
    for i in range(epochs):
        # One second apart in their times of change: Spark takes files in that order.
        path = folder / f"{i:04d}.parquet"
        pq.write_table(bids.slice(i * rows, rows), path)
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))


def read(spark: SparkSession, folder: Path) -> DataFrame:
    """The folder as a stream, one file a trigger."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def native(spark: SparkSession, folder: Path, ratio: int, out: Path | None = None) -> Taken:
    """Structured Streaming's own sliding window, append mode, with its default state store."""
    frame = (
        read(spark, folder)
        .withWatermark("ts", "1 second")
        .groupBy(F.window("ts", f"{ratio} seconds", "1 second"), "auction")
        .agg(F.max("price").alias("top"), F.count("*").alias("n"))
    )
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer = writer.format("noop") if out is None else writer.format("parquet").option("path", str(out))
        query = writer.outputMode("append").start()
        cpu = WarmCpu(lambda: sum(bool(p.numInputRows) for p in query.recentProgress))
        query.awaitTermination()
        used = cpu.used()
        progress = query.recentProgress
        state = max((int(p.stateOperators[0].memoryUsedBytes) for p in progress if p.stateOperators), default=0)
        return Taken([p.durationMs["triggerExecution"] for p in progress if p.numInputRows], used, state)


def millstream(spark: SparkSession, folder: Path, ratio: int, out: Path | None = None) -> Taken:
    """The same query on Millstream."""
    with tempfile.TemporaryDirectory() as checkpoint:
        engine = ms.Engine(spark, checkpoint=checkpoint, partitions=2)
        bids = engine.stream("bids", read(spark, folder), progress=ms.bounded_disorder("ts", "1 second"))
        query = (
            bids.window("ts", range=f"{ratio} seconds", slide="1 second")
            .group_by("auction")
            .agg(top=ms.max("price"), n=ms.count())
            .named("top")
        )
        query = query.to_nothing() if out is None else query.to_parquet(out)
        run = engine.start(ms.available_now())
        cpu = WarmCpu(lambda: len(run.recent_progress))
        run.await_termination()
        used = cpu.used()
        wall = [one["triggerExecution"] for one in engine.host.spark_progress if "addBatch" in one]
        if VERBOSE:
            print(engine.host.spark_progress[-2:])
            print([one["duration_ms"] for one in run.recent_progress][-3:])
        state = max(one["peak_bytes"] for one in run.progress["queries"]["top"]["operators"])
        return Taken(wall, used, state)


def check(spark: SparkSession, folder: Path, ratio: int) -> int:
    """Both sides give the same closed windows (native closes a little later: compare what both have closed)."""
    with tempfile.TemporaryDirectory() as place:
        native(spark, folder, ratio, Path(place, "native"))
        millstream(spark, folder, ratio, Path(place, "millstream"))
        theirs = f'SELECT epoch_us("window"."end"), auction, top, n FROM \'{place}/native/*.parquet\''
        mine = f"SELECT epoch_us(window_end), auction, top, n FROM '{place}/millstream/*.parquet'"
        newest = f'(SELECT max(epoch_us("window"."end")) FROM \'{place}/native/*.parquet\')'
        closed = f"{mine} WHERE epoch_us(window_end) <= {newest}"
        ((same, rows),) = (
            duckdb.connect()
            .sql(
                f"SELECT NOT EXISTS (({theirs}) EXCEPT ALL ({closed}))"
                f" AND NOT EXISTS (({closed}) EXCEPT ALL ({theirs})), (SELECT count(*) FROM ({theirs}))"
            )
            .fetchall()
        )
        assert rows, "nothing to compare: no window of native's closed"
        assert same, f"native and Millstream differ ({rows} rows of native)"
        return int(rows)


def cell(spark: SparkSession, name: str, rounds: int) -> dict[str, Any]:
    """One row of the table."""
    rows, keys, ratio = CELLS[name]
    epochs = max(LEAST, min(MOST, ROWS // rows))
    folder = Path(tempfile.mkdtemp(prefix="bids-"))
    try:
        make_input(folder, rows, keys, epochs)
        compared = check(spark, folder, ratio) if rows > 10 else 0  # ten rows an epoch close hardly a window
        walls: dict[str, list[float]] = {"native": [], "millstream": []}
        cpus: dict[str, list[float]] = {"native": [], "millstream": []}
        state: dict[str, int] = {}
        for turn in range(rounds + 1):
            for side in ("native", "millstream"):
                taken = (native if side == "native" else millstream)(spark, folder, ratio)
                if not turn:  # the JVM is still compiling
                    continue
                walls[side].append(statistics.median(taken.wall[WARM:]))
                cpus[side].append(taken.cpu / (rows * (epochs - WARM)))
                state[side] = taken.state_bytes
        wall = {side: statistics.median(values) for side, values in walls.items()}
        cpu = {side: statistics.median(values) for side, values in cpus.items()}
        return {
            "wall_ms_per_epoch": wall,
            "cpu_seconds_per_row": cpu,
            "state_bytes": state,
            "wall_ratio": wall["native"] / wall["millstream"],
            "cpu_ratio": cpu["native"] / cpu["millstream"],
            "load": load(),
            "epochs": epochs,
            "rounds": rounds,
            "cpu_of": "warm epochs",
            "rows_compared": compared,
        }
    finally:
        shutil.rmtree(folder)


def main() -> None:
    """All cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", default=",".join(CELLS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--add", action="store_true", help="keep the cells that were measured before")
    options = parser.parse_args()
    spark = local_session(2)
    results = {}
    for name in options.cells.split(","):
        results[name] = cell(spark, name, options.rounds)
        shown = [
            (
                n,
                r["wall_ratio"],
                r["cpu_ratio"],
                TARGETS[n],
                r["state_bytes"]["native"] / max(1, r["state_bytes"]["millstream"]),
                "{native:,} / {millstream:,}".format(**r["state_bytes"]),
            )
            for n, r in results.items()
        ]
        show(
            f"native ÷ Millstream, warm epochs ({load()})",
            ("rows an epoch-keys-ratio", "wall", "CPU a row", "wanted (wall)", "state bytes", "native's / ours"),
            shown,
        )
    kept = json.loads((RESULTS / "spark_sliding.json").read_text())["cells"] if options.add else {}
    save("spark_sliding", {"rounds": options.rounds, "cells": {**kept, **results}})


if __name__ == "__main__":
    main()
