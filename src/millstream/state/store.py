"""The store: everything one operator remembers, as immutable segments and a few facts.

Nothing else holds state. A segment is a set of named Arrow tables with the range of keys it covers; a fact
is a number or a list that fits JSON. A host can therefore save, move and reopen any operator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Segment:
    """Some tables of state, covering keys `low` to `high` inclusive."""

    tables: Mapping[str, pa.Table]
    low: int
    high: int
    rows: int = field(init=False)
    """Rows in all its tables."""
    nbytes: int = field(init=False)
    """Bytes in all its tables; counted once, as hosts ask for it many times in an epoch."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", sum(table.num_rows for table in self.tables.values()))
        object.__setattr__(self, "nbytes", sum(table.nbytes for table in self.tables.values()))


@dataclass(slots=True)
class Store:
    """The live segments of one operator, and its facts.

    >>> store = Store()
    >>> store.add(Segment({"rows": pa.table({"x": [1, 2]})}, 1, 2))
    >>> store.rows, len(store.segments)
    (2, 1)
    """

    segments: list[Segment] = field(default_factory=list[Segment])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])

    def add(self, segment: Segment) -> None:
        """Keep one more segment; an empty one is not worth keeping."""
        if segment.rows:
            self.segments.append(segment)

    def replace(self, segments: Sequence[Segment]) -> None:
        """Forget what is there and keep these."""
        self.segments = [segment for segment in segments if segment.rows]

    def drop_below(self, bound: int) -> None:
        """Forget the segments that lie wholly below `bound`."""
        self.segments = [segment for segment in self.segments if segment.high >= bound]

    @property
    def rows(self) -> int:
        """Rows held."""
        return sum(segment.rows for segment in self.segments)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return sum(segment.nbytes for segment in self.segments)
