"""Aggregates as an algebra: what a call says, and what kind of function it names.

`lift` turns rows into partials, `combine` merges two partials (associative, commutative, with an identity),
`lower` turns a partial into the answer, and `uncombine`, where it exists, takes a part away again.
The columnar forms are in `kernels/aggregates`, one file each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any


class Size(Enum):
    """How large an exact partial can get."""

    BOUNDED = "bounded"
    """A fixed number of columns: count, sum, max, average, variance."""
    HOLISTIC = "holistic"
    """As large as its input: median, mode, distinct."""


class Difference(Enum):
    """Can a part be taken away from a whole?"""

    FULL = "full"
    """Yes, from a bounded partial: count, exact sums."""
    PSEUDO = "pseudo"
    """Yes, but the partial is not bounded: counts by value."""
    NONE = "none"
    """No: the maximum of the rest cannot be told from two maxima."""


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """One aggregate as the user wrote it: a function, its arguments as SQL text, an optional FILTER.

    >>> str(AggregateCall("sum", ("price",)).where("price > 0"))
    'sum(price) FILTER (WHERE price > 0)'
    """

    function: str
    arguments: tuple[str, ...] = ()
    filter: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def where(self, condition: str) -> AggregateCall:
        """The same aggregate over the rows that satisfy `condition`."""
        return replace(self, filter=condition if self.filter is None else f"({self.filter}) AND ({condition})")

    def __str__(self) -> str:
        """As SQL would write it."""
        shown = [*(self.arguments or (["*"] if self.function == "count" else [])), *map(str, self._plain())]
        text = f"{self.function}({', '.join(shown)})"
        return text if self.filter is None else f"{text} FILTER (WHERE {self.filter})"

    def _plain(self) -> list[Any]:
        return [value for value in self.options.values() if isinstance(value, int | float | str)]
