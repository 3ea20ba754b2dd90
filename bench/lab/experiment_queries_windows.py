"""Many window queries over one stream: 1, 8, 64, 256, 1000 of them beside the costliest alone.

Wanted: 64 queries at most twice the time of the costliest alone, 1000 at most five times.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import millstream as ms
from lab.many import COUNTS, cost, cut, table
from lab.outcome import Outcome, Panel, Verdict

CALLS: tuple[dict[str, Any], ...] = (
    {"total": ms.sum("x")},
    {"mean": ms.avg("x")},
    {"n": ms.count()},
    {"low": ms.min("n"), "high": ms.max("n")},
    {"spread": ms.stddev("x")},
)
SLIDES = (1, 2, 5, 10)


def asked(streams: Sequence[ms.Stream], number: int) -> ms.Query:
    """Ranges of 1 to 64 seconds, four slides, five aggregates; one query in three has a condition."""
    (stream,) = streams
    if number % 3 == 2:
        stream = stream.where(f"n < {20 * (1 + number % 4)}")
    slide = SLIDES[number % len(SLIDES)]
    size = max(slide, 1 + number % 64)
    calls = CALLS[number % len(CALLS)]
    return stream.window("ts", range=1000 * size, slide=1000 * slide).group_by("k").agg(**calls)


def run(scale: float) -> Outcome:
    """All counts up to a thousand times the scale, and at least eight."""
    rows = table(max(20_000, int(1_000_000 * scale)))
    counts = [one for one in COUNTS if one <= max(8, 1000 * scale)]

    def declare(engine: ms.Engine) -> list[ms.Stream]:
        return [engine.stream("s", cut(rows, 4), schema=rows.schema, progress=ms.ordered("ts"))]

    alone = max((cost(declare, asked, [number]) for number in (0, 4, 60, 63)), key=lambda one: one.seconds)
    found = {number: cost(declare, asked, range(number)) for number in counts}
    ratio = {number: one.seconds / alone.seconds for number, one in found.items()}
    verdicts = [
        Verdict(
            claim="queries",
            published=f"{number} window queries take at most {most} times the costliest alone",
            found=f"{ratio[number]:.1f} times the time, {found[number].nbytes / alone.nbytes:.1f} times the bytes",
            agrees=ratio[number] <= most,
            why="" if ratio[number] <= most else "planning, reports and results of each query are not shared.",
        )
        for number, most in ((8, 2), (64, 2), (1000, 5))
        if number in ratio
    ]
    return Outcome(
        title=f"window queries over {rows.num_rows} rows in 4 epochs",
        columns=["queries", "seconds", "÷ costliest alone", "most rows", "most bytes"],
        rows=[[n, one.seconds, ratio[n], one.rows, one.nbytes] for n, one in found.items()],
        panels=[
            Panel(title="time", x="queries", y="÷ costliest alone", lines={"ours": list(ratio.items())}, log_x=True)
        ],
        verdicts=verdicts,
        notes=[f"the costliest alone takes {alone.seconds:.2f} s of the processor"],
    )
