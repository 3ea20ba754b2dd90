"""feedback.1: what the machinery costs where no feedback is sent.

Claimed: less than 4 %, and less than the spread of runs. Here less than 2 % is wanted, in processor time, by the
least of runs that take turns.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lab import roads
from lab.experiment_feedback_5 import maxima, united
from lab.outcome import Outcome, Panel, Verdict
from lab.roads import Ran, readings
from millstream.ops.operator import Operator

_TIMES = 2000


@contextmanager
def without_guards() -> Iterator[None]:
    """Operators as they would be if there were no feedback: nothing is tested."""
    take, leave = Operator.take, Operator._leave

    def plain_take(self: Operator, port: int, rows: Any) -> Any:
        self.meter.rows_in += rows.num_rows
        return self._leave(self._take(port, rows) if rows.num_rows else [])

    def plain_leave(self: Operator, tables: Any) -> Any:
        out = [table for table in tables if table.num_rows]
        meter = self.meter
        meter.rows_out += sum(table.num_rows for table in out)
        meter.peak_rows = max(meter.peak_rows, self.store.rows)
        meter.peak_bytes = max(meter.peak_bytes, self.store.nbytes)
        return out

    Operator.take, Operator._leave = plain_take, plain_leave  # type: ignore[method-assign]  # for a moment
    try:
        yield
    finally:
        Operator.take, Operator._leave = take, leave  # type: ignore[method-assign]  # as they were


def hearing(ask: Any, tables: Any) -> float:
    """Milliseconds of the processor that a host takes after an epoch to find that there is no feedback."""
    engine = roads.ready(ask, tables)
    began = time.process_time()
    for _ in range(_TIMES):
        engine.host._hear()
    return 1000 * (time.process_time() - began) / _TIMES


def run(scale: float) -> Outcome:
    """Ratios of medians, the two sides in turns."""
    tables = {"sensors": readings(max(2880, int(1440 * scale)))}
    rounds = 15 if scale < 0.1 else 31
    rows: list[list[Any]] = []
    for name, ask in (("Q1", united), ("Q2", maxima)):

        def plain(ask: Any = ask) -> Ran:
            with without_guards():
                return roads.run(ask, tables)

        def ready(ask: Any = ask) -> Ran:
            return roads.run(ask, tables)

        first, second, ratio = roads.cpu_ratio((plain, ready), rounds)
        epochs = -(-tables["sensors"].num_rows // roads.EACH)
        rows.append([name, first, second, ratio, round(100 * hearing(ask, tables) * epochs / second, 2)])
    most, asked = max(row[3] for row in rows), max(row[4] for row in rows)
    return Outcome(
        title="What the machinery of feedback costs where none is sent",
        columns=["question", "without ms", "with ms", "ratio", "asked at the end of epochs %"],
        rows=rows,
        verdicts=[
            Verdict(
                claim="H1",
                published="no feedback: at most 4 %, below the spread of runs; 2 % wanted",
                found=f"ratio {most} of processor time, {rounds} rounds in turns; asked at the end of epochs {asked} %",
                agrees=most <= 1.02,
                why="" if most <= 1.02 else "see the ratios of single questions",
            )
        ],
        panels=[
            Panel(
                title="Ratio of processor times", x="question", y="ratio",
                lines={"ratio": [(float(i), float(row[3])) for i, row in enumerate(rows)]},
            )
        ],
        notes=["The other side has operators that test nothing. Both run in one process, in turns, and change places."],
    )  # fmt: skip
