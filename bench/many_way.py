"""Joins of three streams on Spark: Millstream against chained native stream-stream joins, side by side in one session.

    python bench/many_way.py [--parts common,chain,keyless] [--rounds 3] [--rows 200000] [--stores HDFS-backed,RocksDB]

Three Parquet streams to a no-op sink, the same files a trigger for both. `common` is a band join on one key that all
streams have, `chain` one on a different key for each two. Prints native ÷ Millstream in wall time, by state store.
`keyless` has no key at all, which native refuses: the time in one partition ÷ in two, and how even state is spread. The
answers are compared with DuckDB's before any time is printed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import load, save, show
from join import SECOND, STORES, read
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

import millstream as ms
from millstream.spark.local_session import local_session

NAMES = "abc"


@dataclass(frozen=True)
class ManySetting:
    """Three streams, what ties them, and how near rows must be."""

    rows: int = 200_000
    """In each file of each stream."""
    files: int = 2
    keys: int = 50_000
    band: float = 5
    """Seconds to either side."""
    per_second: int = 10_000
    tie: str = "common"

    @property
    def held(self) -> str:
        """What must hold, as SQL."""
        near = f"INTERVAL {int(self.band * 1000)} MILLISECONDS"
        times = f"b.ts >= a.ts - {near} AND b.ts <= a.ts + {near}"
        more = f"c.ts >= b.ts - {near} AND c.ts <= b.ts + {near}"
        first, second = {
            "common": ("a.x = b.x", "b.x = c.x"),
            "chain": ("a.x = b.x", "b.y = c.y"),
            "keyless": ("abs(a.x - b.x) < 20", "abs(b.y - c.y) < 20"),
        }[self.tie]
        return f"{first} AND {times}|{second} AND {more}"


def make_input(folder: Path, setting: ManySetting) -> None:
    """One file a trigger and stream, in order of time within a second."""
    total = setting.rows * setting.files
    for seed, name in enumerate(NAMES):
        rng = np.random.default_rng(seed)
        ts = 1_700_000_000 * SECOND + np.arange(total) * SECOND // setting.per_second
        order = np.argsort(ts + rng.integers(0, SECOND // 2, total), kind="stable")
        rows = pa.table(
            {
                "ts": pa.array(ts[order], pa.timestamp("us", "UTC")),
                "x": rng.integers(0, setting.keys, total),
                "y": rng.integers(0, setting.keys, total),
                "seq": np.arange(total),
            }
        )
        (folder / name).mkdir()
        for i in range(setting.files):
            path = folder / name / f"{i:04d}.parquet"
            pq.write_table(rows.slice(i * setting.rows, setting.rows), path)
            os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))


def native(spark: SparkSession, folder: Path, setting: ManySetting, store: str, out: Path | None = None) -> float:
    """Structured Streaming's own joins, one after the other; returns seconds."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", STORES[store])
    a, b, c = (read(spark, folder / name).withWatermark("ts", "500 milliseconds").alias(name) for name in NAMES)
    first, second = setting.held.split("|")
    both = a.join(b, F.expr(first))
    frame = both.join(c, F.expr(second)).select(*(F.col(f"{name}.seq").alias(f"{name}_seq") for name in NAMES))
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer = writer.format("noop") if out is None else writer.format("parquet").option("path", str(out))
        began = time.perf_counter()
        writer.outputMode("append").start().awaitTermination()
        return time.perf_counter() - began


def millstream(
    spark: SparkSession, folder: Path, setting: ManySetting, *, out: Path | None = None, partitions: int = 2
) -> tuple[float, dict[int, int]]:
    """The same on Millstream: seconds, and the rows that each partition keeps at the end."""
    with tempfile.TemporaryDirectory() as checkpoint:
        engine = ms.Engine(spark, checkpoint=checkpoint, partitions=partitions)
        promise = ms.bounded_disorder("ts", "500 ms")
        streams = [engine.stream(name, read(spark, folder / name), progress=promise) for name in NAMES]
        on: Any = {"common": "x", "chain": [("a.x", "b.x"), ("b.y", "c.y")], "keyless": None}[setting.tie]
        band = f"{int(setting.band * 1000)} ms"
        where = "abs(a_x - b_x) < 20 AND abs(b_y - c_y) < 20" if setting.tie == "keyless" else None
        joined = ms.join(*streams, on=on, within={("a", "b"): band, ("b", "c"): band}, where=where)
        query = joined.select(*(f"{name}_seq" for name in NAMES)).named("many")
        query = query.to_nothing() if out is None else query.to_parquet(out)
        began = time.perf_counter()
        engine.start(ms.available_now()).await_termination()
        took = time.perf_counter() - began
        kept: dict[int, int] = {}
        for one in engine.host.ledger.segments:
            kept[one.partition] = kept.get(one.partition, 0) + sum(table.rows for table in one.tables.values())
        return took, kept


