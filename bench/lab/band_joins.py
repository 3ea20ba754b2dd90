"""Two links in step, joined where packets answer each other within n seconds: what 7.1 and 7.2 have in common.

The crossed addresses and ports of a packet are one column, `key`, on both sides; the question is the count of pairs in
each minute of the left time. A pair's wait is the stream time from the arrival of its later row to its leaving.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import pyarrow as pa

import millstream as ms
from comparators.band_join import BandJoin
from comparators.comparator import END, Held
from comparators.inorder import InOrderWindows
from comparators.pairs import Band
from lab.feeds import UNIT, Late, inputs, seconds_of
from lab.measure import Side, as_answers, comparator, millstream, must_equal
from lab.oracles import sql
from lab.pairs_of import keyed_links

MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Joined:
    """One side at one n."""

    side: Side
    wait: float
    """Seconds that a pair waits, on average."""


@dataclass(frozen=True, slots=True)
class Links:
    """The two links, and the pairs to be found."""

    left: pa.Table
    right: pa.Table

    @staticmethod
    def make(rate: int, seconds: int, conversations: int) -> Links:
        """Both links at one rate, in order and in step."""
        return Links(*keyed_links({"m1": False, "m2": True}, rate, seconds, conversations=conversations))

    def exact(self, within: int) -> dict[tuple[int, ...], int]:
        """How many pairs each minute has."""
        found = sql(
            f"""SELECT l.ts // {MINUTE}, count(*) FROM l JOIN r ON l.key = r.key
                AND r.ts BETWEEN l.ts - {within} AND l.ts + {within} GROUP BY ALL""",
            l=self.left,
            r=self.right,
        )
        return {row[:-1]: row[-1] for row in found}

    def ours(self, within: int) -> Joined:
        """Millstream: pairs leave as they are found, and the window above counts them as they come."""
        streams = inputs(m1=Late(self.left), m2=Late(self.right))
        side = millstream(
            streams,
            lambda a, b: a.join(b, on="key", within=within).window("left_ts", range=MINUTE).agg(n=ms.count()),
        )
        exact = self.exact(within)
        must_equal("Millstream", exact, as_answers(side.answer, ["window_id", "n"]))
        pairs = millstream(streams, lambda a, b: a.join(b, on="key", within=within))
        must_equal("Millstream's pairs", sum(exact.values()), pairs.answer.num_rows)
        # An epoch is a second.
        return Joined(side, fmean(_wait(rows, epoch) for epoch, rows in pairs.pieces))

    def theirs(self, kind: type[BandJoin], within: int) -> Joined:
        """An order-preserving join, and windows that take its output for ordered."""
        band = Band(lo=within, hi=within)
        join = kind(("key", "key"), "ts", band, (self.left.schema, self.right.schema))
        windows = InOrderWindows("left_ts", "left_len", size=MINUTE, slide=MINUTE)
        most = Held()
        waits: list[float] = []

        def counted(pairs: pa.Table, now: int) -> pa.Table:
            if pairs.num_rows:
                waits.append(_wait(pairs, now))
            return windows.take(0, pairs)

        def steps() -> Iterator[pa.Table]:
            nonlocal most
            links = [Late(self.left), Late(self.right)]
            for now in seconds_of(links):
                came = [link.second(now) for link in links]
                out = [counted(join.take(port, rows), now) for port, (rows, _) in enumerate(came)]
                for port, (_, bound) in enumerate(came):
                    assert bound is not None
                    out.append(counted(join.advance(port, bound), now))
                    held = join.held() + windows.held()
                    most = Held(max(most.rows, held.rows), max(most.nbytes, held.nbytes))
                yield pa.concat_tables([one for one in out if one.num_rows] or out[:1])
            last = [windows.take(0, join.advance(port, END)) for port in (0, 1)]
            yield pa.concat_tables([*(one for one in last if one.num_rows), windows.advance(0, END)])

        side = comparator(steps, lambda: Held(max(most.rows, join.peak.rows), max(most.nbytes, join.peak.nbytes)))
        must_equal(kind.__name__, self.exact(within), as_answers(side.answer, ["window_id", "n"]))
        return Joined(side, fmean(waits))


def _wait(pairs: pa.Table, now: int) -> float:
    """The seconds that pairs waited which leave in second `now`, on average: from the second of their later row on."""
    later = np.maximum(pairs["left_ts"].to_numpy(), pairs["right_ts"].to_numpy())
    return float((now - later // UNIT).mean())
