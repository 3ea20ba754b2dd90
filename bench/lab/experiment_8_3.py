"""8.3: a tumbling join of two unions, one link of each lagging: in order and not.

Published: both hold the same number of rows, since what order keeps in its merges the other keeps in its join. The
overhead of the latter is negligible below 20 s and at most a fifth.
"""

from __future__ import annotations

import pyarrow as pa

from lab.feeds import Late, inputs
from lab.measure import Side, millstream, must_equal
from lab.merged_joins import merged_join
from lab.oracles import sql
from lab.outcome import Outcome, Panel, Verdict
from lab.pairs_of import counted, keyed_links

LAGS = (0, 10, 20, 50, 100)
WINDOW = 10_000


def without_order(links: list[Late]) -> Side:
    """Millstream: two unions that store nothing, and a join that takes rows as they come."""
    a, b, c, d = links
    return millstream(
        inputs(a=a, b=b, c=c, d=d), lambda a, b, c, d: a.union(b).join(c.union(d), on="key", window=WINDOW)
    )


def run(scale: float) -> Outcome:
    """Five lags of B behind A and of D behind C."""
    rate = max(20, int(80 * scale))
    lags = [lag for lag in LAGS if lag <= max(10, 100 * scale)]
    seconds = 30 + lags[-1]
    tables = keyed_links({"a": False, "b": False, "c": True, "d": True}, rate, seconds, conversations=rate * 20)
    exact = sql(
        f"""SELECT l.ts, r.ts, count(*) FROM l JOIN r ON l.key = r.key AND l.ts // {WINDOW} = r.ts // {WINDOW}
            GROUP BY ALL ORDER BY ALL""",
        l=pa.concat_tables(tables[:2]),
        r=pa.concat_tables(tables[2:]),
    )
    shown: list[list[object]] = []
    lines: dict[str, list[tuple[float, float]]] = {"in order": [], "without order": []}
    rows: list[float] = []
    nbytes: list[float] = []
    for lag in lags:
        links = [Late(table, lag if number % 2 else 0) for number, table in enumerate(tables)]
        theirs, ours = merged_join(links[:2], links[2:], window=WINDOW), without_order(links)
        for name, side in (("in order", theirs), ("without order", ours)):
            must_equal(name, exact, counted(side.answer))
            lines[name].append((lag, side.peak.rows))
        rows.append(ours.peak.rows / theirs.peak.rows)
        nbytes.append(ours.peak.nbytes / theirs.peak.nbytes)
        shown.append(
            [lag, theirs.peak.rows, ours.peak.rows, rows[-1], theirs.peak.nbytes, ours.peak.nbytes, nbytes[-1],
             theirs.process, ours.process]
        )  # fmt: skip
    return Outcome(
        title=f"tumbling join of two unions, 4 links of {rate}/s",
        columns=["lag s", "in order rows", "ours rows", "rows ÷", "in order bytes", "ours bytes", "bytes ÷",
                 "in order process", "ours process"],
        rows=shown,
        panels=[Panel(title="peak state", x="lag of B and D, s", y="rows", lines=lines)],
        verdicts=[
            Verdict(
                claim="H4",
                published="the same number of rows, at most 1.2 of them",
                found="rows ÷ in order: " + ", ".join(f"{one:.2f}" for one in rows),
                agrees=max(rows) <= 1.2,
                why="" if max(rows) <= 1.2 else "an epoch is a second of rows, kept until its punctuation is in.",
            ),
            Verdict(
                claim="H4",
                published="at most 1.2 of the memory",
                found="bytes ÷ in order: " + ", ".join(f"{one:.2f}" for one in nbytes),
                agrees=max(nbytes) <= 1.2,
                why="" if max(nbytes) <= 1.2 else "each row in the join is kept with the code of its key and its time, "
                "16 bytes more than the 24 of the row; rows that wait in a merge are kept as they came.",
            ),
        ],
    )  # fmt: skip
