"""8.5: a count in sliding windows over two busy links and a quiet one that is late: in order and not.

Published: with order what is held grows as the rate times the delay of the quiet link; without order it stays.
"""

from __future__ import annotations

import pyarrow as pa

import millstream as ms
from lab.feeds import Late, inputs, packets
from lab.in_order import merged_windows
from lab.measure import Side, as_answers, millstream, must_equal
from lab.oracles import sliding_counts
from lab.outcome import Outcome, Panel, Verdict
from lab.scaling import some
from millstream.workload.links import Link

DELAYS = (0, 2, 5, 10)
RANGE, SLIDE = 300_000, 60_000


def without_order(links: list[Late]) -> Side:
    """Millstream: rows of all links go straight into their windows."""
    return millstream(
        inputs(m1=links[0], m2=links[1], c=links[2]),
        lambda a, b, c: a.union(b, c).window("ts", range=RANGE, slide=SLIDE).agg(n=ms.count()),
    )


def run(scale: float) -> Outcome:
    """Four delays of the quiet link."""
    rate, seconds = max(50, int(400 * scale)), 60 + int(340 * min(scale, 1))
    names = (("m1", rate), ("m2", rate), ("c", 0.5))
    tables = [packets(Link(name=name, rate=each), seconds, conversations=1000) for name, each in names]
    exact = sliding_counts(pa.concat_tables(tables), RANGE, SLIDE)
    shown: list[list[object]] = []
    lines: dict[str, list[tuple[float, float]]] = {"in order": [], "without order": [], "rate × delay": []}
    for delay in some(DELAYS, scale):
        links = [Late(tables[0]), Late(tables[1]), Late(tables[2], delay)]
        theirs, ours = merged_windows(links, size=RANGE, slide=SLIDE), without_order(links)
        for name, side in (("in order", theirs), ("without order", ours)):
            must_equal(name, exact, as_answers(side.answer, ["window_id", "n"]))
            lines[name].append((delay, side.peak.rows))
        lines["rate × delay"].append((delay, 2 * rate * delay))
        shown.append(
            [delay, theirs.peak.rows, ours.peak.rows, theirs.peak.nbytes, ours.peak.nbytes, theirs.process,
             ours.process, theirs.latency * 1000, ours.latency * 1000]
        )  # fmt: skip
    grown = lines["in order"][-1][1] - lines["in order"][0][1]
    expected = 2 * rate * DELAYS[-1]
    first, last = (lines["without order"][place][1] for place in (0, -1))
    near, stays = 0.8 < grown / expected < 1.3, last <= first + 8
    return Outcome(
        title=f"count over a union, 5 min / 1 min, 2 links of {rate}/s and one below 1/s that is late",
        columns=["delay s", "in order rows", "ours rows", "in order bytes", "ours bytes", "in order process",
                 "ours process", "in order latency ms", "ours latency ms"],
        rows=shown,
        panels=[Panel(title="peak state", x="delay of the quiet link, s", y="rows", lines=lines)],
        verdicts=[
            Verdict(
                claim="H10",
                published="with order, rate × delay is held",
                found=f"{grown:,.0f} rows more at {DELAYS[-1]} s; rate × delay is {expected:,}",
                agrees=near,
                why="" if near else "the stream is short against the delay.",
            ),
            Verdict(
                claim="H10",
                published="without order, what is held stays",
                found=f"{first:.0f} rows at 0 s, {last:.0f} at {DELAYS[-1]} s",
                agrees=stays,
                why="" if stays else "more panes are open while the quiet link is late.",
            ),
        ],
        notes=["latency is from the arrival of a second of rows with its punctuation, for both sides"],
    )  # fmt: skip
