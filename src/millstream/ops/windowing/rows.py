"""Row windows: the windowing attribute is the number of the row, in the stream or in its partition.

Rows are numbered as they reach the operator, from 1, and numbers are their own punctuation: once a row is
numbered n, no later row of that partition has a smaller number. So windows close without any other progress.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.domain import END
from millstream.core.progress import Progress
from millstream.core.promise.windows import promised
from millstream.core.window import Rows
from millstream.kernels.group import encode
from millstream.ops.complete import over_groups
from millstream.ops.counts import Counts, Totals
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.paned import GroupBounds, Paned
from millstream.state.store import Store

ROW_NUMBER = "row_num"
"""The attribute of row windows: the number of the row, given by the operator."""
_IN_FACTS = "counts"
"""Where checkpoints of earlier versions have the counts."""


class RowWindows(Paned):
    """Sliding windows over row numbers."""

    reducible = False  # a row's number depends on the rows before it

    def __init__(self, spec: Spec, window: Rows) -> None:
        """`spec.groups` begin with the partition's columns."""
        super().__init__(spec, [window.by_number])
        self.partition_by = window.partition_by
        self._counts = Counts(window.partition_by)

    @property
    def stores(self) -> list[Store]:
        """Panes, then the counts of the partitions."""
        return [self.store, self._counts.store]

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        found = encode([rows[name] for name in self.partition_by], rows.num_rows)
        partitions = rows.take(pa.array(found.first))
        before = self._totals()
        base = before.each(partitions, before.count, 0)
        self._counts.note(partitions, base + np.bincount(found.codes, minlength=found.count))
        number = base[found.codes] + _rank(found.codes, found.count)
        super()._take_ticks(rows.append_column(ROW_NUMBER, pa.array(number)), number)
        # The numbers just given are progress: the windows they complete can leave at once.
        after = self._totals()
        return self._close(_next_number(before), _next_number(after)) if self.store.segments else []

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        if before.ended or not (now.ended or now.over):
            return []
        totals = self._totals()
        over = over_groups(now, totals.keys, self.partition_by, len(totals.count))
        if not over.any():
            return []
        out = self._close(_next_number(totals), _next_number(totals, over)) if self.store.segments else []
        # A partition that is over has no next row, so its number need not be known.
        self._counts.forget(totals, over)
        return out

    def promises(self) -> Progress:
        """Windows of an unpartitioned stream close in order; those of partitions only when a partition is over."""
        counted = 0 if self.partition_by else int(self._totals().count.sum())
        return promised(self.spec.shape, self.progress[0], counted)

    def _totals(self) -> Totals:
        saved: dict[tuple[Any, ...], int] = self.store.facts.pop(_IN_FACTS, {})
        if saved:
            types = dict(zip(self.spec.groups, self.spec.group_types, strict=True))
            columns = {n: pa.array([key[i] for key in saved], types[n]) for i, n in enumerate(self.partition_by)}
            self._counts.note(pa.table(columns), np.array(list(saved.values())))
        return self._counts.totals()


def _next_number(totals: Totals, over: np.ndarray | None = None) -> GroupBounds:
    """The least number that a later row of each group's partition can have; none can come where it is over."""
    following = totals.count + 1
    return lambda groups: totals.each(groups, following if over is None else np.where(over, END, following), 1)


def _rank(codes: np.ndarray, n: int) -> np.ndarray:
    """The position of each row among the rows of its code, from 1."""
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=n))))[:-1]
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = np.arange(len(codes)) - starts[codes[order]] + 1
    return rank
