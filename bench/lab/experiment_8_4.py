"""8.4: packets of one busy link that are answered in the same second on another or on a quiet one that is late.

Published: what is held grows more slowly without order. The count of rows predicts half: the busy link in the union
waits in the merge if order is kept, and is joined and gone if it is not. With windows of a minute it predicts no gain.
The two texts of this experiment differ, one second against one minute: both are run.
"""

from __future__ import annotations

import pyarrow as pa

from lab.feeds import Late, inputs
from lab.measure import Side, millstream, must_equal
from lab.merged_joins import merged_join
from lab.oracles import sql
from lab.outcome import Outcome, Panel, Verdict
from lab.pairs_of import counted, keyed_links
from lab.scaling import some

DELAYS = (0, 2, 5, 10)
WINDOWS = (1_000, 60_000)
QUIET = 0.5  # packets a second


def without_order(links: list[Late], window: int) -> Side:
    """Millstream: the union stores nothing, and the join forgets each side by the other's progress."""
    return millstream(
        inputs(m1=links[0], m2=links[1], c=links[2]),
        lambda m1, m2, c: m1.join(m2.union(c), on="key", window=window),
    )


def run(scale: float) -> Outcome:
    """Four delays of the quiet link, two windows."""
    rate, seconds = max(30, int(150 * scale)), 30 + int(100 * min(scale, 1))
    busy = keyed_links({"m1": False, "m2": True}, rate, seconds, conversations=rate * 10)
    quiet = keyed_links({"c": True}, QUIET, seconds, conversations=rate * 10)
    shown: list[list[object]] = []
    lines: dict[str, list[tuple[float, float]]] = {}
    ratios: dict[int, list[float]] = {}
    grown: dict[int, float] = {}
    for window in WINDOWS:
        exact = sql(
            f"""SELECT l.ts, r.ts, count(*) FROM l JOIN r ON l.key = r.key AND l.ts // {window} = r.ts // {window}
                GROUP BY ALL ORDER BY ALL""",
            l=busy[0],
            r=pa.concat_tables([busy[1], *quiet]),
        )
        peaks: dict[str, list[int]] = {"in order": [], "without order": []}
        for delay in some(DELAYS, scale):
            links = [Late(busy[0]), Late(busy[1]), Late(quiet[0], delay)]
            theirs, ours = merged_join(links[:1], links[1:], window=window), without_order(links, window)
            for name, side in (("in order", theirs), ("without order", ours)):
                must_equal(name, exact, counted(side.answer))
                peaks[name].append(side.peak.rows)
                lines.setdefault(f"{name}, {window // 1000} s", []).append((delay, side.peak.rows))
            ratios.setdefault(window, []).append(ours.peak.rows / theirs.peak.rows)
            shown.append(
                [f"{window // 1000} s, delay {delay} s", theirs.peak.rows, ours.peak.rows, ratios[window][-1],
                 theirs.peak.nbytes, ours.peak.nbytes, theirs.process, ours.process]
            )  # fmt: skip
        rise = {name: of[-1] - of[0] for name, of in peaks.items()}
        grown[window] = rise["without order"] / max(1, rise["in order"])
    half, same = grown[1_000], ratios[60_000][-1]
    return Outcome(
        title=f"join of a link with a union, 2 links of {rate}/s and one below 1/s that is late",
        columns=["window and delay", "in order rows", "ours rows", "rows ÷", "in order bytes", "ours bytes",
                 "in order process", "ours process"],
        rows=shown,
        panels=[Panel(title="peak state", x="delay of the quiet link, s", y="rows", lines=lines)],
        verdicts=[
            Verdict(
                claim="8.4",
                published="half of what order holds, by windows of a second",
                found=f"{ratios[1_000][-1]:.2f} of the rows at {DELAYS[-1]} s, {half:.2f} of what the delay adds",
                agrees=0.4 <= half <= 0.6,
                why="" if 0.4 <= half <= 0.6 else "an epoch is a second of rows, which both hold besides.",
            ),
            Verdict(
                claim="8.4",
                published="no gain by windows of a minute",
                found=f"{same:.2f} of the rows at {DELAYS[-1]} s",
                agrees=0.85 <= same <= 1.15,
                why="" if 0.85 <= same <= 1.15 else "peaks fall on different instants of the minute.",
            ),
        ],
    )  # fmt: skip
