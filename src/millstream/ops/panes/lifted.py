"""Partials of an epoch's rows, ready to be shared out: each part of a store takes its conditions, groups and panes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from millstream.core.window import Grid
from millstream.kernels.aggregates.base import Algebra, Holistic, Work, sum_by
from millstream.kernels.group import Groups, cells, encode
from millstream.kernels.partials import KEY, ROWS, Bound, Bundle, Partials

BITS = "__ms_bits"
"""Which conditions the rows of a partial satisfy: bit i for condition i."""
Rekey = Callable[[np.ndarray], np.ndarray]
"""From panes of the store to the panes of a part."""


def bitmap(rows: pa.Table, predicates: Sequence[str]) -> np.ndarray:
    """For each row the conditions that it satisfies; one that is null is not satisfied.

    >>> bitmap(pa.table({"p": [True, None, False], "q": [True, True, False]}), ["p", "q"]).tolist()
    [3, 2, 0]
    """
    bits = np.zeros(rows.num_rows, dtype=np.int64)
    for i, name in enumerate(predicates):
        held = rows[name].fill_null(False).to_numpy()  # noqa: FBT003 - a value, not a flag
        bits |= held.astype(np.int64) << i
    return bits


class Lifted:
    """A bundle of partials by (group, pane, conditions), whose groups are numbered once for all that read it."""

    def __init__(self, partials: Partials, bundle: Bundle, grid: Grid) -> None:
        """`partials` are those of the store, with the conditions as its last group if there are any."""
        self.partials = partials
        self.bundle = bundle
        self.grid = grid
        self.key = bundle.fixed[KEY].to_numpy()
        self.rows = bundle.fixed[ROWS].to_numpy()
        conditional = BITS in bundle.fixed.column_names
        self.bits = bundle.fixed[BITS].to_numpy() if conditional else np.zeros(len(self.key), dtype=np.int64)
        self._groups: dict[tuple[str, ...], Groups] = {}
        self._work: dict[int, tuple[Algebra, Work]] = {}

    def with_condition(self, predicate: int | None) -> np.ndarray | None:
        """Which partials are of rows that satisfy a condition; None for all."""
        return None if predicate is None else (self.bits >> predicate) & 1 == 1

    def part(
        self, groups: tuple[str, ...], aggregates: Sequence[int | None], predicate: int | None, rekey: Rekey
    ) -> Bundle:
        """The partials of some aggregates by coarser groups and other keys, of the rows that satisfy a condition.

        None among the aggregates is the number of rows.
        """
        mask = self.with_condition(predicate)
        where = None if mask is None or mask.all() else np.flatnonzero(mask)
        found = self._numbered(groups)
        codes = found.codes if where is None else found.codes[where]
        own = rekey(self.key if where is None else self.key[where])
        at = cells(own, codes, found.count)
        fixed = self.bundle.fixed
        columns = {KEY: pa.array(at.key)}
        first = pa.array(found.first[at.group])
        columns |= {name: fixed[name].take(first).combine_chunks() for name in groups}
        rows = self.rows if where is None else self.rows[where]
        columns[ROWS] = pa.array(sum_by(rows, at.inverse, at.count))
        bags: dict[int, pa.Table] = {}
        for place, i in enumerate(aggregates):
            if i is None:
                columns[f"__ms_a{place}.0"] = columns[ROWS]
                continue
            kernel = self.partials.aggregates[i].kernel
            if isinstance(kernel, Holistic):
                bags[place] = self._bag(i, kernel, groups, predicate, rekey)
                continue
            algebra, work = self._opened(i, kernel)
            taken = work.columns if where is None else tuple(column[where] for column in work.columns)
            reduced = algebra.reduce(taken, at.inverse, at.count)
            columns |= {f"__ms_a{place}.{j}": c for j, c in enumerate(algebra.close(Work(reduced, work.pool)))}
        return Bundle(pa.table(columns), bags)

    def _numbered(self, groups: tuple[str, ...]) -> Groups:
        if groups not in self._groups:
            fixed = self.bundle.fixed
            self._groups[groups] = encode([fixed[name] for name in groups], fixed.num_rows)
        return self._groups[groups]

    def _opened(self, i: int, kernel: Algebra) -> tuple[Algebra, Work]:
        if i not in self._work:
            fixed = self.bundle.fixed
            names = [f"__ms_a{i}.{j}" for j in range(len(kernel.partial_types))]
            self._work[i] = kernel, kernel.open([fixed[name].combine_chunks() for name in names])
        return self._work[i]

    def _bag(self, i: int, kernel: Holistic, groups: tuple[str, ...], predicate: int | None, rekey: Rekey) -> pa.Table:
        bag = self.bundle.bags[i]
        if predicate is not None:
            held = (bag[BITS].to_numpy() >> predicate) & 1 == 1
            bag = bag.filter(pa.array(held))
        moved = bag.set_column(bag.schema.get_field_index(KEY), KEY, pa.array(rekey(bag[KEY].to_numpy())))
        drop = [name for name in self.partials.groups if name not in groups]
        return Partials((self.partials.aggregates[i],), groups).fold(kernel, moved.drop_columns(drop))


def lifting(aggregates: Sequence[Bound], groups: Sequence[str], predicates: Sequence[str]) -> Partials:
    """The algebra by which rows are lifted."""
    return Partials(aggregates, (*groups, *([BITS] if predicates else ())))
