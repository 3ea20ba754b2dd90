"""Bundles of partials: every aggregate of one query, by cell, as Arrow tables.

The `fixed` table has a row a (group, key) cell: the key, the group's columns, the number of rows, and the
partial columns of each bounded aggregate. Each holistic aggregate adds a table of its own with a row a
(group, key, value). The key is a pane or a window id.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.aggregates.base import Algebra, Holistic, Work, sum_by
from millstream.kernels.group import cells, codes, encode, first_rows
from millstream.kernels.sliding import Runs, Shape, combine_runs, expand, runs

KEY = "__ms_key"
ROWS = "__ms_rows"
TIMES = "__ms_times"


@dataclass(frozen=True, slots=True)
class Bound:
    """An aggregate bound to the columns of a row table: its name, kernel, arguments and filter."""

    name: str
    kernel: Algebra | Holistic
    arguments: tuple[str, ...]
    filter: str | None = None


@dataclass(frozen=True, slots=True)
class Bundle:
    """Partials of some rows: the fixed table, and a table for each holistic aggregate by position."""

    fixed: pa.Table
    bags: dict[int, pa.Table]

    @property
    def rows(self) -> int:
        """How many rows of state this is."""
        return self.fixed.num_rows + sum(bag.num_rows for bag in self.bags.values())

    @property
    def nbytes(self) -> int:
        """How many bytes of state this is."""
        return self.fixed.nbytes + sum(bag.nbytes for bag in self.bags.values())

    def keep(self, low: int, high: int | None = None) -> Bundle:
        """Only the cells with low <= key < high."""
        return Bundle(_between(self.fixed, low, high), {i: _between(b, low, high) for i, b in self.bags.items()})


@dataclass(frozen=True, slots=True)
class Merged:
    """A bundle without repeats, sorted by group and key, and its groups numbered."""

    bundle: Bundle
    key: np.ndarray
    group: np.ndarray
    groups: pa.Table
    """One row per group: the grouping columns."""


@dataclass(frozen=True, slots=True)
class Lowered:
    """Lowered results: for each, the group and window, and a column an aggregate."""

    group: np.ndarray
    window: np.ndarray
    rows: np.ndarray
    columns: list[pa.Array]


class Partials:
    """Lift, merge, slide and lower the aggregates of one query together."""

    def __init__(self, aggregates: Sequence[Bound], groups: Sequence[str]) -> None:
        """`groups` are the names of the grouping columns."""
        self.aggregates = tuple(aggregates)
        self.groups = tuple(groups)

    def lift(self, rows: pa.Table, key: np.ndarray) -> Bundle:
        """Partials of the rows, each row counted under its key."""
        found = encode([rows[name] for name in self.groups], rows.num_rows)
        at = cells(key, found.codes, found.count)
        keep = found.first[at.group]
        columns = {KEY: pa.array(at.key)}
        columns |= {name: rows[name].take(pa.array(keep)).combine_chunks() for name in self.groups}
        columns[ROWS] = pa.array(at.rows)
        bags: dict[int, pa.Table] = {}
        for i, one in enumerate(self.aggregates):
            where = self._where(one, rows)
            inverse = at.inverse if where is None else at.inverse[where]
            arguments = [_column(rows, name, where) for name in one.arguments]
            if isinstance(one.kernel, Algebra):
                arguments = arguments or [pa.array(inverse)]
                work = one.kernel.gather(arguments, inverse, at.count)
                columns |= _named(i, one.kernel.close(work))
            else:
                bags[i] = self._bag(one.kernel, rows, key if where is None else key[where], where, arguments)
        return Bundle(pa.table(columns), bags)

    def merge(self, bundles: Sequence[Bundle]) -> Merged:
        """One bundle of several: partials of the same cell are combined."""
        fixed = _together([bundle.fixed for bundle in bundles])
        found = encode([fixed[name] for name in self.groups], fixed.num_rows)
        key = fixed[KEY].to_numpy()
        at = cells(key, found.codes, found.count)
        groups = _take(fixed.select(list(self.groups)), found.first) if self.groups else _unit(found.count)
        bags = {
            i: self.fold(one.kernel, _together([b.bags[i] for b in bundles]))
            for i, one in enumerate(self.aggregates)
            if isinstance(one.kernel, Holistic)
        }
        if at.count == fixed.num_rows:
            order = first_rows(at.inverse, at.count)
            return Merged(Bundle(_take(fixed, order), bags), at.key, at.group, groups)
        columns: dict[str, pa.Array] = {KEY: pa.array(at.key)}
        columns |= {name: groups[name].take(pa.array(at.group)).combine_chunks() for name in self.groups}
        columns[ROWS] = pa.array(sum_by(fixed[ROWS].to_numpy(), at.inverse, at.count))
        for i, algebra, work in self.open(fixed):
            reduced = algebra.reduce(work.columns, at.inverse, at.count)
            columns |= _named(i, algebra.close(Work(reduced, work.pool)))
        return Merged(Bundle(pa.table(columns), bags), at.key, at.group, groups)

    def slide(
        self,
        merged: Merged,
        shape: Shape,
        low: np.ndarray,
        high: np.ndarray,
        only: Container[int] | None = None,
    ) -> Lowered:
        """The answers of windows [low, high) of each group, the keys being panes.

        With `only`, the columns of other aggregates are left empty.
        """
        found = runs(merged.group, merged.key, shape, low[merged.group], high[merged.group])
        answers = self._combined(merged, found, only)
        for i, one in enumerate(self.aggregates):
            if isinstance(one.kernel, Holistic) and (only is None or i in only):
                bag = merged.bundle.bags[i]
                answers.columns[i] = self._slide_bag(one.kernel, merged, bag, shape, found, low, high)
        return answers

    @property
    def bounded(self) -> bool:
        """Are all partials of one size?"""
        return all(isinstance(one.kernel, Algebra) for one in self.aggregates)

    def span(
        self, merged: Merged, group: np.ndarray, window: np.ndarray, start: np.ndarray, end: np.ndarray
    ) -> tuple[Lowered, np.ndarray]:
        """The answers of windows that are given one by one, each [start, end) of a group's keys; and of which ones.

        Those without rows have none. All aggregates must be `bounded`.
        """
        found, there = spans(merged, group, window, start, end)
        return self._combined(merged, found, None), there

    def combined(self, algebra: Algebra, work: Work, start: np.ndarray, end: np.ndarray) -> pa.Array:
        """The answers of one aggregate for runs of rows."""
        combined = combine_runs(algebra, work.columns, start, end)
        return algebra.lower(algebra.close(Work(combined, work.pool)))

    def combined_bag(
        self,
        kernel: Holistic,
        i: int,
        merged: Merged,
        shape: Shape,
        found: Runs,
        low: np.ndarray,
        high: np.ndarray,
    ) -> pa.Array:
        """What a kernel makes of the values that aggregate `i` keeps, for the runs of a window."""
        return self._slide_bag(kernel, merged, merged.bundle.bags[i], shape, found, low, high)

    def _combined(self, merged: Merged, found: Runs, only: Container[int] | None) -> Lowered:
        """The answers of runs of rows, without those that need every value."""
        fixed = merged.bundle.fixed
        rows = _prefix_difference(fixed[ROWS].to_numpy(), found)
        columns: list[pa.Array] = [pa.nulls(0)] * len(self.aggregates)
        for i, algebra, work in self.open(fixed):
            if only is None or i in only:
                columns[i] = self.combined(algebra, work, found.start, found.end)
        return Lowered(found.group, found.window, rows, columns)

    def lower(self, merged: Merged) -> Lowered:
        """The answer of every cell, the keys being window ids."""
        fixed = merged.bundle.fixed
        columns: list[pa.Array] = []
        for i, one in enumerate(self.aggregates):
            if isinstance(one.kernel, Algebra):
                columns.append(one.kernel.lower([fixed[name].combine_chunks() for name in _names(i, one.kernel)]))
            else:
                bag = merged.bundle.bags[i]
                at = self.cells_of(merged, bag)
                columns.append(_evaluate(one.kernel, bag, np.arange(bag.num_rows), at, len(merged.key)))
        return Lowered(merged.group, merged.key, fixed[ROWS].to_numpy(), columns)

    def open(self, fixed: pa.Table) -> list[tuple[int, Algebra, Work]]:
        """The bounded aggregates of a fixed table in work form, by position."""
        return [
            (i, one.kernel, one.kernel.open([fixed[n].combine_chunks() for n in _names(i, one.kernel)]))
            for i, one in enumerate(self.aggregates)
            if isinstance(one.kernel, Algebra)
        ]

    def _where(self, one: Bound, rows: pa.Table) -> np.ndarray | None:
        mask: np.ndarray | None = None
        if one.filter is not None:
            mask = rows[one.filter].fill_null(False).to_numpy()  # noqa: FBT003 - a value, not a flag
        if isinstance(one.kernel, Holistic):
            for name in one.arguments:
                if rows[name].null_count:
                    there = rows[name].is_valid().to_numpy()
                    mask = there if mask is None else mask & there
        return None if mask is None else np.flatnonzero(mask)

    def _bag(
        self,
        kernel: Holistic,
        rows: pa.Table,
        key: np.ndarray,
        where: np.ndarray | None,
        values: Sequence[pa.Array],
    ) -> pa.Table:
        columns = {KEY: pa.array(key)}
        columns |= {name: _column(rows, name, where) for name in self.groups}
        columns |= {f"v{j}": value for j, value in enumerate(values)}
        columns[TIMES] = pa.array(np.ones(len(key), dtype=np.int64))
        return self.fold(kernel, pa.table(columns))

    def fold(self, kernel: Holistic, bag: pa.Table) -> pa.Table:
        """Equal values of a cell become one, with their multiplicity."""
        if not kernel.countable or not bag.num_rows:
            return bag
        values = [f"v{j}" for j in range(len(kernel.value_types))]
        found = encode([bag[name] for name in (*self.groups, *values)], bag.num_rows)
        at = cells(bag[KEY].to_numpy(), found.codes, found.count)
        if at.count == bag.num_rows:
            return bag
        folded = _take(bag, first_rows(at.inverse, at.count))
        times = sum_by(bag[TIMES].to_numpy(), at.inverse, at.count)
        return folded.set_column(folded.schema.get_field_index(TIMES), TIMES, pa.array(times))

    def align(self, one: pa.Table, other: pa.Table) -> tuple[np.ndarray, np.ndarray, pa.Table]:
        """Number the groups of two tables alike: their codes, and a table of the groups."""
        if not self.groups:
            return np.zeros(one.num_rows, int), np.zeros(other.num_rows, int), _unit(1)
        both = pa.concat_tables([t.select(list(self.groups)) for t in (one, other)], promote_options="permissive")
        found = encode([both[name] for name in self.groups], both.num_rows)
        return found.codes[: one.num_rows], found.codes[one.num_rows :], _take(both, found.first)

    def group_of(self, merged: Merged, rows: pa.Table) -> np.ndarray:
        """The number, in `merged`, of the group of each row of another table; every group must be known."""
        known, codes, groups = self.align(merged.groups, rows)
        place = np.empty(groups.num_rows, dtype=np.int64)
        place[known] = np.arange(len(known))
        return place[codes]

    def cells_of(self, merged: Merged, bag: pa.Table) -> np.ndarray:
        """The cell, in `merged`, of each row of a bag."""
        return _find(merged.group, merged.key, self.group_of(merged, bag), bag[KEY].to_numpy())

    def _slide_bag(
        self,
        kernel: Holistic,
        merged: Merged,
        bag: pa.Table,
        shape: Shape,
        found: Runs,
        low: np.ndarray,
        high: np.ndarray,
    ) -> pa.Array:
        group = self.group_of(merged, bag)
        pane = bag[KEY].to_numpy()
        rows = np.arange(bag.num_rows)
        begin = np.maximum(shape.entry(pane), low[group])
        stop = np.minimum(shape.leave(pane), high[group])
        if kernel.distinct_only and bag.num_rows:
            # A value counts once per window: where it stands in the window's first pane that has it.
            same = encode([bag[name] for name in (*self.groups, "v0")], bag.num_rows).codes
            order = np.lexsort((pane, same))
            begin, stop, rows, group = begin[order], stop[order], rows[order], group[order]
            again = same[order][1:] == same[order][:-1]
            begin[1:] = np.where(again, np.maximum(begin[1:], shape.leave(pane[order][:-1])), begin[1:])
        begin = np.minimum(begin, stop)
        # The windows that hold a row are neighbours among the answers, so one search finds them all.
        held = np.flatnonzero(stop > begin)
        place = _find(found.group, found.window, group[held], begin[held])
        row, at = expand(rows[held], place, place + (stop - begin)[held])
        return _evaluate(kernel, bag, row, at, len(found.window))


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    """Tables of the same columns, which may stand in another order, as one."""
    return pa.concat_tables(tables, promote_options="permissive").combine_chunks()


def _evaluate(kernel: Holistic, bag: pa.Table, row: np.ndarray, at: np.ndarray, n: int) -> pa.Array:
    index = pa.array(row)
    values = [bag[f"v{j}"].take(index).combine_chunks() for j in range(len(kernel.value_types))]
    return kernel.evaluate(values, bag[TIMES].to_numpy()[row], at, n)


def _find(groups: np.ndarray, keys: np.ndarray, group: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Where each (group, key) stands in a list sorted by group, then key."""
    if not len(keys) or not len(key):
        return np.zeros(len(key), dtype=np.int64)
    return np.searchsorted(*codes(groups, keys, group, key))


