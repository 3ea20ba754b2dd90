"""Top: the first n results of each window in a given order, once punctuation says that the window is complete."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM, END
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from millstream.kernels.group import encode
from millstream.kernels.ticks import to_ticks
from millstream.ops.operator import Operator
from millstream.state.store import Segment

_HELD = "held"


class Top(Operator):
    """Holds at most `limit` rows of each open window; nulls come last, and ties are settled by the other columns."""

    def __init__(self, window: tuple[str, ...], order: tuple[tuple[str, bool], ...], limit: int) -> None:
        """`window` are the columns that say which window a row is of, its end last; `order` is (column, descending)."""
        super().__init__()
        self.window = window
        self.order = order
        self.limit = limit

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        held = [segment.tables[_HELD] for segment in self.store.segments]
        both = pa.concat_tables([*held, rows])
        kept = self._first(both)
        self.meter.filtered += both.num_rows - kept.num_rows
        self._keep(kept)
        return []

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        bound = now.bound(self.window[-1])
        if bound <= before.bound(self.window[-1]) or not self.store.segments:
            return []
        held = self.store.segments[0].tables[_HELD]
        ticks = to_ticks(held[self.window[-1]])
        ready = np.ones(len(ticks), dtype=np.bool_) if bound == END else ticks < bound
        if not ready.any():
            return []
        self.meter.punctuations += 1
        self._keep(held.filter(pa.array(~ready)))
        return [held.filter(pa.array(ready))]

    def promises(self) -> Progress:
        """Only what the window's end says: other promises may speak of rows that are still held."""
        now = self.progress[0]
        if now.ended:
            return Progress(ended=True)
        out, bound = Progress(), now.bound(self.window[-1])
        if bound > BOTTOM:
            out.accept(Punctuation.linear(self.window[-1], bound))
        return out

    def _first(self, rows: pa.Table) -> pa.Table:
        """The rows that are among the first of their window, in order."""
        asked = {name for name, _ in self.order}
        keys = [(self.window[-1], "ascending")]
        keys += [(name, "ascending") for name in self.window[:-1]]
        keys += [(name, "descending" if down else "ascending") for name, down in self.order]
        keys += [
            (field.name, "ascending")
            for field in rows.schema
            if field.name not in asked and field.name not in self.window and not pa.types.is_nested(field.type)
        ]
        ordered = rows.take(pc.sort_indices(rows, sort_keys=keys))
        codes = encode([ordered[name] for name in self.window], ordered.num_rows).codes
        changed = np.flatnonzero(np.diff(codes)) + 1
        begins = np.zeros(len(codes), dtype=np.int64)
        begins[changed] = changed
        place = np.arange(len(codes)) - np.maximum.accumulate(begins)
        return ordered.filter(pa.array(place < self.limit))

    def _keep(self, rows: pa.Table) -> None:
        if not rows.num_rows:
            self.store.replace([])
            return
        ticks = to_ticks(rows[self.window[-1]])
        self.store.replace([Segment({_HELD: rows.combine_chunks()}, int(ticks.min()), int(ticks.max()))])
