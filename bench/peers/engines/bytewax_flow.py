"""Bytewax with its own windows, in as many processes as there are cores: threads would share one interpreter.

It has no join by time, so pairs are found by a stateful step written here, with both sides sorted by time. That step
forgets nothing, because Bytewax gives it no bound on how far one input runs ahead of the other.
"""

from __future__ import annotations

import multiprocessing
import socket
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import bytewax.operators as op  # pyright: ignore[reportMissingImports]  in an environment of its own
import bytewax.operators.windowing as win  # pyright: ignore[reportMissingImports]
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow  # pyright: ignore[reportMissingImports]
from bytewax.inputs import FixedPartitionedSource, StatefulSourcePartition  # pyright: ignore[reportMissingImports]
from bytewax.outputs import DynamicSink, StatelessSinkPartition  # pyright: ignore[reportMissingImports]
from bytewax.testing import cluster_main  # pyright: ignore[reportMissingImports]

from peers.digest import KEYLESS, count_and_max, median_and_distinct, pair_row, window_row
from peers.driver import Answer, Job, serve
from peers.meter import Meter
from peers.workloads import CORES, DISORDER, Workload

_BATCH = 2_000
_ORIGIN = datetime(1970, 1, 1, tzinfo=UTC)
# Its clock of events runs on with that of the wall, and would drop rows of a slow replay: so the wall's stands still.
_STILL = datetime(2100, 1, 1, tzinfo=UTC)


