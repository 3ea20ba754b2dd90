"""feedback.2: what messages cost. A reader speaks after every epoch, and conditions relay what nobody heeds.

Claimed: less than 1 % at one message for each row and operator. Here feedback is composed on the driver, once for each
epoch in which it has changed, whatever the number of rows. So what a message costs is a time, and its share is that of
an epoch: less than 1 % of one of a second is wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import millstream as ms
from lab import roads
from lab.outcome import Outcome, Panel, Verdict
from lab.roads import Ran, readings
from millstream.plan.feedback.placing import Knobs

EACH = 54_000
"""Rows of an epoch: so many go by between two messages."""


def selects(number: int) -> Callable[[ms.Stream], ms.Query]:
    """A chain of conditions that all rows satisfy."""

    def ask(sensors: ms.Stream) -> ms.Query:
        out: Any = sensors
        for i in range(number):
            out = out.where(f"speed + {i} > {-1 - i}")
        return out

    return ask


def speaking(query: ms.Query) -> Callable[[dict[str, Any]], None]:
    """Says something else after each epoch."""
    return lambda report: query.feedback(ms.assumed(f"ts < {report['epoch'] + 1}")) and None


def run(scale: float) -> Outcome:
    """Chains of 1, 5, 10 and 15 conditions, with a reader that speaks and with one that does not."""
    tables = {"sensors": readings(max(2880, int(1440 * scale)))}
    rounds = 15 if scale < 0.1 else 31
    messages = tables["sensors"].num_rows // EACH
    rows: list[list[Any]] = []
    for number in (1, 5, 10, 15):

        def one(speaks: bool, number: int = number) -> Ran:  # noqa: FBT001 - which side it is
            heard = speaking if speaks else None
            return roads.run(selects(number), tables, knobs=lambda _: Knobs(exploit=False), each=EACH, on_epoch=heard)

        silent, spoken, _ = roads.cpu_ratio((lambda: one(False), lambda: one(True)), rounds)  # noqa: FBT003
        rows.append([number, silent, spoken, round((spoken - silent) / messages, 2)])
    most = max(row[3] for row in rows)
    return Outcome(
        title="What relayed messages cost that nobody heeds",
        columns=["conditions", "silent ms", "speaking ms", "ms a message"],
        rows=rows,
        verdicts=[
            Verdict(
                claim="H2",
                published="messages that are not heeded: below 1 %",
                found=f"at most {most} ms of processor time a message, {rounds} rounds in turns, the least of each",
                agrees=most <= 10,
                why="" if most <= 10 else "see the times of single chains",
            )
        ],
        panels=[
            Panel(
                title="Processor time of a message", x="conditions", y="ms",
                lines={"message": [(float(row[0]), float(row[3])) for row in rows]},
            )
        ],
        notes=["A message an epoch and not one a row: no operator hands messages on while rows come."],
    )  # fmt: skip
