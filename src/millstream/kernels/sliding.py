"""The sliding combine: from partials per pane to answers per window, in work linear in panes and answers.

Partials come sorted by group, then pane, so the panes of one (group, window) are one run of rows. `runs`
finds those runs by two expansions, without searching: a row is the *first* of a run for exactly the
windows that hold it and not its predecessor, and the *last* for those that hold it and not its successor.
`combine_runs` then answers each run: by the difference of two prefix sums where the aggregate can be
uncombined, else by the suffix of one block and the prefix of the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from millstream.core.aggregate import Difference
from millstream.kernels.aggregates.base import Algebra, Columns


class Shape(Protocol):
    """Which windows hold a key: [entry, leave), both non-decreasing in the key."""

    def entry(self, key: np.ndarray) -> np.ndarray:
        """The first window that holds a key."""
        ...

    def leave(self, key: np.ndarray) -> np.ndarray:
        """The first window after those that hold it."""
        ...


@dataclass(frozen=True, slots=True)
class PanedShape:
    """A sliding window in panes: `length` panes long, moving by `step`, window 0 ending `step` panes after `offset`."""

    length: int
    step: int
    offset: int = 0

    def entry(self, key: np.ndarray) -> np.ndarray:
        """Floors, also below zero."""
        return (key - self.offset) // self.step

    def leave(self, key: np.ndarray) -> np.ndarray:
        """Floors, also below zero."""
        return (key - self.offset + self.length) // self.step


@dataclass(frozen=True, slots=True)
class GrowingShape:
    """Landmark windows: the key is the first window that holds a row, and every later one does too."""

    def entry(self, key: np.ndarray) -> np.ndarray:
        """The key itself."""
        return key

    def leave(self, key: np.ndarray) -> np.ndarray:
        """Never."""
        return np.full(len(key), 2**62)  # far beyond any window, and differences of it do not wrap


@dataclass(frozen=True, slots=True)
class Listed:
    """Windows given as a sorted list of their ends: window i is (ends[i] - size, ends[i]].

    >>> shape = Listed(np.array([0, 4, 7, 12]), 10)
    >>> shape.entry(np.array([4])).tolist(), shape.leave(np.array([2])).tolist()
    ([1], [3])
    """

    ends: np.ndarray
    size: int

    def entry(self, key: np.ndarray) -> np.ndarray:
        """The first end at or after the key."""
        return np.searchsorted(self.ends, key, side="left")

    def leave(self, key: np.ndarray) -> np.ndarray:
        """The first end that lies a whole size after the key."""
        return np.searchsorted(self.ends, key + self.size, side="left")


@dataclass(frozen=True, slots=True)
class Runs:
    """The non-empty (group, window) pairs in order, each with its run of rows [start, end)."""

    group: np.ndarray
    window: np.ndarray
    start: np.ndarray
    end: np.ndarray


def runs(group: np.ndarray, pane: np.ndarray, shape: Shape, low: np.ndarray, high: np.ndarray) -> Runs:
    """The runs of rows that make up each window in [low, high) of its row's group.

    `low` and `high` are given a row; rows are sorted by group, then pane, without repeats.

    >>> rows = np.array([0, 0]), np.array([0, 3])
    >>> found = runs(*rows, PanedShape(2, 1), np.array([0, 0]), np.array([9, 9]))
    >>> found.window.tolist(), found.start.tolist(), found.end.tolist()
    ([0, 1, 3, 4], [0, 0, 1, 1], [1, 1, 2, 2])
    """
    n = len(pane)
    same = group[1:] == group[:-1]
    entry = np.maximum(shape.entry(pane), low)
    leave = np.minimum(shape.leave(pane), high)
    begin = entry.copy()
    begin[1:] = np.where(same, np.maximum(entry[1:], shape.leave(pane[:-1])), entry[1:])
    stop = leave.copy()
    stop[:-1] = np.where(same, np.minimum(leave[:-1], shape.entry(pane[1:])), leave[:-1])
    rows = np.arange(n)
    start, window = expand(rows, begin, leave)
    last, _ = expand(rows, entry, stop)
    return Runs(group[start], window, start, last + 1)


def expand(rows: np.ndarray, begin: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row once for every integer in [begin, stop), and those integers.

    >>> [part.tolist() for part in expand(np.array([7, 8]), np.array([0, 5]), np.array([2, 6]))]
    [[7, 7, 8], [0, 1, 5]]
    """
    length = np.maximum(stop - begin, 0)
    total = int(length.sum())
    offset = np.cumsum(length) - length
    return np.repeat(rows, length), np.arange(total) + np.repeat(begin - offset, length)


