"""Variance and standard deviation: the count, the mean, and the sum of squared distances from the mean.

Partials combine by Chan's rule [Chan, Golub, LeVeque 1983], which never subtracts two large squares:
{10⁹, 10⁹ + 1, 10⁹ + 2} has variance 1.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import (
    Algebra,
    Columns,
    Work,
    floats,
    null_where,
    ones,
    plain,
    sum_by,
    to_numpy,
)

# An infinite value has no distance from the mean: the answer is NaN, and no cause for a warning.
_ieee = np.errstate(invalid="ignore", over="ignore")


class Variance(Algebra):
    """The variance of numbers, or its root; of a sample or of the whole population.

    Null where it is not defined: below two values for a sample, below one for a population.

    In exact arithmetic the moments of a part can be taken from those of the whole. In floats the rounding of
    what was taken would stay behind, and a window's answer depend on rows that left it: no `uncombine` here.

    >>> variance = Variance(sample=True)
    >>> work = variance.gather([pa.array([1e9, 1e9 + 1, 1e9 + 2])], np.zeros(3, int), 1)
    >>> variance.lower(variance.close(work)).to_pylist()
    [1.0]
    """

    partial_types = (pa.int64(), pa.float64(), pa.float64())
    result_type = pa.float64()

    def __init__(self, *, sample: bool, root: bool = False) -> None:
        """Of a `sample` the squares are divided by n − 1, else by n; `root` makes it a standard deviation."""
        self.sample = sample
        self.root = root

    @property
    def kin(self) -> Hashable:
        """Moments, whatever they are divided by."""
        return "moments"

    @_ieee
    def lift(self, arguments: Sequence[pa.Array]) -> Work:
        """One value, at no distance from itself."""
        values, valid = floats(arguments[0])
        return Work((ones(valid, len(values)), values, values - values))  # NaN for what is not finite

    def identity(self, n: int) -> Columns:
        """No value."""
        return np.zeros(n, dtype=np.int64), np.zeros(n), np.zeros(n)

    @_ieee
    def reduce(self, columns: Columns, cells: np.ndarray, n: int) -> Columns:
        """First the mean of each cell, then the distances from it."""
        count, mean, squares = columns
        total = sum_by(count, cells, n)
        divisor = np.maximum(total, 1)
        centre = sum_by(count * mean, cells, n) / divisor
        # What the rounded centre is off by shows as distances that do not cancel: put it right.
        away = np.where(count == 0, 0.0, mean - centre[cells])
        off = sum_by(count * away, cells, n) / divisor
        spread = sum_by(squares + count * away * away, cells, n) - total * off * off
        return total, centre + off, np.maximum(spread, 0.0)

    @_ieee
    def combine(self, a: Columns, b: Columns) -> Columns:
        """Chan's rule."""
        total = a[0] + b[0]
        share = b[0] / np.maximum(total, 1)
        # An empty partial has no mean, and must not pull the other's.
        apart = np.where((a[0] == 0) | (b[0] == 0), 0.0, b[1] - a[1])
        mean = np.where(a[0] == 0, b[1], a[1] + apart * share)
        return total, mean, a[2] + b[2] + apart * apart * share * a[0]

    def open(self, partials: Sequence[pa.Array]) -> Work:
        """The columns themselves."""
        return Work(tuple(to_numpy(partial) for partial in partials))

    def close(self, work: Work) -> list[pa.Array]:
        """The columns themselves."""
        return [plain(np.ascontiguousarray(column)) for column in work.columns]

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The variance, or its root; null where there are too few values."""
        count, _, squares = (to_numpy(partial) for partial in partials)
        freedom = count - 1 if self.sample else count
        variance = squares / np.maximum(freedom, 1)
        return null_where(pa.array(np.sqrt(variance) if self.root else variance), freedom < 1)
