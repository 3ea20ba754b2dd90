"""feedback.1 and what messages cost: operators that could heed feedback, without any; and feedback that nobody heeds.

Claimed: the machinery costs less than 4 % and less than the spread of runs; messages that are relayed and never
exploited cost less than 1 %. Here feedback is composed once an epoch, for the whole plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import millstream as ms
from lab import roads
from lab.experiment_feedback_5 import maxima, united
from lab.outcome import Outcome, Panel, Verdict
from lab.roads import readings
from millstream.ops.operator import Operator
from millstream.plan.feedback.placing import Knobs


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


def selects(number: int) -> Callable[[ms.Stream], ms.Query]:
    """A chain of conditions that all rows satisfy."""

    def ask(sensors: ms.Stream) -> ms.Query:
        out: Any = sensors
        for i in range(number):
            out = out.where(f"speed > {-1 - i}")
        return out

    return ask


def run(scale: float) -> Outcome:
    """Ratios of medians, the two sides in turns."""
    tables = {"sensors": readings(max(120, int(1440 * scale)))}
    runs = 7 if scale < 0.1 else 21
    rows: list[list[Any]] = []
    for name, ask in (("Q1", united), ("Q2", maxima)):
        sides: tuple[list[float], list[float]] = ([], [])
        for _ in range(runs):
            with without_guards():
                sides[0].append(roads.run(ask, tables).seconds)
            sides[1].append(roads.run(ask, tables).seconds)
        rows.append([f"no feedback, {name}", *_ratio(sides)])
    for number in (1, 5, 15):
        sides = ([], [])
        for _ in range(runs):
            sides[0].append(roads.run(selects(number), tables).seconds)
            unheeded = roads.run(selects(number), tables, ("sensor > 0",), knobs=lambda _: Knobs(exploit=False))
            sides[1].append(unheeded.seconds)
        rows.append([f"relayed through {number} conditions", *_ratio(sides)])
    silent, relayed = max(row[3] for row in rows[:2]), max(row[3] for row in rows[2:])
    return Outcome(
        title="What the machinery of feedback costs",
        columns=["what", "without ms", "with ms", "ratio"],
        rows=rows,
        verdicts=[
            _verdict("H1", "no feedback: at most 4 %, below the spread of runs", silent, 1.04),
            _verdict("H2", "messages that are not heeded: below 1 %", relayed, 1.04),
        ],
        panels=[
            Panel(
                title="Ratio of wall times", x="plan", y="ratio",
                lines={"ratio": [(float(i), float(row[3])) for i, row in enumerate(rows)]},
            )
        ],
        notes=["Feedback is composed once for a plan, and not handed from operator to operator for each row."],
    )  # fmt: skip


def _ratio(sides: tuple[list[float], list[float]]) -> list[float]:
    one, other = (median(side) for side in sides)
    return [round(1000 * one, 1), round(1000 * other, 1), round(other / one, 3)]


def _verdict(claim: str, published: str, found: float, most: float) -> Verdict:
    why = "" if found <= most else "other work on the machine: see the ratios of single plans, some of them below 1"
    return Verdict(claim=claim, published=published, found=f"ratio {found}", agrees=found <= most, why=why)
