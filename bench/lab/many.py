"""Many queries over the same streams: what they cost beside the costliest of them alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import millstream as ms

COUNTS = (1, 8, 64, 256, 1000)
Declare = Callable[[ms.Engine], Sequence[ms.Stream]]
Ask = Callable[[Sequence[ms.Stream], int], ms.Query]
"""The query of a number, over the streams of an engine."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of the processor, rows and bytes of state at the most, each store once."""

    seconds: float
    rows: int
    nbytes: int


def table(rows: int, *, keys: int = 100, second: bool = False) -> pa.Table:
    """A row a millisecond; text keys, a double and a small number."""
    rnd = np.random.default_rng(1 + second)
    names = ("ts2", "k2", "x2", "n2") if second else ("ts", "k", "x", "n")
    return pa.table(
        dict(
            zip(
                names,
                (
                    pa.array(np.arange(rows), pa.int64()),
                    pa.array([f"key-{one}" for one in rnd.integers(0, keys, rows).tolist()]),
                    pa.array(rnd.normal(size=rows)),
                    pa.array(rnd.integers(0, 100, rows)),
                ),
                strict=True,
            )
        )
    )


def cut(rows: pa.Table, epochs: int) -> list[pa.Table]:
    """In so many epochs."""
    step = -(-rows.num_rows // epochs)
    return [rows.slice(at, step) for at in range(0, rows.num_rows, step)]


def cost(declare: Declare, ask: Ask, numbers: Sequence[int], rounds: int = 2) -> Cost:
    """The least of some runs of these queries; their results are thrown away, so delivery is not measured."""
    best: Cost | None = None
    for _ in range(rounds):
        engine = ms.Engine(host="local")
        streams = declare(engine)
        for number in numbers:
            ask(streams, number).named(f"q{number}").discard()
        began = time.process_time()
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        seconds = time.process_time() - began
        operators = [vertex.operator for vertex in engine.host.graph.vertices.values()]
        rows, size = sum(one.meter.peak_rows for one in operators), sum(one.meter.peak_bytes for one in operators)
        if best is None or seconds < best.seconds:
            best = Cost(seconds, rows, size)
    assert best is not None
    return best
