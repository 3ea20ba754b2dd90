"""Band joins on Spark: Millstream against the native stream-stream join, side by side in one session.

    python bench/join.py [--parts native,shape,state,keyless] [--rounds 3]

Two Parquet streams to a no-op sink, the same files a trigger for both, the first epochs of each run left out. Prints
native ÷ Millstream in wall time and in CPU of the process tree, by state store; then what a row costs as band, keys and
disorder grow; the state against the least there can be; and a join without keys, by partitions. The answers of both
sides are compared before any time is printed. Parts that are not asked for keep the figures they had.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
from dataclasses import dataclass, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from harness import RESULTS, load, save, show
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from spark_sliding import WARM, Taken, WarmCpu
from targets import JOINS

import millstream as ms
from millstream.spark.local_session import local_session

_STORES = "org.apache.spark.sql.execution.streaming.state"
STORES = {"HDFS-backed": f"{_STORES}.HDFSBackedStateStoreProvider", "RocksDB": f"{_STORES}.RocksDBStateStoreProvider"}
LARGEST = {"HDFS-backed": 2_000_000, "RocksDB": 800_000}
"""Rows a side that the native join finishes in about a minute: the largest for which rounds stay within minutes."""
PER_SECOND = 10_000
SECOND = 1_000_000


@dataclass(frozen=True)
class Setting:
    """Two streams, and how near partners must be."""

    rows: int = 1_000_000
    keys: int = 100_000
    band: float = 5
    """Seconds to either side."""
    disorder: float = 1
    files: int = 4
    hot: float = 0
    """The share of rows that have one key."""
    per_second: int = PER_SECOND

    @property
    def name(self) -> str:
        """For tables."""
        hot = f", one key {self.hot:.0%}" if self.hot else ""
        return f"{self.rows // 1000}k rows, {self.keys} keys, ±{self.band:g} s, disorder {self.disorder:g} s{hot}"


def side(setting: Setting, seed: int) -> pa.Table:
    """One stream, in order of arrival."""
    rng = np.random.default_rng(seed)
    ts = 1_700_000_000 * SECOND + np.arange(setting.rows) * SECOND // setting.per_second
    order = np.argsort(ts + rng.integers(0, max(1, int(setting.disorder * SECOND)), setting.rows), kind="stable")
    keys = rng.integers(0, setting.keys, setting.rows)
    keys[rng.random(setting.rows) < setting.hot] = 0
    at = pa.array(ts[order], pa.timestamp("us", "UTC"))
    return pa.table({"k": keys, "ts": at, "seq": np.arange(setting.rows)})


def make_input(folder: Path, setting: Setting) -> None:
    """One file a trigger and side."""
    size = -(-setting.rows // setting.files)
    for seed, name in enumerate("ab"):
        (folder / name).mkdir()
        rows = side(setting, seed)
        for i in range(setting.files):
            path = folder / name / f"{i:04d}.parquet"
            pq.write_table(rows.slice(i * size, size), path)
            os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))


def read(spark: SparkSession, folder: Path) -> DataFrame:
    """A folder as a stream, one file a trigger."""
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def native(spark: SparkSession, folder: Path, setting: Setting, store: str, out: Path | None = None) -> Taken:
    """Structured Streaming's own join, with one of its two state stores."""
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", STORES[store])
    delay = f"{int(setting.disorder * 1000)} milliseconds"
    a, b = (read(spark, folder / name).withWatermark("ts", delay).alias(name) for name in "ab")
    near = f"INTERVAL {int(setting.band * 1000)} MILLISECONDS"
    on = F.expr(f"a.k = b.k AND b.ts >= a.ts - {near} AND b.ts <= a.ts + {near}")
    frame = a.join(b, on).select(F.col("a.seq").alias("left_seq"), F.col("b.seq").alias("right_seq"))
    with tempfile.TemporaryDirectory() as checkpoint:
        writer = frame.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
        writer = writer.format("noop") if out is None else writer.format("parquet").option("path", str(out))
        query = writer.outputMode("append").start()
        cpu = WarmCpu(lambda: sum(bool(p.numInputRows) for p in query.recentProgress))
        query.awaitTermination()
        used = cpu.used()
        progress = [p for p in query.recentProgress if p.numInputRows]
        rows = max(int(p.stateOperators[0].numRowsTotal) for p in progress)
        return Taken([p.durationMs["triggerExecution"] for p in progress], used, rows)


