"""A turn: how much of what an operator holds back may leave at the end of an epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Let: TypeAlias = Literal["due", "share", "all"]
"""What may leave: what must; that and a share of the rest; everything, for the run is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The end of an epoch, for one of the places that an operator works in.

    Each place may let go the same number of rows. What cannot be shared out evenly goes to one place after another,
    from epoch to epoch, so that every place gets its turn.

    >>> [Turn(place=place, places=3).share(8) for place in range(3)]
    [3, 3, 2]
    >>> [Turn(place=place, places=3, number=1).share(8) for place in range(3)]
    [3, 2, 3]
    >>> Turn(let="due").share(8)
    0
    """

    let: Let = "share"
    place: int = 0
    places: int = 1
    number: int = 0
    """Of the epoch."""

    def share(self, rows: int) -> int:
        """How many of `rows` may leave here."""
        if self.let == "due":
            return 0
        more = (self.place + self.number) % self.places < rows % self.places
        return rows // self.places + more
