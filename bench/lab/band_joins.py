"""Two links in step, joined where packets answer each other within n seconds: what 7.1 and 7.2 have in common.

The crossed addresses and ports of a packet are one column, `key`, on both sides; the question is the count of pairs in
each minute of the left time. A pair's wait is the stream time from the arrival of its later row to its leaving.
Latency is the clock's, from the arrival of what lets a window go to its count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean, median

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
CLOSING = 5_000
"""The length of the windows whose closing is timed: a minute's would close once in a stream as short as these."""


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

    def exact(self, within: int, size: int = MINUTE) -> dict[tuple[int, ...], int]:
        """How many pairs each window has, by its left time."""
        found = sql(
            f"""SELECT l.ts // {size}, count(*) FROM l JOIN r ON l.key = r.key
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

    def our_latency(self, within: int, *, apart: bool) -> float:
        """The median latency of Millstream over the windows that punctuation closes, in seconds.

        It is counted from punctuation that comes `apart`, after its rows, or from a second of rows with it.
        """
        streams = inputs(apart=apart, m1=Late(self.left), m2=Late(self.right))
        side = millstream(
            streams,
            lambda a, b: a.join(b, on="key", within=within).window("left_ts", range=CLOSING).agg(n=ms.count()),
        )
        must_equal("Millstream", self.exact(within, CLOSING), as_answers(side.answer, ["window_id", "n"]))
        fed = len(streams["m1"].epochs) * (2 if apart else 1)  # what leaves later leaves for the end of the stream
        took = zip(side.pieces, side.latencies, strict=True)
        return median(seconds for (epoch, _), seconds in took if epoch < fed)

    def their_latency(self, kind: type[BandJoin], within: int, *, apart: bool) -> float:
        """The same of an order-preserving join with its windows; the one that lets a window go is its last input."""
        join = self._join(kind, within)
        windows = InOrderWindows("left_ts", "left_len", size=CLOSING, slide=CLOSING)

        def steps() -> Iterator[pa.Table]:
            links = [Late(self.left), Late(self.right)]
            for now in seconds_of(links):
                came = [link.second(now) for link in links]
                out = [windows.take(0, join.take(port, rows)) for port, (rows, _) in enumerate(came)]
                if apart:
                    yield _together(out)
                    out = []
                out += [windows.take(0, join.advance(port, bound or 0)) for port, (_, bound) in enumerate(came)]
                yield _together(out)
            last = [windows.take(0, join.advance(port, END)) for port in (0, 1)]
            yield _together([*last, windows.advance(0, END)])

        side = comparator(steps, join.held)
        must_equal(kind.__name__, self.exact(within, CLOSING), as_answers(side.answer, ["window_id", "n"]))
        return median(side.latencies[:-1])  # the last is for the end of the stream

    def _join(self, kind: type[BandJoin], within: int) -> BandJoin:
        return kind(("key", "key"), "ts", Band(lo=within, hi=within), (self.left.schema, self.right.schema))

    def theirs(self, kind: type[BandJoin], within: int) -> Joined:
        """An order-preserving join, and windows that take its output for ordered."""
        join = self._join(kind, within)
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
                yield _together(out)
            last = [windows.take(0, join.advance(port, END)) for port in (0, 1)]
            yield _together([*last, windows.advance(0, END)])

        side = comparator(steps, lambda: Held(max(most.rows, join.peak.rows), max(most.nbytes, join.peak.nbytes)))
        must_equal(kind.__name__, self.exact(within), as_answers(side.answer, ["window_id", "n"]))
        return Joined(side, fmean(waits))


def _together(tables: list[pa.Table]) -> pa.Table:
    """What has rows of these, or the first if nothing has."""
    return pa.concat_tables([one for one in tables if one.num_rows] or tables[:1])


def _wait(pairs: pa.Table, now: int) -> float:
    """The seconds that pairs waited which leave in second `now`, on average: from the second of their later row on."""
    later = np.maximum(pairs["left_ts"].to_numpy(), pairs["right_ts"].to_numpy())
    return float((now - later // UNIT).mean())
