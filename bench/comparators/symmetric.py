"""The plain symmetric join: rows are joined as they come, and kept while a partner may come.

Behind ordered inputs it is the join of a plan that keeps order, as long as windows are tumbling: a pair then belongs to
the window that both inputs are in. `window_of` makes windows the time that is compared.
"""

from __future__ import annotations

import pyarrow as pa

from comparators.band_join import BandJoin
from comparators.comparator import values

WINDOW = "window"


class Symmetric(BandJoin):
    """Pairs leave as soon as both rows are there, in no order of their own."""

    def _take(self, port: int, rows: pa.Table) -> pa.Table:
        if not rows.num_rows:
            return self.nothing
        found = self.join(rows, self.kept[1]) if port == 0 else self.join(self.kept[0], rows)
        self.keep(port, rows)
        return found

    def _advance(self, port: int, bound: int) -> pa.Table:
        if self.advance_bound(port, bound):
            self.purge(1 - port, self.bounds[port] - self.reach[1 - port])
        return self.nothing


def window_of(rows: pa.Table, attribute: str, size: int) -> pa.Table:
    """The same rows with the number of the tumbling window they are in.

    >>> window_of(pa.table({"ts": [0, 9, 10]}), "ts", 10)["window"].to_pylist()
    [0, 0, 1]
    """
    return rows.append_column(WINDOW, pa.array(values(rows, attribute) // size, pa.int64()))
