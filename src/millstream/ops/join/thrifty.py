"""What an inner join ignores of one side, because the other has nothing there and will have nothing any more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from millstream.core.domain import BOTTOM, END
from millstream.core.feedback import Records
from millstream.core.pattern import Between, Pattern, UpTo
from millstream.core.promise.near import Near

_MOST = 32
"""Gaps that are told, the longest first."""


def gaps(near: Near, side: int, bounds: Sequence[int], held: Iterable[np.ndarray]) -> Records:
    """What rows of a side find no partner, where partners have the same coordinate.

    `bounds` are those on the ticks of both sides, and `held` the coordinates of the other side's rows that are kept.

    >>> from millstream.core.promise.near import Reach
    >>> [str(one) for one in gaps(Near(("a", "b"), Reach(0, 0), 10), 0, (20, 60), [np.array([3])])]
    ['a in [20, 30)', 'a in [40, 60)']
    """
    own, other = bounds[side], bounds[1 - side]
    if other in (BOTTOM, END):
        return ()
    first, beyond = (None if own in (BOTTOM, END) else int(near.coordinates(own))), int(near.coordinates(other))
    found = np.unique(np.concatenate([np.empty(0, dtype=np.int64), *held]))
    taken = [int(one) for one in found if (first is None or one >= first) and one < beyond]
    starts = [first, *(one + 1 for one in taken)]
    free = [(low, high) for low, high in zip(starts, [*taken, beyond], strict=True) if low is None or low < high]
    free.sort(key=lambda gap: -END if gap[0] is None else gap[0] - gap[1])
    unit = near.size or 1
    name = near.names[side]
    ranges = ((None if low is None else low * unit, high * unit) for low, high in free[:_MOST])
    found_gaps = [Pattern({name: UpTo(high) if low is None else Between(low, high)}) for low, high in ranges]
    return tuple(sorted(found_gaps, key=str))
