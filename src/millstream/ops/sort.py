"""Sort: holds rows, and releases those below the punctuation in order, for consumers that need order."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import END
from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.core.promise.columns import of_attribute
from millstream.kernels.ticks import to_ticks
from millstream.ops.guard import wanted
from millstream.ops.operator import Operator
from millstream.state.store import Segment

_HELD = "held"


class Sort(Operator):
    """Rows leave ordered by one attribute, ties in order of arrival."""

    def __init__(self, attribute: str) -> None:
        """Order by `attribute`, as far as its punctuation reaches."""
        super().__init__()
        self.attribute = attribute

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        column = rows[self.attribute]
        if column.null_count:
            self.reject(rows.filter(pc.is_null(column)), f"{self.attribute} is null")
            rows = rows.filter(pc.is_valid(column))
        if rows.num_rows:
            ticks = to_ticks(rows[self.attribute])
            self.store.add(Segment({_HELD: rows}, int(ticks.min()), int(ticks.max())))
            self.meter.accepted += rows.num_rows
        return []

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Rows that it holds."""
        kept: list[Segment] = []
        for segment in self.store.segments:
            rows = segment.tables[_HELD]
            keep = wanted(ignored.get(0, ()), rows)
            left = rows if keep is None else rows.filter(pa.array(keep)).combine_chunks()
            self.meter.accepted -= rows.num_rows - left.num_rows
            self.meter.guarded += rows.num_rows - left.num_rows
            if left.num_rows:
                ticks = to_ticks(left[self.attribute])
                kept.append(segment if keep is None else Segment({_HELD: left}, int(ticks.min()), int(ticks.max())))
        self.store.replace(kept)

    def promises(self) -> Progress:
        """Its own attribute's bound and no more: rows that other promises speak of may still be held here."""
        return of_attribute(self.progress[0], self.attribute)

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        bound = now.bound(self.attribute)
        if bound <= before.bound(self.attribute) or not self.store.segments:
            return []
        if min(segment.low for segment in self.store.segments) >= bound:
            return []
        held = pa.concat_tables([segment.tables[_HELD] for segment in self.store.segments])
        ticks = to_ticks(held[self.attribute])
        ready = np.ones(len(ticks), dtype=np.bool_) if bound == END else ticks < bound
        order = np.flatnonzero(ready)
        order = order[np.argsort(ticks[order], kind="stable")]
        left = ticks[~ready]
        kept = held.filter(pa.array(~ready)).combine_chunks()
        self.store.replace([Segment({_HELD: kept}, int(left.min()), int(left.max()))] if len(left) else [])
        self.meter.punctuations += 1
        self.meter.accepted -= len(order)  # they go on
        return [held.take(pa.array(order))]
