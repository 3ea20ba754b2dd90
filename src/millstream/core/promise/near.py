"""Nearness: which rows of the two sides may be partners in time, and what that makes of bounds.

A row has a *coordinate*: its tick in a band join, the number of its window in a tumbling join. Partners of a left row
of coordinate c have a coordinate in `[c + low, c + high]`, both ends included; in a tumbling join both are zero. With
that one rule the two joins are the same algorithm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.core.domain import BOTTOM, END


@dataclass(frozen=True, slots=True)
class Reach:
    """Partners of coordinate c lie in `[c + low, c + high]`; None is no bound at that end."""

    low: int | None
    high: int | None

    @property
    def reversed(self) -> Reach:
        """The same seen from the other side.

        >>> Reach(-3, None).reversed
        Reach(low=None, high=3)
        """
        return Reach(None if self.high is None else -self.high, None if self.low is None else -self.low)

    def touches(self, mine: tuple[int, int], theirs: tuple[int, int]) -> bool:
        """Whether any coordinate between two ends may have a partner between two others.

        >>> Reach(-3, 0).touches((10, 20), (3, 6)), Reach(-3, 0).touches((10, 20), (3, 7))
        (False, True)
        """
        first = theirs[0] if self.low is None else mine[0] + self.low
        last = theirs[1] if self.high is None else mine[1] + self.high
        return first <= theirs[1] and last >= theirs[0]


@dataclass(frozen=True, slots=True)
class Near:
    """The attributes, left and right, and how far apart they may be.

    >>> band, tumbling = Near(("a", "b"), Reach(-2, 2)), Near(("a", "b"), Reach(0, 0), size=10)
    >>> band.complete(0, 9), tumbling.complete(0, 29)
    (7, 2)
    >>> band.leaving(0, own=8, other=9), tumbling.leaving(0, own=28, other=29)
    (7, 20)
    """

    names: tuple[str, str]
    reach: Reach
    size: int | None = None

    def coordinates(self, ticks: Any) -> Any:
        """The coordinates of rows: of one tick, or of an array of them."""
        return ticks if self.size is None else ticks // self.size

    def reach_of(self, side: int) -> Reach:
        """Where the partners of a side's rows lie."""
        return self.reach.reversed if side else self.reach

    @property
    def farthest(self) -> int:
        """How far a coordinate can lie from a partner's, in ticks, and a window more."""
        ends = [abs(end) for end in (self.reach.low, self.reach.high) if end is not None]
        return max(ends, default=0) + (self.size or 0)

    def complete(self, side: int, other: int) -> int:
        """All partners have come of a side's rows below this coordinate, given the bound on the other side's ticks."""
        last = self.reach_of(side).high
        if other in (BOTTOM, END) or last is None:
            return other if last is not None or other == END else BOTTOM
        return (other if self.size is None else other // self.size) - last

    def leaving(self, side: int, *, own: int, other: int) -> int:
        """The bound on a side's ticks in what leaves, given the bounds on both sides' ticks."""
        done = self.complete(side, other)
        if done not in (BOTTOM, END) and self.size is not None:
            done *= self.size
        return min(own, done)

    def joint(self, left: int, right: int) -> tuple[int, int] | None:
        """Bounds such that nothing leaves that is below both, although below each something may; None if not known.

        A side that is far ahead is held back to where it can meet the other, which loses no result.
        """
        if left == BOTTOM or right == BOTTOM:
            return None
        return min(left, self._meets(1, right)), min(right, self._meets(0, left))

    def _meets(self, side: int, bound: int) -> int:
        """No partner of a side's rows below `bound` lies at or above this tick."""
        last = self.reach_of(side).high
        if bound == END or last is None:
            return END
        return bound + last if self.size is None else (bound // self.size + 1) * self.size
