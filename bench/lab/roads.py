"""Sensors of a city's roads, and what feedback saves of the work on them: for the suites of feedback."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

import millstream as ms
from millstream.plan.feedback.placing import KnobsOf

SENSORS, PER_MINUTE = 150, 3
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run: its results, what each operator did, and how long it took."""

    results: pa.Table
    operators: list[dict[str, Any]]
    seconds: float

    def out(self, kind: str) -> int:
        """Rows that left the operators of a kind."""
        return sum(one["rows_out"] for one in self.operators if one["operator"] == kind)

    @property
    def between(self) -> int:
        """Rows that went from one operator to the next, behind the streams."""
        return sum(one["rows_out"] for one in self.operators if one["operator"] != "source")


Ask = Callable[..., ms.Query]


def run(
    ask: Ask,
    tables: Mapping[str, pa.Table],
    said: tuple[str, ...] = (),
    *,
    knobs: KnobsOf | None = None,
    each: int = 9000,
) -> Ran:
    """One query over streams, with what its reader says from the beginning."""
    engine = ms.Engine(host="local")
    engine.table("locations", LOCATIONS)
    streams = [engine.stream(name, table, progress=ms.ordered("ts"), epoch_rows=each) for name, table in tables.items()]
    query = ask(*streams).named("q")
    if knobs is not None:
        engine.host.feedback.knobs = knobs
    for one in said:
        query.feedback(ms.assumed(one, ttl=10**6))
    began = time.perf_counter()
    started = engine.start(ms.available_now(), end_of_stream=True)
    started.await_termination()
    seconds = time.perf_counter() - began
    return Ran(results=query.table(), operators=started.progress["queries"]["q"]["operators"], seconds=seconds)


def best(make: Callable[[], Ran], runs: int) -> Ran:
    """The quickest of several runs, which others disturbed least."""
    return min((make() for _ in range(runs)), key=lambda one: one.seconds)
