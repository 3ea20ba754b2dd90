"""Windows on Spark over what users have: native ÷ Millstream by type of argument, type of group, and kind of window.

    python bench/spark_types.py [--cells double-text-1,...] [--rounds 3]

A cell is argument-group-range/slide, or `session-group`. Everything else is as in `bench/spark_sliding.py`: warm epochs
of 500,000 rows, one file each, both sides in turn in one session, and the answers compared before any time is printed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from harness import load, save, show
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from spark_sliding import WARM, Taken, WarmCpu, read

import millstream as ms
from millstream.spark.local_session import local_session

ROWS, EPOCHS, SPAN, KEYS = 500_000, 12, 100, 100
GAP = "100 milliseconds"
"""So long without rows ends a session."""


@dataclass(frozen=True)
class Asked:
    """The aggregates of a cell, in SQL that both sides speak, and the condition of its rows."""

    columns: str
    where: str = ""


ARGUMENTS = {
    "int": Asked("max(i) AS a, count(*) AS n"),
    "double": Asked("avg(d) AS a, count(*) AS n"),
    "deviation": Asked("stddev(d) AS a, sum(d) AS n"),
    "float": Asked("min(f) AS a, max(f) AS n"),
    "decimal": Asked("sum(m) AS a, max(m) AS n"),
    "text": Asked("max(t) AS a, count(t) AS n"),
    "date": Asked("min(o) AS a, max(b) AS n"),
    "filter": Asked("sum(d) FILTER (WHERE i > 500) AS a, count(*) FILTER (WHERE b) AS n"),
    "where": Asked("avg(d) AS a, count(*) AS n", "i > 200 AND b"),
    "computed": Asked("sum(i * 2 + 1) AS a, avg(d * 1.5) AS n"),
    "nulls": Asked("avg(x) AS a, count(x) AS n"),
}
GROUPS = {"int": "k", "text": "t", "many": "t, k", "nullable": "y", "none": ""}
CELLS = [
    *(f"{argument}-text-{ratio}" for argument in ARGUMENTS for ratio in (1, 5)),
    *(f"double-{group}-{ratio}" for group in GROUPS if group != "text" for ratio in (1, 5)),
    "session-text",
]
WANTED = {"1": 1.2, "5": 2.0, "text": 2.0}


def make_input(folder: Path) -> None:
    """One file for each epoch, rows out of order by less than a second."""
    dice = np.random.default_rng(1)
    words = pa.array([f"customer-{i:04d}" for i in range(KEYS)])
    for epoch in range(EPOCHS):
        ticks = np.sort(dice.integers(0, SPAN * 1_000_000, ROWS)) + epoch * SPAN * 1_000_000
        ticks = ticks + dice.integers(-900_000, 0, ROWS) + 1_700_000_000_000_000
        keys, doubles = dice.integers(0, KEYS, ROWS), dice.normal(scale=100, size=ROWS)
        missing = pa.array(dice.random(ROWS) < 0.1)
        table = pa.table(
            {
                "ts": pa.array(ticks, pa.timestamp("us", tz="UTC")),
                "i": dice.integers(0, 1000, ROWS),
                "k": keys,
                "d": doubles,
                "f": doubles.astype(np.float32),
                "m": pa.array(dice.integers(0, 10_000_000, ROWS)).cast(pa.decimal128(19, 0)).cast(pa.decimal128(14, 2)),
                "t": words.take(pa.array(keys)),
                "o": pa.array(dice.integers(18_000, 20_000, ROWS).astype(np.int32)).cast(pa.date32()),
                "b": pa.array(dice.random(ROWS) < 0.5),
                "x": pc.if_else(missing, None, pa.array(doubles)),
                "y": pc.if_else(missing, None, words.take(pa.array(dice.integers(0, KEYS, ROWS)))),
            }
        )
        path = folder / f"{epoch:04d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + epoch, 1_700_000_000 + epoch))


def native(spark: SparkSession, folder: Path, cell: str, out: Path | None = None) -> Taken:
    """Structured Streaming's own window, append mode, with its default state store."""
    argument, group, *ratio = cell.split("-")
    asked = ARGUMENTS["double" if argument == "session" else argument]
    groups = [F.col(name) for name in GROUPS[group].split(", ") if name]
    window = F.window("ts", f"{ratio[0]} seconds", "1 second") if ratio else F.session_window("ts", GAP)
    frame: DataFrame = read(spark, folder).withWatermark("ts", "1 second")
    if asked.where:
        frame = frame.where(asked.where)
    made = [F.expr(one.strip()) for one in _split(asked.columns)]
    frame = frame.groupBy(window.alias("w"), *groups).agg(*made)
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer = writer.format("noop") if out is None else writer.format("parquet").option("path", str(out))
        query = writer.outputMode("append").start()
        cpu = WarmCpu(lambda: sum(bool(p.numInputRows) for p in query.recentProgress))
        query.awaitTermination()
        used = cpu.used()
        return Taken([p.durationMs["triggerExecution"] for p in query.recentProgress if p.numInputRows], used, 0)


