"""OPIB: a join whose output is ordered because its input waits.

A left row is joined when its turn comes in order of time, and no partner of it can still come: all of its pairs
leave at once. What is held is the inputs alone, longer than a join that does not care for order would hold them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from comparators.band_join import BandJoin


class Opib(BandJoin):
    """Order-preserving by input buffering; pairs leave ordered by their left time."""

    def _take(self, port: int, rows: pa.Table) -> pa.Table:
        # A right row is kept while a left row that waits, or is still to come, may want it.
        self.store(port, rows)
        return self.nothing

    def _advance(self, port: int, bound: int) -> pa.Table:
        if not self.advance_bound(port, bound):
            return self.nothing
        at = self.times(self.kept[0])
        ready = at < self.left_bound
        order = np.flatnonzero(ready)
        turn = self.kept[0].take(order[np.argsort(at[order], kind="stable")])
        out = self.join(turn, self.kept[1])
        self.kept[0] = self.kept[0].filter(pa.array(~ready)).combine_chunks()
        # Every left row to be joined from now on lies at or above the bound.
        self.purge(1, self.left_bound - self.reach[1])
        return out
