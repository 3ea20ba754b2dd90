"""Many band joins of two streams: 1, 8, 64, 256, 1000 of them beside the widest alone; delivery of results apart.

Wanted: 64 joins of 1 to 64 seconds at most twice the time and the rows of the widest alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import millstream as ms
from lab.many import COUNTS, cost, cut, table
from lab.outcome import Outcome, Panel, Verdict

WIDEST = 64


def asked(streams: Sequence[ms.Stream], number: int) -> ms.Query:
    """The widest first; then bands of 1 to 64 seconds, and shorter steps where there are more queries."""
    width = 1000 * WIDEST if number == 0 else max(1, 1000 * WIDEST * (number % 997) // 1000)
    a, b = streams
    return a.join(b, on=[("k", "k2")], within=(-width, 0))


def run(scale: float) -> Outcome:
    """All counts up to a thousand times the scale, and at least eight."""
    rows = max(4_000, int(100_000 * scale))
    left, right = table(rows, keys=2000), table(rows, keys=2000, second=True)
    counts = [one for one in COUNTS if one <= max(8, 1000 * scale)]

    def declare(engine: ms.Engine) -> list[ms.Stream]:
        return [
            engine.stream("a", cut(left, 8), schema=left.schema, progress=ms.ordered("ts")),
            engine.stream("b", cut(right, 8), schema=right.schema, progress=ms.ordered("ts2")),
        ]

    found = {number: cost(declare, asked, range(number)) for number in counts}
    alone = found[1]
    time = {number: one.seconds / alone.seconds for number, one in found.items()}
    kept = {number: one.rows / alone.rows for number, one in found.items()}
    return Outcome(
        title=f"band joins of two streams of {rows} rows in 8 epochs",
        columns=["joins", "seconds", "÷ widest alone", "most rows", "÷ widest alone ", "most bytes"],
        rows=[[n, one.seconds, time[n], one.rows, kept[n], one.nbytes] for n, one in found.items()],
        panels=[Panel(title="time", x="joins", y="÷ widest alone", lines={"ours": list(time.items())}, log_x=True)],
        verdicts=[
            Verdict(
                claim="queries",
                published=f"{number} joins take at most {most} times the widest alone",
                found=f"{time[number]:.1f} times the time, {kept[number]:.2f} times the rows",
                agrees=time[number] <= most and kept[number] <= 1.1,
                why="" if time[number] <= most else "what leaves for each join is made, though nobody keeps it.",
            )
            for number, most in ((8, 2), (64, 2))
            if number in time
        ],
        notes=["results are made and thrown away"],
    )
