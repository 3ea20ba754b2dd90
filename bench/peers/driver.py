"""The half of a driver that all engines share: jobs come in as JSON lines, and each repetition is a JSON line out.

    echo '{"workload": "W1", "store": "", "folder": ".peers/data/bids-20000-100", "rows": 20000}' |
        PYTHONPATH=bench .peers/venvs/batch/bin/python -m peers.engines.duckdb_batch

A job with "warm" first answers the same question, or one like it, over the folder named there, unmeasured: compilers
and caches are then as warm for every engine as they are in a stream that has run for a while. A process answers any
number of jobs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import psutil

from peers.meter import Meter
from peers.workloads import CORES, WORKLOADS, Workload

_FIRST = 3
"""How often a new process warms up: after once, a JVM still takes twice as long as it will."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One question over one data set, with one of the engine's state stores."""

    workload: str
    folder: Path
    rows: int
    """Of each stream."""
    store: str = ""
    warm: Path | None = None

    @classmethod
    def parse(cls, line: str) -> Job:
        """From a line of JSON."""
        given = json.loads(line)
        warm = given.get("warm")
        paths = {"folder": Path(given["folder"]).resolve(), "warm": warm and Path(warm).resolve()}
        return cls(**{**given, **paths})

    @property
    def asked(self) -> Workload:
        """What is asked."""
        return WORKLOADS[self.workload]


@dataclass(slots=True)
class Answer:
    """How many result rows there were, and their digest."""

    rows: int = 0
    checksum: int = 0
    seconds: float | None = None
    """What the engine itself says it took, where its own clock is the better one."""
    notes: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, rows: Any, checksum: Any, query: int = 0) -> None:
        """Result rows of a query, counted from 0."""
        self.rows += int(rows)
        self.checksum += (query + 1) * int(checksum or 0)


class Engine(Protocol):
    """What a driver brings: a session that is open, and a way to answer."""

    name: str
    versions: dict[str, str]

    def answer(self, job: Job, meter: Meter) -> Answer:
        """Read the files, run the queries to their end, sum up what comes out."""
        ...


def serve(open_engine: Callable[[], Engine]) -> None:
    """Open the engine, then answer jobs until there are none."""
    out = _own_output()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    engine = open_engine()
    started = time.time() - psutil.Process().create_time()
    warmed: set[tuple[str, str]] = set()
    for line in sys.stdin:
        job = Job.parse(line)
        like = job.asked.like or job.workload
        if job.warm is not None and (like, job.store) not in warmed:
            for _ in range(1 if warmed else _FIRST):
                with Meter() as meter:
                    engine.answer(Job(workload=like, folder=job.warm, rows=0, store=job.store), meter)
            warmed.add((like, job.store))
        with Meter() as meter:
            answer = engine.answer(job, meter)
        out.write(json.dumps(_line(engine, job, answer, meter, started)) + "\n")
        out.flush()


def _line(engine: Engine, job: Job, answer: Answer, meter: Meter, started: float) -> dict[str, Any]:
    return {
        "engine": engine.name,
        "store": job.store,
        "workload": job.workload,
        "rows": job.rows,
        "seconds": meter.seconds if answer.seconds is None else answer.seconds,
        "startup_seconds": started,
        "cpu_seconds": meter.cpu,
        "peak_bytes": meter.peak_bytes,
        "rows_out": answer.rows,
        "checksum": answer.checksum,
        "load": meter.load,
        "versions": engine.versions,
        **answer.notes,
    }


def _own_output() -> Any:
    """Standard output for our lines alone; whatever else an engine prints goes to the errors."""
    ours = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(ours, "w")
