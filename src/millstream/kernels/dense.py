"""Sliding combines over matrices: partials of every pane and group, a row for each pane.

Where most groups have rows in most panes, the windows of all groups are combined together, a whole row of the matrix
at a time. Runs of 2, 4, 8, … panes are combined once and serve windows of every length: a window of 11 panes is one
run of 8, one of 2 and one pane.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from millstream.core.aggregate import Difference
from millstream.kernels.aggregates.base import Algebra, Columns


@dataclass(frozen=True, slots=True)
class Lattice:
    """Where the partials of (group, pane) cells stand in matrices of `panes` rows, the first being pane `low`."""

    at: np.ndarray
    """The place of each cell, row by row."""
    low: int
    panes: int
    groups: int

    @classmethod
    def of(cls, group: np.ndarray, key: np.ndarray, groups: int, low: int, high: int) -> Lattice:
        """Panes [low, high) for cells that all lie in them.

        >>> Lattice.of(np.array([0, 1]), np.array([5, 4]), 2, 4, 6).at.tolist()
        [2, 1]
        """
        return cls((key - low) * groups + group, low, high - low, groups)

    def matrix(self, column: np.ndarray, empty: np.ndarray) -> np.ndarray:
        """A column of cells as a matrix; `empty` is the value of a pane without rows."""
        out = np.full(self.panes * self.groups, empty[0], dtype=column.dtype)
        out[self.at] = column
        return out.reshape(self.panes, self.groups)


def places(first: int, step: int, count: int) -> slice:
    """So many rows, each `step` after the one before."""
    return slice(first, first + (count - 1) * step + 1, step)


@dataclass(slots=True)
class Ladder:
    """One aggregate of a lattice, with the combines of 1, 2, 4, … panes that windows are made of.

    >>> from millstream.kernels.aggregates.extreme import extreme
    >>> import pyarrow as pa
    >>> greatest = extreme(pa.int64(), greatest=True)
    >>> lattice = Lattice.of(np.zeros(5, int), np.arange(5), 1, 0, 5)
    >>> columns = greatest.lift([pa.array([3, 1, 2, 9, 0])]).columns
    >>> Ladder.of(greatest, columns, lattice).windows(0, 1, 3, 3)[0].tolist()
    [3, 9, 9]
    """

    algebra: Algebra
    levels: list[Columns]
    sums: Columns | None = field(default=None)
    """Of an aggregate that can be uncombined: what comes before each pane, and all."""

    @classmethod
    def of(cls, algebra: Algebra, columns: Columns, lattice: Lattice) -> Ladder:
        """From the partials of its cells."""
        units = algebra.identity(1)
        made = tuple(lattice.matrix(column, unit) for column, unit in zip(columns, units, strict=True))
        if algebra.difference is not Difference.FULL:
            return cls(algebra, [made])
        zero = tuple(np.zeros((1, lattice.groups), dtype=column.dtype) for column in made)
        sums = tuple(np.concatenate((z, np.cumsum(c, axis=0))) for z, c in zip(zero, made, strict=True))
        return cls(algebra, [made], sums)

    def windows(self, first: int, step: int, count: int, length: int) -> Columns:
        """The combines of `count` windows of `length` rows, the first beginning at row `first`; flat, row by row."""
        if self.sums is not None:
            begin, end = places(first, step, count), places(first + length, step, count)
            made = self.algebra.uncombine(tuple(c[end] for c in self.sums), tuple(c[begin] for c in self.sums))
            return tuple(np.ascontiguousarray(column).reshape(-1) for column in made)
        level = length.bit_length() - 1
        out = self._run(level, first, step, count)
        at = first + (1 << level)
        if self.algebra.idempotent and length > 1 << level:  # what is counted twice does no harm
            out = self.algebra.combine(out, self._run(level, first + length - (1 << level), step, count))
            level = 0
        for lower in range(level - 1, -1, -1):
            if length >> lower & 1:
                out = self.algebra.combine(out, self._run(lower, at, step, count))
                at += 1 << lower
        return tuple(np.ascontiguousarray(column).reshape(-1) for column in out)

    def _run(self, level: int, first: int, step: int, count: int) -> Columns:
        """Combines of 2^level rows each."""
        while len(self.levels) <= level:
            half = 1 << (len(self.levels) - 1)
            below = self.levels[-1]
            self.levels.append(self.algebra.combine(tuple(c[:-half] for c in below), tuple(c[half:] for c in below)))
        return tuple(column[places(first, step, count)] for column in self.levels[level])
