"""Row windows: the windowing attribute is the number of the row, in the stream or in its partition.

Rows are numbered as they reach the operator, from 1, and numbers are their own punctuation: once a row is
numbered n, no later row of that partition has a smaller number. So windows close without any other progress.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.domain import END
from millstream.core.progress import Progress
from millstream.core.promise.windows import promised
from millstream.core.window import Rows
from millstream.kernels.group import encode, tuples
from millstream.ops.windowing.paned import GroupBounds, Paned
from millstream.ops.windowing.spec import Spec

ROW_NUMBER = "row_num"
"""The attribute of row windows: the number of the row, given by the operator."""
Counts = dict[tuple[Any, ...], int]
"""How many rows each partition has had."""


class RowWindows(Paned):
    """Sliding windows over row numbers."""

    reducible = False  # a row's number depends on the rows before it

    def __init__(self, spec: Spec, window: Rows) -> None:
        """`spec.groups` begin with the partition's columns."""
        super().__init__(spec, [window.by_number])
        self.partition_by = window.partition_by

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        found = encode([rows[name] for name in self.partition_by], rows.num_rows)
        partitions = _keys(rows, self.partition_by, found.first)
        before: Counts = self.store.facts.get("counts", {})
        base = np.array([before.get(key, 0) for key in partitions], dtype=np.int64)
        arrived = np.bincount(found.codes, minlength=found.count)
        after = {**before, **dict(zip(partitions, (base + arrived).tolist(), strict=True))}
        self.store.facts["counts"] = after
        number = base[found.codes] + _rank(found.codes, found.count)
        super()._take_ticks(rows.append_column(ROW_NUMBER, pa.array(number)), number)
        # The numbers just given are progress: the windows they complete can leave at once.
        return self._close(self._next_number(before), self._next_number(after)) if self.store.segments else []

    def _next_number(self, counts: Counts, over: Set[tuple[Any, ...]] = frozenset()) -> GroupBounds:
        """The least number that a later row of each group's partition can have; none can come where it is over."""

        def bounds(groups: pa.Table) -> np.ndarray:
            everyone = np.arange(int(groups.num_rows))
            keys = _keys(groups, self.partition_by, everyone)
            return np.array([END if key in over else counts.get(key, 0) + 1 for key in keys], dtype=np.int64)

        return bounds

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        if before.ended:
            return []
        counts: Counts = self.store.facts.get("counts", {})
        over = set(counts) if now.ended else {key for key in counts if self._is_over(key, now)}
        if not over:
            return []
        before_over, at_the_end = self._next_number(counts), self._next_number(counts, over)
        out = self._close(before_over, at_the_end) if self.store.segments else []
        # A partition that is over has no next row, so its number need not be known.
        self.store.facts["counts"] = {key: count for key, count in counts.items() if key not in over}
        return out

    def _is_over(self, partition: tuple[Any, ...], now: Progress) -> bool:
        values = dict(zip(self.partition_by, partition, strict=True))
        return any(
            set(names) <= values.keys() and tuple(values[name] for name in names) in over
            for names, over in now.over.items()
        )

    def promises(self) -> Progress:
        """Windows of an unpartitioned stream close in order; those of partitions only when a partition is over."""
        counted = 0 if self.partition_by else self.store.facts.get("counts", {}).get((), 0)
        return promised(self.spec.shape, self.progress[0], counted)


def _rank(codes: np.ndarray, n: int) -> np.ndarray:
    """The position of each row among the rows of its code, from 1."""
    order = np.argsort(codes, kind="stable")
    starts = np.concatenate(([0], np.cumsum(np.bincount(codes, minlength=n))))[:-1]
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = np.arange(len(codes)) - starts[codes[order]] + 1
    return rank


def _keys(table: pa.Table, names: tuple[str, ...], index: np.ndarray) -> list[tuple[Any, ...]]:
    return tuples(table.take(pa.array(index)), names)