def millstream(spark: SparkSession, folder: Path, cell: str, out: Path | None = None) -> Taken:
    """The same question in SQL."""
    argument, group, *ratio = cell.split("-")
    asked = ARGUMENTS["double" if argument == "session" else argument]
    window = f"window(ts, '{ratio[0]} seconds', '1 second')" if ratio else f"session_window(ts, '{GAP}')"
    with tempfile.TemporaryDirectory() as checkpoint:
        engine = ms.Engine(spark, checkpoint=checkpoint, partitions=2)
        engine.stream("s", read(spark, folder), progress=ms.bounded_disorder("ts", "1 second"))
        groups = GROUPS[group]
        query = engine.sql(
            f"SELECT {groups + ', ' if groups else ''}{asked.columns} FROM s"
            f"{' WHERE ' + asked.where if asked.where else ''} GROUP BY {groups + ', ' if groups else ''}{window}",
            name="q",
        )
        query = query.to_nothing() if out is None else query.to_parquet(out)
        run = engine.start(ms.available_now())
        cpu = WarmCpu(lambda: len(run.recent_progress))
        run.await_termination()
        used = cpu.used()
        return Taken([one["triggerExecution"] for one in engine.host.spark_progress if "addBatch" in one], used, 0)


def _split(columns: str) -> list[str]:
    """The columns of a list, as no argument here has a comma of its own."""
    return columns.split(",")


def check(spark: SparkSession, folder: Path, cell: str) -> int:
    """Both sides give the same closed windows; sums of doubles differ in their last digits."""
    _, group, *_ = cell.split("-")
    with tempfile.TemporaryDirectory() as place:
        native(spark, folder, cell, Path(place, "native"))
        millstream(spark, folder, cell, Path(place, "millstream"))
        base = duckdb.connect()
        names = [name for name in GROUPS[group].split(", ") if name]
        columns = ", ".join(["s", "e", *names, "a", "n"])
        base.sql(
            f'CREATE VIEW theirs AS SELECT epoch_us(w.start) AS s, epoch_us(w."end") AS e, * FROM '
            f"'{place}/native/*.parquet'"
        )
        base.sql(
            f"CREATE VIEW ours AS SELECT epoch_us(window_start) AS s, epoch_us(window_end) AS e, * FROM "
            f"'{place}/millstream/*.parquet' WHERE e <= (SELECT max(e) FROM theirs)"
        )
        theirs, ours = (
            base.sql(f"SELECT {columns} FROM {side} ORDER BY ALL").fetchall() for side in ("theirs", "ours")
        )
        assert theirs, "nothing to compare: no window of native's closed"
        assert len(theirs) == len(ours), f"{cell}: {len(theirs)} rows of native, {len(ours)} of Millstream"
        for one, other in zip(theirs, ours, strict=True):
            assert all(map(_near, one, other)), f"{cell}: native has {one}, Millstream {other}"
        return len(theirs)


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one))
    return bool(one == other)


def measured(spark: SparkSession, folder: Path, cell: str, rounds: int) -> dict[str, Any]:
    """One row of the table."""
    compared = check(spark, folder, cell)
    walls: dict[str, list[float]] = {"native": [], "millstream": []}
    cpus: dict[str, list[float]] = {"native": [], "millstream": []}
    for _ in range(rounds):
        for side, run in (("native", native), ("millstream", millstream)):
            taken = run(spark, folder, cell)
            walls[side].append(statistics.median(taken.wall[WARM:]))
            cpus[side].append(taken.cpu)
    wall, cpu = ({side: statistics.median(all_) for side, all_ in some.items()} for some in (walls, cpus))
    return {
        "wall_ratio": wall["native"] / wall["millstream"],
        "cpu_ratio": cpu["native"] / cpu["millstream"],
        "wall_ms_per_epoch": wall,
        "rows_compared": compared,
        "load": load(),
    }


def main() -> None:
    """All cells."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", default=",".join(CELLS))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    spark = local_session(2)
    folder = Path(tempfile.mkdtemp(prefix="types-"))
    results: dict[str, dict[str, Any]] = {}
    try:
        make_input(folder)
        for cell in options.cells.split(","):
            results[cell] = measured(spark, folder, cell, options.rounds)
            print(cell, results[cell], flush=True)
    finally:
        shutil.rmtree(folder)
    show(
        f"native ÷ Millstream, warm epochs of {ROWS} rows ({load()})",
        ("argument-group-range/slide", "wall", "CPU", "wanted (wall)"),
        [(name, one["wall_ratio"], one["cpu_ratio"], WANTED[name.split("-")[-1]]) for name, one in results.items()],
    )
    save("spark_types", {"rounds": options.rounds, "cells": results})


if __name__ == "__main__":
    main()
