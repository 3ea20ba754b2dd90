"""What becomes of a row where it enters, by its tick on the progressing attribute: one definition for every host.

The definition is a list of cases. Kernels try them on columns, and Spark gets them as the cases of an expression.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from millstream.core.domain import BOTTOM, END


class Fate(IntEnum):
    """What becomes of a row."""

    GOOD = 0
    REJECTED = 1
    """It has no tick, or one that no bound can be beyond."""
    LATE = 2
    """An earlier punctuation ruled it out."""
    FILTERED = 3
    """A condition on the way does not hold."""
    FAR = 4
    """It is so near to an end of time that its windows do not fit; the operator with the windows rejects it."""
    GUARDED = 5
    """All who read the stream ignore it."""


@dataclass(frozen=True, slots=True)
class Case:
    """Rows whose tick is below a limit, or at it and beyond, share a fate."""

    below: bool
    limit: int | None
    """None is the bound that earlier epochs gave, which changes with every epoch."""
    fate: Fate


def cases(reach: int) -> tuple[Case, ...]:
    """The cases, where windows above have some reach. The first that fits decides; if none fits, the row is good."""
    return (
        Case(below=True, limit=BOTTOM + 1, fate=Fate.REJECTED),
        Case(below=False, limit=END, fate=Fate.REJECTED),
        Case(below=True, limit=None, fate=Fate.LATE),
        Case(below=True, limit=BOTTOM + reach, fate=Fate.FAR),
        Case(below=False, limit=END - reach + 1, fate=Fate.FAR),
    )


def fate(tick: int | None, bound: int, reach: int = 1) -> Fate:
    """What becomes of a row.

    >>> fate(4, bound=5).name, fate(5, bound=5).name, fate(None, bound=5).name, fate(END, bound=5).name
    ('LATE', 'GOOD', 'REJECTED', 'REJECTED')
    >>> fate(END - 3, bound=5, reach=10).name
    'FAR'
    """
    if tick is None:
        return Fate.REJECTED
    for case in cases(reach):
        limit = bound if case.limit is None else case.limit
        if (tick < limit) == case.below:
            return case.fate
    return Fate.GOOD
