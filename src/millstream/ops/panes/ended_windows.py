"""The windows of a part that have ended: which have rows, and how their panes are combined.

There are two ways. Panes of few groups that are there most of the time are matrices, and windows are combined for all
groups together. Otherwise windows are runs of the panes that exist. Both give every aggregate once for all windows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from millstream.kernels.aggregates.base import Algebra, Columns, Work
from millstream.kernels.dense import Ladder, Lattice
from millstream.kernels.partials import ROWS, Merged, spans
from millstream.kernels.sliding import Runs, combine_runs, expand, runs
from millstream.ops.panes.kinds import Kinds

_EMPTY = 4
"""Windows for each pane that has rows, beyond which they are mostly empty."""
_AT_ONCE = 4_000_000
"""So many (group, window) pairs are looked at together at most."""
_SPARSE = 4
"""So many cells of a matrix may stand for one partial that exists."""
_SMALL = 1 << 14


@dataclass(frozen=True, slots=True)
class Results:
    """The windows of one kind that have ended and have rows."""

    group: np.ndarray
    window: np.ndarray


class Ended(Protocol):
    """Some kinds of window, and their results."""

    found: dict[int, Results]
    """By kind; those without results are left out."""

    def combined(self, algebra: Algebra, work: Work, kinds: Sequence[int]) -> Columns:
        """One aggregate for the results of some kinds, one after the other."""
        ...


def ended(merged: Merged, kinds: Kinds, closing: Sequence[int], was: np.ndarray, bound: np.ndarray) -> Ended:
    """The results of these kinds between two bounds for each group."""
    if was.min() == was.max() and bound.min() == bound.max():
        dense = _matrices(merged, kinds, closing, int(was[0]), int(bound[0]))
        if dense is not None:
            return dense
    return InRuns.of(merged, kinds, closing, was, bound)


@dataclass(slots=True)
class InMatrices:
    """All groups have the same bounds, and most have rows in most panes."""

    lattice: Lattice
    spans: dict[int, tuple[int, int, int, int]]
    """By kind: the first row, the step, the number of windows and their length."""
    some: dict[int, np.ndarray | None]
    """By kind: which results have rows; None: all."""
    found: dict[int, Results] = field(default_factory=dict[int, Results])

    def combined(self, algebra: Algebra, work: Work, kinds: Sequence[int]) -> Columns:
        """A row of the matrix at a time."""
        ladder = Ladder.of(algebra, work.columns, self.lattice)
        made: list[Columns] = []
        for i in kinds:
            columns = ladder.windows(*self.spans[i])
            keep = self.some[i]
            made.append(columns if keep is None else tuple(column[keep] for column in columns))
        return tuple(np.concatenate(parts) for parts in zip(*made, strict=True)) if len(made) > 1 else made[0]


def _matrices(merged: Merged, kinds: Kinds, closing: Sequence[int], was: int, bound: int) -> InMatrices | None:
    low = np.maximum((was - kinds.base[closing]) // kinds.slide[closing], kinds.first[closing])
    count = (bound - kinds.base[closing]) // kinds.slide[closing] - low
    some = count > 0
    chosen, low, count = np.asarray(closing)[some], low[some], count[some]
    groups = merged.groups.num_rows
    key = merged.key
    if not len(chosen):
        return InMatrices(Lattice.of(merged.group[:0], key[:0], groups, 0, 0), {}, {})
    step, length = kinds.step[chosen], kinds.length[chosen]
    begin = (low + 1) * step - length + kinds.offset[chosen]
    end = begin + (count - 1) * step + length
    first, last = min(int(begin.min()), int(key.min())), max(int(end.max()), int(key.max()) + 1)
    if (last - first) * groups > _SPARSE * len(key) + _SMALL or int(count.sum()) * groups > 64 * len(key) + _AT_ONCE:
        return None
    lattice = Lattice.of(merged.group, key, groups, first, last)
    rows = lattice.matrix(merged.bundle.fixed[ROWS].to_numpy(), np.zeros(1, dtype=np.int64))
    before = np.concatenate((np.zeros((1, groups), dtype=np.int64), np.cumsum(rows, axis=0)))
    out = InMatrices(lattice, {}, {})
    every = np.resize(np.arange(groups, dtype=np.int64), groups * int(count.max()))
    for place, i in enumerate(chosen.tolist()):
        at, number = int(begin[place]) - first, int(count[place])
        spans_ = at, int(step[place]), number, int(length[place])
        stop = at + (number - 1) * spans_[1] + 1
        there = before[at + spans_[3] : stop + spans_[3] : spans_[1]] - before[at : stop : spans_[1]] > 0
        window = np.repeat(np.arange(int(low[place]), int(low[place]) + number), groups)
        group = every[: number * groups]
        keep = None if there.all() else np.flatnonzero(there)
        if keep is not None:
            group, window = group[keep], window[keep]
        if len(window):
            out.spans[i], out.some[i], out.found[i] = spans_, keep, Results(group, window)
    return out


@dataclass(slots=True)
class InRuns:
    """Windows as runs of the panes that exist."""

    runs: dict[int, Runs]
    found: dict[int, Results]

    @classmethod
    def of(cls, merged: Merged, kinds: Kinds, closing: Sequence[int], was: np.ndarray, bound: np.ndarray) -> InRuns:
        """Kinds are looked at together, as many as fit."""
        size = max(1, _AT_ONCE // max(1, len(was)))
        found: dict[int, Runs] = {}
        for at in range(0, len(closing), size):
            found |= _listed(merged, kinds, list(closing[at : at + size]), was, bound)
        found = {i: one for i, one in found.items() if len(one.window)}
        return cls(found, {i: Results(one.group, one.window) for i, one in found.items()})

    def combined(self, algebra: Algebra, work: Work, kinds: Sequence[int]) -> Columns:
        """All runs together."""
        start, end = (np.concatenate([getattr(self.runs[i], name) for i in kinds]) for name in ("start", "end"))
        return combine_runs(algebra, work.columns, start, end)


def _listed(merged: Merged, kinds: Kinds, some: list[int], was: np.ndarray, bound: np.ndarray) -> dict[int, Runs]:
    """The windows of some kinds that have ended: one by one, unless most of them must be empty."""
    slide, base = kinds.slide[some], kinds.base[some]
    low = np.maximum((was[:, None] - base) // slide, kinds.first[some])
    high = (bound[:, None] - base) // slide
    if np.maximum(high - low, 0).sum() > _EMPTY * (len(merged.key) + len(some)):
        out: dict[int, Runs] = {}
        for column, i in enumerate(some):
            at = low[:, column][merged.group], high[:, column][merged.group]
            out[i] = runs(merged.group, merged.key, kinds.shape(i), *at)
        return out
    # By kind, then by group: each kind's own are together.
    cell, wid = expand(np.arange(low.size), low.T.ravel(), high.T.ravel())
    if not len(cell):
        return {}
    which, group = np.divmod(cell, len(was))
    places = np.array(some)[which]
    last = (wid + 1) * kinds.step[places] + kinds.offset[places]
    found, there = spans(merged, group, wid, last - kinds.length[places], last)
    cuts = np.searchsorted(which[there], np.arange(len(some) + 1))
    return {
        i: Runs(*(getattr(found, name)[cuts[k] : cuts[k + 1]] for name in ("group", "window", "start", "end")))
        for k, i in enumerate(some)
    }