def millstream(
    spark: SparkSession,
    folder: Path,
    setting: Setting,
    *,
    out: Path | None = None,
    partitions: int = 2,
    keyed: bool = True,
) -> tuple[Taken, list[int]]:
    """The same on Millstream; also the rows in state after each epoch."""
    with tempfile.TemporaryDirectory() as checkpoint:
        engine = ms.Engine(spark, checkpoint=checkpoint, partitions=partitions)
        query = ask(engine, spark, folder, setting, keyed=keyed)
        query = query.to_nothing() if out is None else query.to_parquet(out)
        run = engine.start(ms.available_now())
        cpu = WarmCpu(lambda: len(run.recent_progress))
        run.await_termination()
        used = cpu.used()
        held = [state_rows(progress) for progress in run.recent_progress]
        wall = [one["triggerExecution"] for one in engine.host.spark_progress if "addBatch" in one]
        return Taken(wall, used, max(held)), held


def ask(engine: ms.Engine, spark: SparkSession, folder: Path, setting: Setting, *, keyed: bool = True) -> ms.Query:
    """The query, without a sink."""
    promise = ms.bounded_disorder("ts", f"{int(setting.disorder * 1000)} ms")
    a, b = (engine.stream(name, read(spark, folder / name), progress=promise) for name in "ab")
    joined = a.join(b, on="k" if keyed else None, within=f"{int(setting.band * 1000)} ms")
    return joined.select("left_seq", "right_seq").named("pairs")


def state_rows(progress: dict[str, Any]) -> int:
    """Rows that the join keeps."""
    operators = progress["queries"]["pairs"]["operators"]
    return sum(one["state_rows"] for one in operators if one["operator"] == "join")


def held_while_waiting(spark: SparkSession, folder: Path, setting: Setting) -> list[int]:
    """Rows in state after each epoch of a run that waits for input, and so tells its operators at once."""
    with tempfile.TemporaryDirectory() as checkpoint:
        engine = ms.Engine(spark, checkpoint=checkpoint, partitions=2)
        ask(engine, spark, folder, setting).to_nothing()
        run = engine.start(ms.every("50 ms"))
        while run.is_active and len(_after_each(run.recent_progress)) < setting.files:
            run.await_termination(0.2)
        run.stop()
        return _after_each(run.recent_progress)


def _after_each(reports: list[dict[str, Any]]) -> list[int]:
    """What is kept at the end of each epoch with rows: after the step that follows it without any."""
    return [state_rows(then) for first, then in pairwise(reports) if first["input_rows"] and not then["input_rows"]]


def compare(spark: SparkSession, folder: Path, setting: Setting, *, beside: bool = True) -> int:
    """We give the pairs that DuckDB finds in the whole files, and native, if it is asked, too; returns how many."""
    with tempfile.TemporaryDirectory() as place:
        millstream(spark, folder, setting, out=Path(place, "millstream"))
        if beside:
            native(spark, folder, setting, "HDFS-backed", Path(place, "native"))
        near = f"INTERVAL {int(setting.band * 1000)} MILLISECONDS"
        whole = (
            f"SELECT count(*), sum(hash(a.seq, b.seq)) FROM '{folder}/a/*.parquet' a JOIN '{folder}/b/*.parquet' b "
            f"ON a.k = b.k AND b.ts BETWEEN a.ts - {near} AND a.ts + {near}"
        )
        ((count, total),) = duckdb.connect().sql(whole).fetchall()
        for name in ("native", "millstream") if beside else ("millstream",):
            text = f"SELECT count(*), sum(hash(left_seq, right_seq)) FROM '{place}/{name}/*.parquet'"
            found = duckdb.connect().sql(text).fetchall()
            assert found == [(count, total)], f"{name} gives {found}, DuckDB {(count, total)}"
        return int(count)


