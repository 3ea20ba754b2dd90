"""A reading that begins when rows are there already: it meets them once, and says nothing of what was before it.

The latest row of a result decides: a pair leaves if one of its rows has the coordinate from which the reading is
complete, or a later one; a row by itself, if it has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from millstream.core.promise.near import Reach
from millstream.kernels.pairs import pairs
from millstream.kernels.same import same
from millstream.ops.join.held import Held, of_side, opened
from millstream.ops.join.route_pairs import Router
from millstream.ops.join.shared_spec import JoinReader, SharedSpec
from millstream.state.store import Store

Marks = Callable[[int, Held, JoinReader], np.ndarray]


def meet_kept(store: Store, spec: SharedSpec, new: Sequence[JoinReader], router: Router, marks: Marks) -> None:
    """Pairs of rows that are all there go to new readings, and mark the rows for them, as if they came now."""
    reach = _widest(new)
    from_ = min(-(2**63) if one.since is None else one.since for one in new)
    rights = [(place, segment, opened(segment, 1, spec.layout)) for place, segment in of_side(store, 1)]
    for place, segment in list(of_side(store, 0)):
        mine = opened(segment, 0, spec.layout)

        for _, other, held in rights:
            if max(segment.high, other.high) < from_:
                continue
            if not reach.touches((segment.low, segment.high), (other.low, other.high)):
                continue

            def found(
                reading: JoinReader, own: np.ndarray, theirs: np.ndarray, mine: Held = mine, held: Held = held
            ) -> None:
                for side, rows, which in ((0, mine, own), (1, held, theirs)):
                    if reading.spec.preserved(side):
                        marks(side, rows, reading)[which] = True

            for own, theirs in pairs(mine.hashes, mine.run.at, held.run, reach):
                for left, right in spec.keys:
                    agree = same(mine.rows[left], own, held.rows[right], theirs)
                    if not agree.all():
                        own, theirs = own[agree], theirs[agree]
                if len(own):
                    router.share(0, mine, held, own, theirs, found)
        for reading in new:
            if reading.spec.how == "semi":
                met = marks(0, mine, reading) & reading.says_of(mine.run.at)
                for table in reading.leaving.matched(mine.rows, met):
                    router.send(reading, table)
        if mine.matched is not None:
            store.segments[place] = mine.segment(0, spec.layout)
    for place, _, held in rights:
        if held.matched is not None:
            store.segments[place] = held.segment(1, spec.layout)


def _widest(readings: Sequence[JoinReader]) -> Reach:
    reaches = [Reach(None, None) if one.spec.near is None else one.spec.near.reach for one in readings]
    lows, highs = [one.low for one in reaches], [one.high for one in reaches]
    return Reach(
        None if None in lows else min(one for one in lows if one is not None),
        None if None in highs else max(one for one in highs if one is not None),
    )
