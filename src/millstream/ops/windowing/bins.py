"""The one-pass slide-by-tuple aggregate: bins instead of rows.

A bin at x holds the partial of the rows seen in (x − range, x]; it is valid for every end up to the next bin.
A row makes two bins, one where it enters and one where it has left, each starting as a copy of the bin before
it; then every bin between the two takes the row in. A whole batch is taken at once: the bins that are new copy
their predecessor, and every bin combines the run of sorted rows that it covers.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.core.domain import END
from millstream.kernels.aggregates.base import Algebra, Work
from millstream.kernels.group import codes
from millstream.kernels.partials import KEY, ROWS, Bundle, Lowered, Merged
from millstream.kernels.sliding import combine_runs, expand
from millstream.ops.windowing.base import as_segment
from millstream.ops.windowing.slide_by_tuple import RowEnds


class OnePass(RowEnds):
    """Slide-by-tuple over bins: two a row, and no row kept. Bounded aggregates only."""

    def _note_rows(self, rows: pa.Table, ticks: np.ndarray) -> None:
        fresh = self.partials.merge([self.partials.lift(rows, ticks)])
        old = self.bundles()
        old_bundle = old[0] if old else Bundle(fresh.bundle.fixed.slice(0, 0), {})
        bins = self._with_rows(old_bundle, fresh)
        others = [segment for segment in self.store.segments if "fixed" not in segment.tables]
        self.store.replace([as_segment(bins), *others])

    def _with_rows(self, old: Bundle, fresh: Merged) -> Bundle:
        """The bins after a batch of rows, given a partial a distinct value."""
        size = self.window.size
        row_group, old_group, groups = self.partials.align(fresh.bundle.fixed, old.fixed)
        by_row = np.lexsort((fresh.key, row_group))
        row_group, row_key = row_group[by_row], fresh.key[by_row]
        rows = fresh.bundle.fixed.take(pa.array(by_row))
        order = np.lexsort((old.fixed[KEY].to_numpy(), old_group))
        old_group, old_fixed = old_group[order], old.fixed.take(pa.array(order))
        old_key = old_fixed[KEY].to_numpy()
        # Every (group, id) at which a bin must stand: old ones, entries and exits.
        group = np.concatenate((old_group, row_group, row_group))
        key = np.concatenate((old_key, row_key, row_key + size))
        place = np.lexsort((key, group))
        group, key = group[place], key[place]
        new = np.ones(len(key), dtype=np.bool_)
        new[1:] = (group[1:] != group[:-1]) | (key[1:] != key[:-1])
        group, key = group[new], key[new]
        before = _last_at(old_group, old_key, group, key)
        start = _first_after(row_group, row_key, group, key - size)
        end = _first_after(row_group, row_key, group, key)
        columns: dict[str, pa.Array] = {KEY: pa.array(key)}
        columns |= {n: groups[n].take(pa.array(group)).combine_chunks() for n in self.partials.groups}
        counts = np.concatenate(([0], np.cumsum(rows[ROWS].to_numpy())))
        held = np.append(old_fixed[ROWS].to_numpy(), 0)[before]
        columns[ROWS] = pa.array(held + counts[end] - counts[start])
        for i, algebra in self._algebras():
            columns |= self._combine(i, algebra, old_fixed, rows, before, start, end)
        return Bundle(pa.table(columns), {})

    def _combine(
        self,
        i: int,
        algebra: Algebra,
        old: pa.Table,
        fresh: pa.Table,
        before: np.ndarray,
        start: np.ndarray,
        end: np.ndarray,
    ) -> dict[str, pa.Array]:
        names = [f"__ms_a{i}.{j}" for j in range(len(algebra.partial_types))]
        # Old bins and new rows are opened together: codes into one pool can be compared.
        both = pa.concat_tables([old.select(names), fresh.select(names)]).combine_chunks()
        work = algebra.open([both[name].combine_chunks() for name in names])
        unit = algebra.identity(1)
        copied = tuple(
            np.concatenate((column[: old.num_rows], nothing))[before]
            for column, nothing in zip(work.columns, unit, strict=True)
        )
        added = tuple(np.array(column) for column in algebra.identity(len(before)))
        some = np.flatnonzero(end > start)
        rows = tuple(column[old.num_rows :] for column in work.columns)
        for target, value in zip(added, combine_runs(algebra, rows, start[some], end[some]), strict=True):
            target[some] = value
        closed = algebra.close(Work(algebra.combine(copied, added), work.pool))
        return dict(zip(names, closed, strict=True))

    def _answers(self, ends: np.ndarray, bound: int) -> tuple[Lowered, pa.Table] | None:
        bundles = self.bundles()
        if not bundles:
            return None
        merged = self.partials.merge(bundles)
        # A bin answers every end from itself up to the next bin of its group.
        following = np.full(len(merged.key), END)
        same = merged.group[1:] == merged.group[:-1]
        following[:-1][same] = merged.key[1:][same]
        filled = merged.bundle.fixed[ROWS].to_numpy() > 0
        begin = np.searchsorted(ends, merged.key)
        stop = np.where(filled, np.searchsorted(ends, following), begin)
        row, window = expand(np.arange(len(merged.key)), begin, stop)
        lowered = self.partials.lower(merged)
        index = pa.array(row)
        answers = Lowered(merged.group[row], window, lowered.rows[row], [c.take(index) for c in lowered.columns])
        self._purge(merged, following, bound)
        return answers, merged.groups

    def _purge(self, merged: Merged, following: np.ndarray, bound: int) -> None:
        """Keep the bins from `bound` on, and as an anchor the one that is valid at `bound`."""
        # An anchor without rows says what no bin at all would say.
        filled = merged.bundle.fixed[ROWS].to_numpy() > 0
        live = (following > bound) & (filled | (merged.key >= bound)) if bound < END else filled & False
        fixed = merged.bundle.fixed.filter(pa.array(live))
        others = [segment for segment in self.store.segments if "fixed" not in segment.tables]
        self.store.replace([as_segment(Bundle(fixed, {})), *others])

    def _algebras(self) -> list[tuple[int, Algebra]]:
        return [(i, one.kernel) for i, one in enumerate(self.spec.aggregates) if isinstance(one.kernel, Algebra)]


def _first_after(groups: np.ndarray, keys: np.ndarray, group: np.ndarray, key: np.ndarray) -> np.ndarray:
    """For each (group, key), the position of the first later key of that group in a sorted list."""
    if not len(keys):
        return np.zeros(len(key), dtype=np.int64)
    return np.searchsorted(*codes(groups, keys, group, key), side="right")


def _last_at(groups: np.ndarray, keys: np.ndarray, group: np.ndarray, key: np.ndarray) -> np.ndarray:
    """The position of the greatest key of that group at or before each key; the list's length if none."""
    after = _first_after(groups, keys, group, key)
    there = after > 0
    there[there] = groups[after[there] - 1] == group[there]
    return np.where(there, after - 1, len(keys))