def against_native(spark: SparkSession, rounds: int, stores: list[str], kept: dict[str, Any]) -> dict[str, Any]:
    """The table that the targets are about; cells of other stores stay as they were."""
    out: dict[str, Any] = {name: one for name, one in kept.items() if name.split(" ±")[0] not in stores}
    shown: list[tuple[Any, ...]] = []
    for store, band in product(stores, (5, 30)):
        setting = Setting(rows=LARGEST[store], band=band)
        with _folder() as folder:
            make_input(folder, setting)
            pairs = compare(spark, folder, setting)
            walls: dict[str, list[float]] = {"native": [], "millstream": []}
            cpus: dict[str, list[float]] = {"native": [], "millstream": []}
            for turn in range(rounds + 1):
                for name in walls:
                    taken = (
                        native(spark, folder, setting, store)
                        if name == "native"
                        else millstream(spark, folder, setting)[0]
                    )
                    if not turn:  # the JVM is still compiling
                        continue
                    walls[name].append(statistics.median(taken.wall[WARM:]))
                    cpus[name].append(taken.cpu / (2 * setting.rows * (setting.files - WARM) / setting.files))
        wall = {name: statistics.median(values) for name, values in walls.items()}
        cpu = {name: statistics.median(values) for name, values in cpus.items()}
        cell = f"{store} ±{band} s"
        out[cell] = {
            "rows": setting.rows,
            "pairs": pairs,
            "wall_ms_per_epoch": wall,
            "cpu_seconds_per_row": cpu,
            "rounds": rounds,
            "wall_ratio": wall["native"] / wall["millstream"],
            "cpu_ratio": cpu["native"] / cpu["millstream"],
            "load": load(),
        }
        shown.append((cell, setting.name, out[cell]["wall_ratio"], out[cell]["cpu_ratio"], JOINS[store]))
        show(f"native ÷ Millstream, warm epochs ({load()})", ("store", "streams", "wall", "CPU a row", "wanted"), shown)
    return out


def check_shape(spark: SparkSession, setting: Setting) -> None:
    """The pairs of a short stream of this shape are DuckDB's, which would never end with a hot key in a long one."""
    with _folder() as folder:
        short = replace(setting, rows=20_000)
        make_input(folder, short)
        compare(spark, folder, short, beside=False)


def by_shape(spark: SparkSession, rounds: int) -> dict[str, Any]:
    """What a row costs as the band, the keys and the disorder grow, against the first setting."""
    base = Setting(rows=600_000)
    settings = [
        base,
        *(replace(base, band=band) for band in (1, 30)),
        *(replace(base, keys=keys) for keys in (1_000, 10_000, 1_000_000)),
        *(replace(base, disorder=disorder) for disorder in (0.1, 10)),
        replace(base, hot=0.5, band=0.05),
        replace(base, hot=0, band=0.05),
    ]
    walls: dict[str, list[float]] = {}
    cpus: dict[str, list[float]] = {}
    with _folder() as place:
        folders = []
        for i, setting in enumerate(settings):
            (place / str(i)).mkdir()
            make_input(place / str(i), setting)
            folders.append(place / str(i))
            check_shape(spark, setting)
        for _ in range(rounds):
            for setting, folder in zip(settings, folders, strict=True):
                taken, _ = millstream(spark, folder, setting)
                walls.setdefault(setting.name, []).append(statistics.median(taken.wall[WARM:]))
                cpus.setdefault(setting.name, []).append(taken.cpu)
    first = settings[0].name
    out = {
        name: {
            "wall_ratio": statistics.median(walls[name]) / statistics.median(walls[first]),
            "cpu_ratio": statistics.median(cpus[name]) / statistics.median(cpus[first]),
        }
        for name in walls
    }
    rows = [(name, one["wall_ratio"], one["cpu_ratio"]) for name, one in out.items()]
    show(f"cost ÷ that of the first ({load()})", ("streams", "wall", "CPU"), rows)
    return out


