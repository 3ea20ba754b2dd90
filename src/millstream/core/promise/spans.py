"""Spans: how far apart in time the rows of a combination of many streams may be, two by two.

Windows a stream, windows a pair, and one window for all are the same thing: limits on differences of times. A window
of stream i holds its row while the latest row of the combination is no more than W after it, so that no row of any
other stream is more than W after it. What follows from all limits together is worked out once: a row of A and a row
of C are tied by the limits of A and B, and of B and C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.core.domain import BOTTOM, END

Limits = Mapping[tuple[int, int], int]
"""By stream i and stream j: the most that the time of j may be after that of i; it may be negative."""


@dataclass(frozen=True, slots=True)
class Spans:
    """The attributes of the streams, and `most[i][j]`: how far the time of j may lie after that of i; None: no limit.

    >>> spans = Spans.closed(("a", "b", "c"), {(0, 1): 5, (1, 0): 0, (1, 2): 3, (2, 1): 3})
    >>> spans.most[0][2], spans.most[2][0]
    (8, 3)
    >>> spans.complete(0, [20, 20, 20]), spans.leaving(1, [20, 30, 20])
    (12, 17)
    """

    names: tuple[str, ...]
    most: tuple[tuple[int | None, ...], ...]

    @classmethod
    def closed(cls, names: Sequence[str], limits: Limits) -> Spans:
        """With the limits that follow from others."""
        streams = range(len(names))
        most: list[list[int | None]] = [[0 if i == j else limits.get((i, j)) for j in streams] for i in streams]
        for via in streams:
            for i in streams:
                for j in streams:
                    first, second, known = most[i][via], most[via][j], most[i][j]
                    if first is not None and second is not None and (known is None or first + second < known):
                        most[i][j] = first + second
        return cls(tuple(names), tuple(map(tuple, most)))

    @property
    def possible(self) -> bool:
        """Can any rows be that near?

        >>> Spans.closed(("a", "b"), {(0, 1): 3, (1, 0): -5}).possible
        False
        """
        return all(self.most[i][i] == 0 for i in range(len(self.names)))

    @property
    def farthest(self) -> int:
        """The longest limit."""
        return max((abs(one) for row in self.most for one in row if one is not None), default=0)

    def lasting(self, i: int) -> int | None:
        """How long a row of a stream waits for later ones at most; None: for ever."""
        row = [one for j, one in enumerate(self.most[i]) if j != i]
        known = [one for one in row if one is not None]
        return max(known, default=0) if len(known) == len(row) else None

    def complete(self, i: int, bounds: Sequence[int]) -> int:
        """No row that is still to come is beside a row of stream i below this, given the bounds of all streams."""
        return min((self.after(i, j, bounds[j]) for j in range(len(bounds)) if j != i), default=END)

    def after(self, i: int, j: int, bound: int) -> int:
        """No row of stream j that is still to come is beside a row of stream i below this, given the bound of j."""
        most = self.most[i][j]
        if bound in (BOTTOM, END):
            return bound
        return BOTTOM if most is None else bound - most

    def leaving(self, i: int, bounds: Sequence[int]) -> int:
        """The bound on the time of stream i in what leaves."""
        return min(bounds[i], self.complete(i, bounds))

    def joint(self, bounds: Sequence[int]) -> tuple[int, ...] | None:
        """Bounds such that nothing leaves that is below all of them; None if not known.

        Some row of what leaves is still to come, and it is not below its own stream's bound. A stream that is far ahead
        is held back to where it can meet the others, which loses no result.
        """
        if BOTTOM in bounds:
            return None
        return tuple(
            min(
                bounds[j],
                *(
                    bounds[i] + most
                    for i in range(len(bounds))
                    if i != j and (most := self.most[i][j]) is not None and bounds[i] != END
                ),
                END,
            )
            for j in range(len(bounds))
        )
