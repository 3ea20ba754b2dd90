"""Buffering: rows are kept as they are, and aggregated when a window that holds them closes.

The state is the rows that an open window still reaches. It is small when windows hold few rows and
partials are large; every row is reduced once for each time its windows close.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.feedback import Records
from millstream.kernels.partials import KEY, Merged
from millstream.ops.guard import wanted
from millstream.ops.windowing.paned import Paned
from millstream.state.store import Segment


class Buffered(Paned):
    """Sliding windows over kept rows."""

    def _take_ticks(self, rows: pa.Table, ticks: np.ndarray) -> list[pa.Table]:
        panes = (ticks - self.base) // self.pane
        inside = self.inside(panes)
        self.meter.outside += int(len(inside) - inside.sum())
        kept = rows.select(self.spec.columns).append_column(KEY, pa.array(panes)).filter(pa.array(inside))
        self._hold([kept])
        self.meter.accepted += kept.num_rows
        return []

    def _hold(self, tables: list[pa.Table]) -> None:
        segments = list(self.store.segments)
        for table in tables:
            if table.num_rows:
                ends = pc.min_max(table[KEY])
                segments.append(Segment({"rows": table}, ends["min"].as_py(), ends["max"].as_py()))
        self.store.replace(segments)

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Rows, by the columns that are held of them."""
        names = set(self.spec.columns)
        records = tuple(one for one in ignored.get(0, ()) if one.attributes.keys() <= names)
        held = [segment.tables["rows"] for segment in self.store.segments]
        rows = pa.concat_tables(held) if held and records else None
        keep = None if rows is None else wanted(records, rows)
        if rows is not None and keep is not None:
            self.store.replace([])
            self._hold([rows.filter(pa.array(keep)).combine_chunks()])

    def _merged(self) -> Merged:
        # Rows are held by pane, so that lifting them when a window closes is what `Paned` does when they come.
        held = pa.concat_tables([segment.tables["rows"] for segment in self.store.segments])
        return self.partials.merge([self.partials.lift(held, held[KEY].to_numpy())])

    def _forget(self, merged: Merged, bound: np.ndarray) -> None:
        held = pa.concat_tables([segment.tables["rows"] for segment in self.store.segments])
        needed = self._needed(bound)
        live = held[KEY].to_numpy() >= needed[self.partials.group_of(merged, held)]
        self.store.replace([])
        self._hold([held.filter(pa.array(live)).combine_chunks()])