def compare(spark: SparkSession, folder: Path, setting: ManySetting, *, beside: bool) -> int:
    """We give the combinations that DuckDB finds in the whole files, and native, if it is asked, too."""
    with tempfile.TemporaryDirectory() as place:
        millstream(spark, folder, setting, out=Path(place, "millstream"))
        if beside:
            native(spark, folder, setting, "HDFS-backed", Path(place, "native"))
        tables = ", ".join(f"'{folder}/{name}/*.parquet' {name}" for name in NAMES)
        whole = (
            f"SELECT count(*), sum(hash(a.seq, b.seq, c.seq)) FROM {tables} WHERE {setting.held.replace('|', ' AND ')}"
        )
        ((count, total),) = duckdb.connect().sql(whole).fetchall()
        for name in ("native", "millstream") if beside else ("millstream",):
            text = f"SELECT count(*), sum(hash(a_seq, b_seq, c_seq)) FROM '{place}/{name}/*.parquet'"
            found = duckdb.connect().sql(text).fetchall()
            assert found == [(count, total)], f"{name} gives {found}, DuckDB {(count, total)}"
        return int(count)


@contextmanager
def _folder(setting: ManySetting) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        make_input(Path(place), setting)
        yield Path(place)


def beside_native(spark: SparkSession, setting: ManySetting, rounds: int, stores: list[str]) -> dict[str, Any]:
    """Native ÷ Millstream in wall time, by store, from runs in turn."""
    with _folder(setting) as folder:
        found = compare(spark, folder, setting, beside=True)
        ours: list[float] = []
        theirs: dict[str, list[float]] = {store: [] for store in stores}
        for _ in range(rounds):
            ours.append(millstream(spark, folder, setting)[0])
            for store in stores:
                theirs[store].append(native(spark, folder, setting, store))
        own = statistics.median(ours)
        ratios = {store: statistics.median(some) / own for store, some in theirs.items()}
        return {"combinations": found, "ratios": ratios, "seconds": {"millstream": ours, **theirs}}


def keyless(spark: SparkSession, setting: ManySetting, rounds: int) -> dict[str, Any]:
    """Time in one partition ÷ in two, and the most rows of a partition ÷ the mean."""
    with _folder(setting) as folder:
        found = compare(spark, folder, setting, beside=False)
        took: dict[int, list[float]] = {1: [], 2: []}
        kept: dict[int, int] = {}
        for _ in range(rounds):
            for partitions, times in took.items():
                seconds, kept = millstream(spark, folder, setting, partitions=partitions)
                times.append(seconds)
        speedup = statistics.median(took[1]) / statistics.median(took[2])
        imbalance = max(kept.values()) * len(kept) / sum(kept.values())
        return {"combinations": found, "speedup": speedup, "imbalance": imbalance, "seconds": took}


def main() -> None:
    """All parts that are asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parts", default="common,chain,keyless")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--stores", default=",".join(STORES))
    asked = parser.parse_args()
    spark = local_session()
    found: dict[str, Any] = {}
    for part in asked.parts.split(","):
        if part == "keyless":
            setting = ManySetting(rows=max(1, asked.rows // 10), keys=1000, band=0.1, tie=part)
            found[part] = keyless(spark, setting, asked.rounds)
            row = (part, found[part]["speedup"], found[part]["imbalance"], found[part]["combinations"])
            show(f"3-way without a key; {load()}", ["", "1 partition ÷ 2", "imbalance", "combinations"], [row])
        else:
            stores = asked.stores.split(",")
            found[part] = beside_native(spark, ManySetting(rows=asked.rows, tie=part), asked.rounds, stores)
            rows = [(f"{part}, {store}", ratio) for store, ratio in found[part]["ratios"].items()]
            show(f"3-way {part}; {load()}", ["", "native ÷ Millstream, wall"], rows)
    save("many_way", found)


if __name__ == "__main__":
    main()
