"""overhead: what punctuation costs as it becomes more frequent, up to three for every ten rows.

Claimed: the loss of throughput is small up to 15 % punctuation, by Tucker's measurements, which took one row at a time.
Here punctuation is embedded: it comes as rows of the stream, so many for every hundred, and the query is a count in
tumbling windows by key. What is measured is the CPU time of the same rows with and without.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

import millstream as ms
from lab.measure import Input, Side, as_answers, best_seconds, millstream, must_equal
from lab.outcome import Outcome, Panel, Verdict
from lab.scaling import rounds

SHARES = (0, 1, 5, 10, 15, 30)  # punctuations for every hundred rows
RANGE, KEYS = 1_000, 100
SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("mark", pa.bool_())])


def marked(rows: int, share: int, epoch: int) -> list[pa.Table]:
    """An ordered stream with so many punctuations for every hundred rows, in epochs; each promises what is true.

    Every epoch ends with one, at any share: windows close at the same places.
    """
    rnd = np.random.default_rng(36)
    at = np.arange(rows)
    key = rnd.integers(0, KEYS, rows)
    out: list[pa.Table] = []
    for begin in range(0, rows, epoch):
        here, keys = at[begin : begin + epoch], key[begin : begin + epoch]
        places = np.unique(np.append(np.linspace(1, len(here), len(here) * share // 100, dtype=np.int64), len(here)))
        bounds = here[places - 1] + 1
        # A punctuation follows the row before whose place it stands.
        order = np.argsort(np.concatenate([np.arange(len(here)), places - 0.5]), kind="stable")
        none = pa.nulls(len(places), pa.int64())
        both = {
            "ts": pa.array(np.concatenate([here, bounds])),
            "k": pa.concat_arrays([pa.array(keys), none]),
            "mark": pa.array(np.concatenate([np.zeros(len(here), np.bool_), np.ones(len(places), np.bool_)])),
        }
        out.append(pa.table(both, schema=SCHEMA).take(pa.array(order)))
    return out


def run(scale: float) -> Outcome:
    """Six shares of punctuation, in turn, the least time of several runs."""
    rows = max(20_000, int(2_000_000 * scale))
    epoch = max(2_000, rows // 20)
    streams = {share: marked(rows, share, epoch) for share in SHARES}

    def counted(share: int) -> Side:
        promise = ms.embedded("mark", "ts")
        stream = Input(epochs=[(table, None) for table in streams[share]], attribute="ts", progress=promise)
        return millstream(
            {"s": stream}, lambda s: s.window("ts", range=RANGE).group_by("k").agg(n=ms.count(), strategy="wid")
        )

    runs = {str(share): lambda share=share: counted(share) for share in SHARES}
    sides = {int(share): one for share, one in best_seconds(runs, rounds(4, scale)).items()}
    key = np.concatenate([table["k"].drop_null().to_numpy() for table in streams[0]])
    exact = Counter(zip((np.arange(rows) // RANGE).tolist(), key.tolist(), strict=True))
    for share, (side, _) in sides.items():
        must_equal(f"{share} %", exact, as_answers(side.answer, ["window_id", "k", "n"]))
    best = {share: seconds for share, (_, seconds) in sides.items()}
    given = {share: sum(int(np.sum(t["mark"].to_numpy())) for t in tables) for share, tables in streams.items()}
    loss = {share: 100 * (1 - best[0] / best[share]) for share in SHARES}
    each = 1e6 * (best[15] - best[0]) / (given[15] - given[0])
    small = loss[15] < 15
    return Outcome(
        title=f"count by {KEYS} keys with more and more punctuation, {rows:,} rows",
        columns=["punctuation %", "punctuations", "CPU ms", "M rows/s", "throughput lost %"],
        rows=[[s, given[s], best[s] * 1000, rows / best[s] / 1e6, loss[s]] for s in SHARES],
        panels=[
            Panel(
                title="by punctuation", x="punctuations for every hundred rows", y="M rows/s",
                lines={"ours": [(float(share), rows / best[share] / 1e6) for share in SHARES]},
            )
        ],
        verdicts=[
            Verdict(
                claim="overhead",
                published="the loss of throughput is small up to 15 % punctuation",
                found=f"lost: {', '.join(f'{loss[share]:.0f} % at {share} %' for share in SHARES[1:])}",
                agrees=small,
                why="" if small else
                f"a punctuation costs {each:.1f} µs, and a row in columns {1e6 * best[0] / rows:.2f} µs: as much "
                "as its share of the rows that a batch has to carry.",
            ),
        ],
        notes=[
            "at 0 % there is one punctuation an epoch, without which no window would close",
            "a negative loss is none: the stream was made five times as long after two runs that differed by 25 %",
            "of an epoch's marks that rise the engine takes the last, which it did not in a first run, of 40,000 rows: "
            "76 % was lost at 15 %",
        ],
    )  # fmt: skip
