"""Panes with the differential combine: a window is the one before it, less expired panes, plus new ones.

Where an aggregate can be uncombined exactly, each pane is added once and taken away once, so a window
costs two partials per group and pane of slide, however long it is. The total carried into the next window is
part of the state, unless it is of so few panes that it is soon made again. Aggregates without an inverse in the same
query are combined from panes, as in `paned`.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.core.aggregate import Difference
from millstream.core.window import Sliding
from millstream.kernels.aggregates.base import Work, plain, sum_by
from millstream.kernels.group import Cells, cells
from millstream.kernels.partials import ROWS, Lowered, Merged
from millstream.kernels.sliding import PanedShape, expand
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.paned import Paned
from millstream.state.store import Segment

_CARRIED = "carried"
_FEW = 2
_SPARSE = 4


class Differential(Paned):
    """Sliding windows of one size, by panes, with running totals."""

    def __init__(self, spec: Spec, window: Sliding) -> None:
        """One window: running totals belong to one."""
        super().__init__(spec, [window])
        full = [one.kernel.difference is Difference.FULL for one in spec.aggregates]
        self.exact = [i for i, yes in enumerate(full) if yes]
        self.others = [i for i, yes in enumerate(full) if not yes]
        self._next = pa.table({})

    def _answer(
        self, merged: Merged, window: Sliding, shape: PanedShape, was: np.ndarray, bound: np.ndarray
    ) -> pa.Table:
        low = (was - window.base) // window.slide
        if window.first is not None:
            low = np.maximum(low, window.first)
        high = np.maximum((bound - window.base) // window.slide, low)
        answers = self._by_difference(merged, shape, low, high)
        if self.others:
            plainly = self.partials.slide(merged, shape, low, high, self.others)
            self.meter.combines += len(merged.key) + 2 * len(plainly.window)
            for i in self.others:
                answers.columns[i] = plainly.columns[i]
        end = window.base + (answers.window + 1) * window.slide
        return self.spec.table(answers, merged.groups, end - window.size, end)

    def _by_difference(self, merged: Merged, shape: PanedShape, low: np.ndarray, high: np.ndarray) -> Lowered:
        fixed, group = merged.bundle.fixed, merged.group
        entry = shape.entry(merged.key)
        if self.first is not None:
            entry = np.maximum(entry, self.first)
        leave = shape.leave(merged.key)
        carried, carried_group = self._carried(merged)
        known = np.zeros(len(low), dtype=np.bool_)
        known[carried_group] = True
        # Panes that entered before `low` are in the total that was carried over, if there is one for their group; those
        # that left by then are gone.
        entering = (entry >= low[group]) & (entry < high[group])
        entering |= (entry < low[group]) & (leave > low[group]) & ~known[group]
        enters = np.flatnonzero(entering)
        leaves = np.flatnonzero((leave > low[group]) & (leave <= high[group]) & (entry < high[group]))
        self.meter.combines += len(enters) + len(leaves)
        at = cells(
            np.concatenate((np.maximum(entry, low[group])[enters], leave[leaves], low[carried_group])),
            np.concatenate((group[enters], group[leaves], carried_group)),
            len(low),
        )
        last = np.append(at.group[1:] != at.group[:-1], [True]) if at.count else np.empty(0, dtype=np.bool_)
        rows = fixed[ROWS].to_numpy()
        counts = _running(at, np.concatenate((rows[enters], -rows[leaves], carried[ROWS].to_numpy())))
        # A total holds from its own window up to the next one that changes it.
        stop = np.where(last, high[at.group], np.append(at.key[1:], [0])) if at.count else at.key
        stop = np.where(counts > 0, np.minimum(stop, high[at.group]), at.key)
        index, window = expand(np.arange(at.count), at.key, stop)
        columns: list[pa.Array] = [pa.nulls(0)] * len(self.spec.aggregates)
        # A total of one or two panes of a long window is not worth keeping: with sparse groups there would be as many
        # totals as panes.
        staying = np.bincount(group[(entry < high[group]) & (leave > high[group])], minlength=len(low))
        worth = (staying > _FEW) | (_SPARSE * staying > shape.length)
        keep = np.flatnonzero(last & (counts > 0) & worth[at.group])
        table = {ROWS: plain(counts[keep])}
        table |= {n: merged.groups[n].take(pa.array(at.group[keep])) for n in self.spec.groups}
        for i, algebra, work in self.partials.open(fixed):
            if i not in self.exact:
                continue
            before = algebra.open([carried[f"__ms_a{i}.{j}"].combine_chunks() for j in range(len(work.columns))])
            gone = algebra.uncombine(algebra.identity(len(leaves)), tuple(c[leaves] for c in work.columns))
            changes = [
                np.concatenate((column[enters], less, was))
                for column, less, was in zip(work.columns, gone, before.columns, strict=True)
            ]
            totals = tuple(_running(at, change) for change in changes)
            answer = tuple(total[index] for total in totals)
            columns[i] = algebra.lower(algebra.close(Work(answer, work.pool)))
            for j, kept in enumerate(algebra.close(Work(tuple(t[keep] for t in totals), work.pool))):
                table[f"__ms_a{i}.{j}"] = kept
        self._next = pa.table(table)
        return Lowered(at.group[index], window, counts[index], columns)

    def _carried(self, merged: Merged) -> tuple[pa.Table, np.ndarray]:
        """The totals carried over, and the group of each; an empty table of the same columns at first."""
        tables = [s.tables[_CARRIED] for s in self.store.segments if _CARRIED in s.tables]
        table = tables[0] if tables else merged.bundle.fixed.slice(0, 0)
        return table, self.partials.group_of(merged, table)

    def _forget(self, merged: Merged, bound: np.ndarray) -> None:
        super()._forget(merged, bound)
        self.store.add(Segment({_CARRIED: self._next}, 0, 0))


def _running(at: Cells, changes: np.ndarray) -> np.ndarray:
    """The running sum of changes along the cells of each group."""
    sums = np.cumsum(sum_by(changes, at.inverse, at.count))
    begins = np.append([True], at.group[1:] != at.group[:-1]) if at.count else np.empty(0, dtype=np.bool_)
    before = np.append([0], sums)[np.flatnonzero(begins)]
    return sums - before[np.cumsum(begins) - 1] if at.count else sums