def spans(
    merged: Merged, group: np.ndarray, window: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[Runs, np.ndarray]:
    """The rows of windows that are given one by one, each [start, end) of a group's keys; and which have any."""
    at, begin = codes(merged.group, merged.key, group, start)
    first = np.searchsorted(at, begin)
    at, stop = codes(merged.group, merged.key, group, end)
    last = np.searchsorted(at, stop)
    there = np.flatnonzero(last > first)
    return Runs(group[there], window[there], first[there], last[there]), there


def _prefix_difference(values: np.ndarray, found: Runs) -> np.ndarray:
    sums = np.concatenate(([0], np.cumsum(values)))
    return sums[found.end] - sums[found.start]


def _column(rows: pa.Table, name: str, where: np.ndarray | None) -> pa.Array:
    column = rows[name].combine_chunks()
    return column if where is None else column.take(pa.array(where))


def _names(i: int, kernel: Algebra) -> list[str]:
    return [f"__ms_a{i}.{j}" for j in range(len(kernel.partial_types))]


def _named(i: int, columns: Sequence[pa.Array]) -> dict[str, pa.Array]:
    return {f"__ms_a{i}.{j}": column for j, column in enumerate(columns)}


def _take(table: pa.Table, index: np.ndarray) -> pa.Table:
    return table.take(pa.array(index)).combine_chunks()


def _unit(count: int) -> pa.Table:
    """A table of `count` rows and no columns cannot exist: carry a column of zeros."""
    return pa.table({KEY: pa.array(np.zeros(count, dtype=np.int64))})


def _between(table: pa.Table, low: int, high: int | None) -> pa.Table:
    mask = pc.greater_equal(table[KEY], low)
    if high is not None:
        mask = pc.and_(mask, pc.less(table[KEY], high))
    return table.filter(mask)