def state(spark: SparkSession) -> dict[str, Any]:
    """Rows in state after each epoch, against those that may still have a partner by all that has come so far.

    A run that catches up tells its operators in the next epoch, and so keeps an epoch's rows more.
    """
    out: dict[str, Any] = {}
    for setting in (Setting(files=20), Setting(band=30, files=20), Setting(disorder=10, files=20)):
        with _folder() as folder:
            make_input(folder, setting)
            waiting = held_while_waiting(spark, folder, setting)
            _, behind = millstream(spark, folder, setting)
        assert len(waiting) == setting.files, f"{len(waiting)} epochs of {setting.files} were seen to their end"
        least = _least(setting)
        mine = [held / few for held, few in zip(waiting, least, strict=True)]
        late = [held / few for held, few in zip(behind, least, strict=False)]
        out[setting.name] = {"worst": max(mine), "median": statistics.median(mine), "catching_up": max(late)}
    rows = [(name, one["worst"], one["median"], 1.2, one["catching_up"]) for name, one in out.items()]
    head = ("streams", "worst epoch", "median", "wanted at most", "worst while catching up")
    show("rows in state ÷ the least there can be", head, rows)
    return out


def _least(setting: Setting) -> list[int]:
    """After each epoch, the rows that have come and are not below the other side's bound less the band.

    A side's bound is what it promises of rows to come: the greatest time so far less the disorder.
    """
    times = [side(setting, seed)["ts"].cast(pa.int64()).to_numpy() for seed in (0, 1)]
    size = -(-setting.rows // setting.files)
    out: list[int] = []
    for epoch in range(1, setting.files + 1):
        come = [at[: epoch * size] for at in times]
        limits = [at.max() - int((setting.disorder + setting.band) * SECOND) for at in reversed(come)]
        out.append(sum(int((at >= limit).sum()) for at, limit in zip(come, limits, strict=True)))
    return out


def keyless(spark: SparkSession, rounds: int) -> dict[str, Any]:
    """A band join without a key, which Spark itself refuses, in one and in two partitions."""
    setting = Setting(rows=200_000, keys=1, band=0.2, per_second=1_000, files=5)
    walls: dict[int, list[float]] = {1: [], 2: []}
    with _folder() as folder:
        make_input(folder, setting)
        with tempfile.TemporaryDirectory() as place:
            millstream(spark, folder, setting, out=Path(place, "out"), keyed=False)
            found = (
                duckdb.connect()
                .sql(f"SELECT count(*), sum(hash(left_seq, right_seq)) FROM '{place}/out/*.parquet'")
                .fetchall()
            )
        near = f"INTERVAL {int(setting.band * 1000)} MILLISECONDS"
        whole = (
            duckdb.connect()
            .sql(
                f"SELECT count(*), sum(hash(a.seq, b.seq)) FROM '{folder}/a/*.parquet' a JOIN '{folder}/b/*.parquet' b "
                f"ON b.ts BETWEEN a.ts - {near} AND a.ts + {near}"
            )
            .fetchall()
        )
        assert whole == found, f"the answers differ: {whole} and {found}"
        for _ in range(rounds):
            for partitions, taken in walls.items():
                run, _ = millstream(spark, folder, setting, partitions=partitions, keyed=False)
                taken.append(sum(run.wall[WARM:]))
    ratio = statistics.median(walls[1]) / statistics.median(walls[2])
    show(
        f"without a key, {setting.rows} rows a side, {whole[0][0]} pairs ({load()})",
        ("one partition ÷ two, wall",),
        [(ratio,)],
    )
    return {"pairs": whole[0][0], "one_partition_over_two": ratio}


class _folder:  # noqa: N801 - a context like those of tempfile
    def __enter__(self) -> Path:
        self.path = Path(tempfile.mkdtemp(prefix="pairs-"))
        return self.path

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path)


def main() -> None:
    """The parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--parts", default="native,shape,state,keyless")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stores", default=",".join(STORES), help="of the native join")
    options = parser.parse_args()
    spark = local_session(2)
    path = RESULTS / "join.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    parts: dict[str, Any] = {
        "native": lambda: against_native(spark, options.rounds, options.stores.split(","), kept.get("native", {})),
        "shape": lambda: by_shape(spark, options.rounds),
        "state": lambda: state(spark),
        "keyless": lambda: keyless(spark, options.rounds),
    }
    results = {name: kept[name] for name in parts if name in kept}
    save("join", {**results, **{name: parts[name]() for name in options.parts.split(",")}})


if __name__ == "__main__":
    main()
