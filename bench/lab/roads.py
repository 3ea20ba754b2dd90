"""Sensors of a city's roads, and what feedback saves of the work on them: for the suites of feedback."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import millstream as ms
from millstream.plan.feedback.placing import KnobsOf

SENSORS, PER_MINUTE, EACH = 150, 3, 9000
FREEWAYS, STATIONS = 5, 10
LOCATIONS = pa.table(
    {
        "sensor": pa.array(range(SENSORS), pa.int64()),
        "freeway": pa.array([i // 30 for i in range(SENSORS)], pa.int64()),
        "milepost": pa.array([i // 3 % STATIONS for i in range(SENSORS)], pa.int64()),
    }
)


def readings(minutes: int, seed: int = 15) -> pa.Table:
    """150 sensors, a reading each 20 seconds; `ts` is in seconds.

    >>> readings(2).num_rows
    900
    """
    rnd = np.random.default_rng(seed)
    n = minutes * PER_MINUTE * SENSORS
    return pa.table(
        {
            "ts": np.repeat(np.arange(minutes * PER_MINUTE) * (60 // PER_MINUTE), SENSORS),
            "sensor": np.tile(np.arange(SENSORS), minutes * PER_MINUTE),
            "speed": rnd.integers(10, 80, n),
            "occupancy": rnd.integers(0, 100, n),
        }
    )


def probes(hours: int = 24, number: int = 50) -> list[ms.Epoch]:
    """Vehicles that report each five minutes; then punctuation says of each that no more comes of it.

    >>> len(probes(1)), len(probes(1)[0].punctuations)
    (12, 50)
    """
    out: list[ms.Epoch] = []
    for ts in range(0, hours * 3600, 300):
        rows = [{"ts": ts, "probe": i, "freeway": i % FREEWAYS, "milepost": i, "speed": 30 + i} for i in range(number)]
        out.append(ms.Epoch(rows, [ms.punctuation("ts", before=ts + 1, probe=i) for i in range(number)]))
    return out


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run: its results, what each operator did, and how long it took."""

    results: pa.Table
    operators: list[dict[str, Any]]
    seconds: float
    cpu: float
    """Seconds of the processor, which other work on the machine does not lengthen."""

    def out(self, kind: str) -> int:
        """Rows that left the operators of a kind."""
        return sum(one["rows_out"] for one in self.operators if one["operator"] == kind)

    @property
    def between(self) -> int:
        """Rows that went from one operator to the next, behind the streams."""
        return sum(one["rows_out"] for one in self.operators if one["operator"] != "source")


Ask = Callable[..., ms.Query]


def ready(ask: Ask, tables: Mapping[str, pa.Table]) -> ms.Engine:
    """An engine that has answered one query, without feedback."""
    engine = ms.Engine(host="local")
    engine.table("locations", LOCATIONS)
    streams = [engine.stream(name, table.slice(0, EACH), progress=ms.ordered("ts")) for name, table in tables.items()]
    ask(*streams).named("q")
    engine.start(ms.available_now()).await_termination()
    return engine


def run(
    ask: Ask,
    tables: Mapping[str, pa.Table],
    said: tuple[str, ...] = (),
    *,
    knobs: KnobsOf | None = None,
    each: int = EACH,
    files: Path | None = None,
    on_epoch: Callable[[ms.Query], Callable[[dict[str, Any]], None]] | None = None,
) -> Ran:
    """One query over streams, with what its reader says from the beginning; of `files`, if they were written."""
    engine = ms.Engine(host="local")
    engine.table("locations", LOCATIONS)
    streams = [
        engine.stream(name, table, progress=ms.ordered("ts"), epoch_rows=each)
        if files is None
        else engine.stream(name, files / name, progress=ms.ordered("ts"))
        for name, table in tables.items()
    ]
    query = ask(*streams).named("q")
    if knobs is not None:
        engine.host.feedback.knobs = knobs
    for one in said:
        query.feedback(ms.assumed(one, ttl=10**6))
    engine.on_epoch((lambda _: None) if on_epoch is None else on_epoch(query))
    began, spent = time.perf_counter(), time.process_time()
    started = engine.start(ms.available_now(), end_of_stream=True)
    started.await_termination()
    seconds, cpu = time.perf_counter() - began, time.process_time() - spent
    operators = started.progress["queries"]["q"]["operators"]
    return Ran(results=query.table(), operators=operators, seconds=seconds, cpu=cpu)


def write(tables: Mapping[str, pa.Table], folder: Path, each: int = 54_000) -> Path:
    """Streams as Parquet files, one an epoch; in a file, rows lie by sensor, ten sensors in a group of rows."""
    for name, table in tables.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(0, table.num_rows, each):
            rows = table.slice(i, each).sort_by("sensor")
            pq.write_table(rows, folder / name / f"{i:08d}.parquet", row_group_size=max(1, each * 10 // SENSORS))
    return folder


def cpu_ratio(sides: Sequence[Callable[[], Ran]], rounds: int) -> tuple[float, float, float]:
    """Milliseconds of the processor for two ways to run, the least of rounds in which they take turns; and their ratio.

    Other work on the machine only makes a run longer, so the least is what the work itself takes.
    """
    spent: tuple[list[float], list[float]] = [], []
    for i in range(rounds):
        for side in (0, 1) if i % 2 else (1, 0):
            spent[side].append(sides[side]().cpu)
    first, second = (1000 * min(some) for some in spent)
    return round(first, 1), round(second, 1), round(second / first, 3)


def best(make: Callable[[], Ran], runs: int) -> Ran:
    """The quickest of several runs, which others disturbed least."""
    return min((make() for _ in range(runs)), key=lambda one: one.seconds)