def combine_runs(algebra: Algebra, columns: Columns, start: np.ndarray, end: np.ndarray) -> Columns:
    """The combine of rows [start, end) for each run; runs are not empty.

    >>> from millstream.kernels.aggregates.count import Count
    >>> combine_runs(Count(), (np.array([1, 2, 4]),), np.array([0, 1]), np.array([2, 3]))[0].tolist()
    [3, 6]
    """
    if not len(start):
        return algebra.identity(0)
    if algebra.difference is Difference.FULL:
        sums = tuple(np.concatenate(([0], np.cumsum(column))) for column in columns)
        return algebra.uncombine(tuple(s[end] for s in sums), tuple(s[start] for s in sums))
    longest = int((end - start).max())
    if longest == 1:
        return tuple(column[start] for column in columns)
    # Blocks as long as the longest run: a full run is one block, or crosses one border.
    out, left = _by_blocks(algebra, columns, start, end, longest)
    block = 1 << int((end[left] - start[left]).max() - 1).bit_length() if len(left) else 0
    while len(left):
        if int((end[left] - start[left]).sum()) <= 4 * len(columns[0]):
            _fill(out, left, _directly(algebra, columns, start[left], end[left]))
            break
        # What lies inside a block crosses a border of blocks half as long: powers of two nest.
        some, still = _by_blocks(algebra, columns, start[left], end[left], block)
        done = np.ones(len(left), dtype=np.bool_)
        done[still] = False
        _fill(out, left[done], tuple(column[done] for column in some))
        left, block = left[still], block // 2
    return out


def _by_blocks(
    algebra: Algebra, columns: Columns, start: np.ndarray, end: np.ndarray, block: int
) -> tuple[Columns, np.ndarray]:
    """Answers for runs that are one block or cross one border; and which runs are neither."""
    n = len(columns[0])
    padding = -n % block
    padded = tuple(
        np.concatenate((column, unit)).reshape(-1, block)
        for column, unit in zip(columns, algebra.identity(padding), strict=True)
    )
    prefix = tuple(c.reshape(-1) for c in algebra.accumulate(padded))
    suffix = tuple(c.reshape(-1) for c in algebra.accumulate(padded, reverse=True))
    last = end - 1
    here, there = start // block, last // block
    first_half = tuple(column[start] for column in suffix)
    second_half = tuple(column[last] for column in prefix)
    out = tuple(np.array(c) for c in algebra.combine(first_half, second_half))
    within = here == there
    at_start = within & (start % block == 0)
    _fill(out, np.flatnonzero(at_start), tuple(column[at_start] for column in second_half))
    at_end = within & ~at_start & ((end % block == 0) | (end == n))
    _fill(out, np.flatnonzero(at_end), tuple(column[at_end] for column in first_half))
    return out, np.flatnonzero(within & ~at_start & ~at_end)


def _directly(algebra: Algebra, columns: Columns, start: np.ndarray, end: np.ndarray) -> Columns:
    run, row = expand(np.arange(len(start)), start, end)
    return algebra.reduce(tuple(column[row] for column in columns), run, len(start))


def _fill(out: Columns, where: np.ndarray, values: Columns) -> None:
    for target, value in zip(out, values, strict=True):
        target[where] = value
