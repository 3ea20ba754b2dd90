"""OPOB: a join whose output is ordered because its output waits.

Rows are joined as they come. Results are held, ordered by the left time, until the bounds of both inputs say that no
earlier one can follow. What is held is the inputs and the results, and the results of a wide band are many.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from comparators.band_join import BandJoin
from comparators.comparator import Held
from comparators.pairs import Band


class Opob(BandJoin):
    """Order-preserving by output buffering; pairs leave ordered by their left time."""

    def __init__(self, key: tuple[str, str], attribute: str, band: Band, schemas: tuple[pa.Schema, pa.Schema]) -> None:
        """Nothing kept, nothing waiting."""
        super().__init__(key, attribute, band, schemas)
        self._waiting = self.nothing

    def held(self) -> Held:
        """Rows of the inputs and results that wait."""
        return super().held() + Held.of(self._waiting)

    def _take(self, port: int, rows: pa.Table) -> pa.Table:
        found = self.join(rows, self.kept[1]) if port == 0 else self.join(self.kept[0], rows)
        self._waiting = pa.concat_tables([self._waiting, found])
        self.keep(port, rows)
        return self.nothing

    def _advance(self, port: int, bound: int) -> pa.Table:
        if not self.advance_bound(port, bound):
            return self.nothing
        self.purge(1 - port, self.bounds[port] - self.reach[1 - port])
        at = self._waiting[f"left_{self.attribute}"].to_numpy()
        ready = at < self.left_bound
        order = np.flatnonzero(ready)
        out = self._waiting.take(order[np.argsort(at[order], kind="stable")])
        self._waiting = self._waiting.filter(pa.array(~ready)).combine_chunks()
        return out
