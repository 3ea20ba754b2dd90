"""What the join comparators have in common: two inputs with a key and a time, what is kept of each, and the bounds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from comparators.comparator import END, Comparator, Held, values
from comparators.pairs import Band, paired, pairs

_PIECES = 16


class BandJoin(Comparator):
    """Pairs of rows with equal `key` whose `attribute`s are within a band. Port 0 is left, port 1 right."""

    def __init__(self, key: tuple[str, str], attribute: str, band: Band, schemas: tuple[pa.Schema, pa.Schema]) -> None:
        """`key` names a column of whole numbers on either side."""
        super().__init__()
        self.key, self.attribute, self.band = key, attribute, band
        self.kept = [schema.empty_table() for schema in schemas]
        self.bounds = [-END, -END]
        low, high = band.ends
        self.reach = (high, -low)
        """How far above a row of each side its last partner may lie."""
        self.nothing = self.join(*self.kept)

    def held(self) -> Held:
        """Rows of both inputs that are kept."""
        return Held.of(*self.kept)

    def times(self, rows: pa.Table) -> np.ndarray:
        """The times of rows of either side."""
        return values(rows, self.attribute)

    def keep(self, port: int, rows: pa.Table) -> None:
        """Keep those of these rows for which a partner may still come."""
        alive = self.times(rows) >= self.bounds[1 - port] - self.reach[port]
        self.store(port, rows.filter(pa.array(alive)))

    def store(self, port: int, rows: pa.Table) -> None:
        """Keep these rows; many small pieces are made one, since every later look at them would pay for each."""
        together = pa.concat_tables([self.kept[port], rows])
        many = together.num_columns and together.column(0).num_chunks > _PIECES
        self.kept[port] = together.combine_chunks() if many else together

    def purge(self, port: int, below: int) -> None:
        """Forget rows of one side below a time."""
        alive = self.times(self.kept[port]) >= below
        if not alive.all():
            self.kept[port] = self.kept[port].filter(pa.array(alive)).combine_chunks()

    def advance_bound(self, port: int, bound: int) -> bool:
        """Remember a promise; says whether it is news."""
        grown = bound > self.bounds[port]
        self.bounds[port] = max(self.bounds[port], bound)
        return grown

    @property
    def left_bound(self) -> int:
        """No later pair has a left time below it."""
        return min(self.bounds[0], self.bounds[1] - self.reach[0])

    def join(self, left: pa.Table, right: pa.Table) -> pa.Table:
        """All pairs of these rows."""
        sides = [(values(one, name), self.times(one)) for one, name in zip((left, right), self.key, strict=True)]
        return paired(left, right, pairs(sides[0], sides[1], self.band))
