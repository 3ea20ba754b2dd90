"""How sides are measured: time, state, the process, and how long a result takes once its punctuation is there."""

from __future__ import annotations

import gc
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil
import pyarrow as pa

import millstream as ms
from comparators.comparator import Held

_SAMPLE_SECONDS = 0.005


class ProcessPeak(threading.Thread):
    """How far the process grows while a side runs, above where it stood; sampled, so a short peak may be missed."""

    def __init__(self) -> None:
        """Where it stands now."""
        super().__init__(daemon=True)
        self._process = psutil.Process()
        self._over = threading.Event()
        self.nbytes = 0

    def __enter__(self) -> ProcessPeak:
        gc.collect()
        self._before = self._process.memory_info().rss
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._look()
        self._over.set()
        self.join()

    def run(self) -> None:
        """Look until told to stop."""
        while not self._over.wait(_SAMPLE_SECONDS):
            self._look()

    def _look(self) -> None:
        self.nbytes = max(self.nbytes, self._process.memory_info().rss - self._before)


@dataclass(slots=True, kw_only=True)
class Side:
    """One side of a comparison, run once."""

    answer: pa.Table
    seconds: float
    """Of the processor: other work on the machine changes it little, while it may double the time of the clock."""
    peak: Held
    process: int
    """Bytes by which the process grew."""
    pieces: list[tuple[int, pa.Table]] = field(default_factory=list[tuple[int, pa.Table]])
    """What left in each epoch, for the engine's side."""
    latencies: list[float] = field(default_factory=list[float])
    """Seconds from the arrival of what let results go to their leaving, for each time that any left."""

    @property
    def latency(self) -> float:
        """The median of them."""
        return statistics.median(self.latencies) if self.latencies else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """A stream for the engine: epochs, each a table with a bound or None."""

    epochs: Sequence[tuple[pa.Table, int | None]]
    attribute: str
    apart: bool = False
    """Whether punctuation comes in an epoch of its own after its rows, so that latency is counted from it alone."""
    progress: Any = None
    """What the stream promises, if it is not that punctuation on the attribute is supplied."""

    def feed(self, stamps: list[float]) -> Iterator[ms.Epoch]:
        """The epochs, and when each was handed over."""
        for rows, bound in self.epochs:
            said = [] if bound is None else [ms.punctuation(self.attribute, before=bound)]
            for came, then in ((rows, []), (rows.slice(0, 0), said)) if self.apart else ((rows, said),):
                stamps.append(time.perf_counter())
                yield ms.Epoch(came, then)


def millstream(inputs: Mapping[str, Input], ask: Callable[..., ms.Query]) -> Side:
    """Run a query over streams on the local host; `ask` gets a stream for each input, in order."""
    engine = ms.Engine(host="local")
    stamps: list[float] = []
    latencies: list[float] = []
    left: list[tuple[int, pa.Table]] = []

    def leave(rows: pa.Table, epoch: int) -> None:
        if rows.num_rows:
            latencies.append(time.perf_counter() - stamps[-1])
            left.append((epoch, rows))

    streams = [
        engine.stream(
            name,
            one.feed(stamps),
            progress=one.progress or ms.supplied(one.attribute),
            schema=one.epochs[0][0].schema,
        )
        for name, one in inputs.items()
    ]
    query = ask(*streams).for_each(leave).named("q")
    with ProcessPeak() as process:
        began = time.process_time()
        handle = engine.start(ms.available_now(), end_of_stream=True)
        handle.await_termination()
        seconds = time.process_time() - began
    operators = handle.progress["queries"]["q"]["operators"]
    peak = Held(sum(one["peak_rows"] for one in operators), sum(one["peak_bytes"] for one in operators))
    answer = pa.concat_tables([rows for _, rows in left]) if left else query.schema.empty_table()
    return Side(answer=answer, seconds=seconds, peak=peak, process=process.nbytes, pieces=left, latencies=latencies)


def comparator(steps: Callable[[], Iterator[pa.Table]], held: Callable[[], Held]) -> Side:
    """Run a comparator; each item of `steps` is what left for one thing that came in."""
    latencies: list[float] = []
    left: list[pa.Table] = []
    with ProcessPeak() as process:
        began, last = time.process_time(), time.perf_counter()
        for rows in steps():
            now = time.perf_counter()
            if rows.num_rows:
                latencies.append(now - last)
                left.append(rows)
            last = now
        seconds = time.process_time() - began
    answer = pa.concat_tables(left, promote_options="permissive") if left else pa.table({})
    return Side(answer=answer, seconds=seconds, peak=held(), process=process.nbytes, latencies=latencies)


def best_seconds(runs: Mapping[str, Callable[[], Side]], rounds: int) -> dict[str, tuple[Side, float]]:
    """Sides run in turn, `rounds` times after a warm-up: the last run of each, and the least of its times."""
    return best_seconds_and_latency(runs, rounds)[0]


def best_seconds_and_latency(
    runs: Mapping[str, Callable[[], Side]], rounds: int
) -> tuple[dict[str, tuple[Side, float]], dict[str, float]]:
    """The same, and the least of each side's latencies, each the median of a run."""
    taken: dict[str, list[Side]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            taken[name].append(run())
    best = {name: (sides[-1], min(one.seconds for one in sides[1:])) for name, sides in taken.items()}
    return best, {name: min(one.latency for one in sides[1:]) for name, sides in taken.items()}


def as_answers(table: pa.Table, names: Sequence[str]) -> dict[tuple[Any, ...], Any]:
    """Rows as a mapping from all but the last column to the last."""
    columns = [table[name].to_pylist() for name in names]
    return {tuple(row[:-1]): row[-1] for row in zip(*columns, strict=True)}


def must_equal(name: str, expected: Any, actual: Any) -> None:
    """Nothing is reported of a side whose answer is wrong."""
    if expected != actual:
        raise AssertionError(f"{name} differs from the oracle, so there is nothing to report of it")
