"""Grids: the panes that windows of different lengths, slides and starts are all whole runs of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from math import gcd

from millstream.core.window.landmark import Landmark
from millstream.core.window.sliding import Sliding


@dataclass(frozen=True, slots=True)
class Grid:
    """Panes of one length, one of them beginning at `base`.

    >>> Grid.of([Sliding(size=10, slide=4), Sliding(size=6, slide=3, start=1)])
    Grid(base=0, pane=1)
    """

    base: int
    pane: int

    @classmethod
    def of(cls, windows: Sequence[Sliding | Landmark]) -> Grid:
        """The longest panes that windows are whole runs of."""
        base = windows[0].base
        lengths = [one.slide for one in windows]
        lengths += [one.size for one in windows if isinstance(one, Sliding)]
        pane = reduce(gcd, [abs(one.base - base) for one in windows], reduce(gcd, lengths))
        return cls(base % pane, pane)

    def and_also(self, other: Grid) -> Grid:
        """The longest panes that those of both are whole runs of.

        >>> Grid(0, 6).and_also(Grid(1, 4))
        Grid(base=0, pane=1)
        """
        pane = gcd(self.pane, other.pane, abs(self.base - other.base))
        return Grid(self.base % pane, pane)

    def divides(self, other: Grid) -> bool:
        """Are the panes of the other grid whole runs of these?

        >>> Grid(0, 5).divides(Grid(5, 10)), Grid(0, 10).divides(Grid(0, 5))
        (True, False)
        """
        return self.and_also(other) == self