class Bytewax:
    """Nothing to open; processes are forked for each run, with everything imported."""

    name = "bytewax"

    def __init__(self) -> None:
        self.versions = {"bytewax": version("bytewax")}

    def answer(self, job: Job, meter: Meter) -> Answer:
        """A cluster of processes that talk over local sockets."""
        context = multiprocessing.get_context("fork")
        sums = context.Array("q", 2)
        addresses = _addresses(CORES)
        workers = [
            context.Process(target=lambda i=i: cluster_main(_flow(job, sums), addresses, i)) for i in range(CORES)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if any(worker.exitcode for worker in workers):
            raise RuntimeError(f"workers ended with {[worker.exitcode for worker in workers]}")
        # The sink has weighted the queries already.
        return Answer(rows=sums[0], checksum=sums[1])


def _addresses(count: int) -> list[str]:
    held = [socket.socket() for _ in range(count)]
    for one in held:
        one.bind(("127.0.0.1", 0))
    found = [f"127.0.0.1:{one.getsockname()[1]}" for one in held]
    for one in held:
        one.close()
    return found


class _Part(StatefulSourcePartition):
    def __init__(self, folder: Path, columns: tuple[str, ...], item: Callable[..., Any]) -> None:
        self._batches = self._read(sorted(folder.glob("*.parquet")), columns, item)

    @staticmethod
    def _read(paths: list[Path], columns: tuple[str, ...], item: Callable[..., Any]) -> Iterator[list[Any]]:
        for path in paths:
            for batch in pq.ParquetFile(path).iter_batches(_BATCH, columns=list(columns)):
                yield [item(*row) for row in zip(*(batch[name].to_pylist() for name in columns), strict=True)]

    def next_batch(self) -> list[Any]:
        return next(self._batches)

    def snapshot(self) -> None:
        return None


class _Source(FixedPartitionedSource):
    """One partition: clocks are by key and go by the fastest partition, so a slower one would lose rows."""

    def __init__(self, *given: Any) -> None:
        self._given = given

    def list_parts(self) -> list[str]:
        return ["all"]

    def build_part(self, step_id: str, for_part: str, resume_state: Any) -> _Part:
        return _Part(*self._given)


class _SumPart(StatelessSinkPartition):
    def __init__(self, sums: Any) -> None:
        self._sums, self._rows, self._digest = sums, 0, 0

    def write_batch(self, items: list[int]) -> None:
        self._rows += len(items)
        self._digest += sum(items)

    def close(self) -> None:
        with self._sums.get_lock():
            self._sums[0] += self._rows
            self._sums[1] += self._digest


class _Sum(DynamicSink):
    def __init__(self, sums: Any) -> None:
        self._sums = sums

    def build(self, step_id: str, worker_index: int, worker_count: int) -> _SumPart:
        return _SumPart(self._sums)


def _flow(job: Job, sums: Any) -> Any:
    flow = Dataflow("peers")
    if job.asked.bands:
        _joins(flow, job, sums)
    else:
        _windows(flow, job, sums)
    return flow


def _windows(flow: Any, job: Job, sums: Any) -> None:
    asked = job.asked
    start, fold, merge, value = _fold(asked)
    rows = op.input("bids", flow, _Source(job.folder / "bids" / "parquet", asked.columns, _keyed(asked)))
    clock = win.EventClock(
        lambda row: row[0],
        timedelta(milliseconds=DISORDER),
        now_getter=lambda: _STILL,
        to_system_utc=lambda _: None,
    )
    for i, (length, slide) in enumerate(asked.windows):
        span, step = timedelta(milliseconds=length), timedelta(milliseconds=slide)
        windower = win.TumblingWindower(span, _ORIGIN) if length == slide else win.SlidingWindower(span, step, _ORIGIN)
        out = win.fold_window(f"window-{i}", rows, clock, windower, start, fold, merge, ordered=False)

        def digest(item: Any, length: int = length, slide: int = slide, weight: int = i + 1) -> int:
            key, (number, state) = item
            return weight * window_row(int(key), (number * slide + length) // 1000, value(state))

        op.output(f"out-{i}", op.map(f"digest-{i}", out.down, digest), _Sum(sums))


def _keyed(asked: Workload) -> Callable[..., Any]:
    """From columns to (key, (time, price, bidder)): keys of Bytewax are text."""
    at = asked.columns.index("ts")
    price = asked.columns.index("price")
    bidder = asked.columns.index("bidder") if "bidder" in asked.columns else price

    def item(*row: int) -> Any:
        key = str(row[0]) if asked.keyed else str(KEYLESS)
        return key, (datetime.fromtimestamp(row[at] / 1000, UTC), row[price], row[bidder])

    return item


def _fold(asked: Workload) -> tuple[Any, Any, Any, Any]:
    """How a window's state starts, takes a row, meets another and becomes a value."""
    if asked.aggregate == "max":
        return (lambda: 0), (lambda top, row: row[1] if row[1] > top else top), max, (lambda top: top)
    if asked.aggregate == "count and max":
        return (
            (lambda: (0, 0)),
            (lambda state, row: (state[0] + 1, max(state[1], row[1]))),
            (lambda one, other: (one[0] + other[0], max(one[1], other[1]))),
            (lambda state: count_and_max(*state)),
        )
    return list, _append, (lambda one, other: one + other), _median_and_distinct


def _append(rows: list[Any], row: Any) -> list[Any]:
    rows.append(row)
    return rows


def _median_and_distinct(rows: list[Any]) -> int:
    prices = sorted(price for _, price, _ in rows)
    twice = prices[(len(prices) - 1) // 2] + prices[len(prices) // 2]
    return median_and_distinct(twice, len({bidder for _, _, bidder in rows}))


class _Pairs(op.StatefulBatchLogic):
    """Both sides of one auction, in order of time; a row meets the other side's when it comes."""

    def __init__(self, band: int, weight: int) -> None:
        self._band, self._weight = band, weight
        self._sides: tuple[list[Any], list[Any]] = ([], [])

    def on_batch(self, values: list[Any]) -> tuple[list[int], bool]:
        out: list[int] = []
        for side, at, seq in values:
            others = self._sides[1 - side]
            near = others[bisect_left(others, (at - self._band, -1)) : bisect_right(others, (at + self._band, 1 << 60))]
            if side == 0:
                out += [self._weight * pair_row(seq, other) for _, other in near]
            else:
                out += [self._weight * pair_row(other, seq) for _, other in near]
            insort(self._sides[side], (at, seq))
        return out, False

    def snapshot(self) -> None:
        return None


def _joins(flow: Any, job: Job, sums: Any) -> None:
    sides = [
        op.input(name, flow, _Source(job.folder / name / "parquet", job.asked.columns, _sided(side)))
        for side, name in enumerate(job.asked.streams)
    ]
    both = op.merge("both", *sides)
    for i, band in enumerate(job.asked.bands):
        pairs = op.stateful_batch(f"pairs-{i}", both, lambda _, band=band, weight=i + 1: _Pairs(band, weight))
        op.output(f"out-{i}", op.map(f"digest-{i}", pairs, lambda item: item[1]), _Sum(sums))


def _sided(side: int) -> Callable[[int, int, int], Any]:
    return lambda auction, at, seq: (str(auction), (side, at, seq))


if __name__ == "__main__":
    serve(Bytewax)
