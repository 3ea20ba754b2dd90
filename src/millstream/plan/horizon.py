"""The purge horizon: how far back an operator remembers, as a length of the attribute that progresses.

The bound of an ordered or boundedly disordered stream trails the greatest value by a known length; what an operator
keeps reaches back from that bound by its own range. So after each epoch its state is made of rows within the sum,
and a rate turns the length into a number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, TypeAlias

from millstream.core.domain import Domain


@dataclass(frozen=True, slots=True)
class Part:
    """One reason for a row to stay: a length of the attribute, a number of rows, or something that nobody can know.

    >>> str(Part("range", ticks=10, shown="10 s")), str(Part("disorder", rows=7)), str(Part("skew of the inputs"))
    ('range 10 s', 'disorder 7 rows', 'skew of the inputs')
    """

    label: str
    ticks: int | None = None
    shown: str = ""
    rows: int | None = None

    @classmethod
    def of(cls, label: str, ticks: int, domain: Domain | None) -> Part:
        """A length, shown in the attribute's own unit."""
        return cls(label, ticks, show_length(ticks, domain))

    @property
    def known(self) -> bool:
        """Is it a number?"""
        return self.ticks is not None or self.rows is not None

    def __str__(self) -> str:
        """In words."""
        if self.ticks is not None:
            return f"{self.label} {self.shown}"
        return self.label if self.rows is None else f"{self.label} {self.rows} rows"


Lag: TypeAlias = tuple[Part, ...]
"""How far punctuation trails the greatest value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Horizon:
    """How far back an operator remembers.

    >>> ten, five = Part("range", 10, "10 s"), Part("disorder", 5, "5 s")
    >>> seconds = Horizon(attribute="ts", parts=(ten, five), shown="15 s")
    >>> str(seconds), seconds.rows(2)
    ('15 s of ts: range 10 s + disorder 5 s', 32)
    >>> str(Horizon(attribute="ts", parts=(ten, Part("skew of the inputs"))))
    'range 10 s of ts + skew of the inputs'
    """

    parts: tuple[Part, ...]
    attribute: str | None = None
    shown: str = ""
    """The sum of the parts that are lengths."""
    entries: int = 1
    """How many entries of state a row can make at most."""

    @classmethod
    def over(cls, attribute: str | None, parts: Lag, domain: Domain | None, *, entries: int = 1) -> Horizon:
        """The sum of some parts, without those that are nothing."""
        # What is not known once is not known twice.
        unknown = dict.fromkeys(part for part in parts if not part.known)
        known = (part for part in parts if part.known and part.ticks != 0 and part.rows != 0)
        kept = (*known, *unknown)
        total = sum(part.ticks or 0 for part in kept)
        return cls(attribute=attribute, parts=kept, shown=show_length(total, domain), entries=entries)

    @property
    def ticks(self) -> int | None:
        """The length, if everything about it is known and nothing is counted in rows."""
        lengths = [part.ticks for part in self.parts]
        return None if None in lengths else sum(one for one in lengths if one is not None)

    def rows(self, rate: float | None = None) -> int | None:
        """The most entries of state after an epoch, at so many rows a tick; None if nobody can know.

        The rows of the newest tick are there whatever the length is, so one tick more is counted.
        """
        if not all(part.known for part in self.parts) or (self.attribute is not None and rate is None):
            return None
        length, counted = sum(part.ticks or 0 for part in self.parts), sum(part.rows or 0 for part in self.parts)
        timed = 0 if self.attribute is None else (rate or 0) * (length + 1)
        return ceil((timed + counted) * self.entries)

    def __str__(self) -> str:
        """The sum, and what it is made of."""
        if not self.parts:
            return f"the newest value of {self.attribute}"
        lengths = [part for part in self.parts if part.ticks is not None]
        if len(lengths) == len(self.parts):
            return f"{self.shown} of {self.attribute}: {' + '.join(map(str, self.parts))}"
        return " + ".join(self._named())

    def _named(self) -> list[str]:
        """The parts, the first length with the attribute it is a length of."""
        out = [str(part) for part in self.parts]
        first = next((i for i, part in enumerate(self.parts) if part.ticks is not None), None)
        if first is not None:
            out[first] = f"{out[first]} of {self.attribute}"
        return out

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "text": str(self),
            "attribute": self.attribute,
            "ticks": self.ticks,
            "rows": self.rows(),
            "parts": [{"label": one.label, "ticks": one.ticks, "rows": one.rows} for one in self.parts],
        }


def show_length(ticks: int, domain: Domain | None) -> str:
    """A length in the attribute's own unit."""
    return str(ticks) if domain is None else domain.show_span(ticks)
