"""Variance and standard deviation of integers, exact up to the one division at the end.

With exact sums of x and of x² the order of rows cannot show in the answer, and what has left a window can be
taken away without a trace.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa

from millstream.core.aggregate import Difference
from millstream.kernels.aggregates.base import Columns, Work, null_where, ones, plain, to_numpy
from millstream.kernels.aggregates.parts import limbs
from millstream.kernels.aggregates.parts.additive import Additive

_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
_SUM, _SQUARES = slice(1, 3), slice(3, 7)


class ExactVariance(Additive):
    """The variance of integers, or its root; of a sample or of the whole population.

    Null where it is not defined: below two values for a sample, below one for a population.

    >>> variance = ExactVariance(sample=True)
    >>> work = variance.gather([pa.array([2**62, 2**62 + 1, 2**62 + 2])], np.zeros(3, int), 1)
    >>> variance.lower(variance.close(work)).to_pylist()
    [1.0]
    """

    difference = Difference.FULL
    partial_types = (pa.int64(),) * 7
    """The number of values, their sum in two limbs, the sum of their squares in four."""
    result_type = pa.float64()

    def __init__(self, *, sample: bool, root: bool = False) -> None:
        """Of a `sample` the squares are divided by n − 1, else by n; `root` makes it a standard deviation."""
        self.sample = sample
        self.root = root

    @property
    def kin(self) -> Hashable:
        """Sums of values and of squares."""
        return "exact moments"

    def lift(self, arguments: Sequence[pa.Array]) -> Work:
        """One value and its square, in limbs."""
        array = arguments[0]
        valid = to_numpy(array.is_valid()) if array.null_count else None
        return Work((ones(valid, len(array)), *limbs.split(array), *_squares(array)))

    def uncombine(self, whole: Columns, part: Columns) -> Columns:
        """Subtract: exact, since every limb is an integer."""
        return tuple(x - y for x, y in zip(whole, part, strict=True))

    def close(self, work: Work) -> list[pa.Array]:
        """With carries done, so that a partial can be added to for ever."""
        columns = (work.columns[0], *limbs.carry(work.columns[_SUM]), *limbs.carry(work.columns[_SQUARES]))
        return [plain(np.ascontiguousarray(column)) for column in columns]

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """(n · Σx² − (Σx)²) ÷ (n · freedom), rounded once; null where there are too few values."""
        columns = tuple(to_numpy(partial) for partial in partials)
        count = columns[0]
        freedom = count - 1 if self.sample else count
        defined = freedom > 0
        total, total_fits = limbs.whole(columns[_SUM])
        squares, squares_fit = limbs.whole(columns[_SQUARES])
        # Below 2⁵³ nothing overflows, and both sides of the division are exact as floats.
        small = total_fits & squares_fit & (count * squares.astype(np.float64) < 2**53) & (count < 2**26)
        with np.errstate(over="ignore"):
            above = count * squares - total * total
            variance = above / np.maximum(count * freedom, 1)
        large = np.flatnonzero(defined & ~small)
        sums = limbs.to_python(tuple(column[large] for column in columns[_SUM]))
        powers = limbs.to_python(tuple(column[large] for column in columns[_SQUARES]))
        for row, x, xx in zip(large, sums, powers, strict=True):
            n = int(count[row])
            variance[row] = (n * xx - x * x) / (n * int(freedom[row]))  # Python's integers have any size
        return null_where(pa.array(np.sqrt(variance) if self.root else variance), ~defined)


def _squares(array: pa.Array) -> tuple[np.ndarray, ...]:
    """The limbs of each value's square, low first; null is zero.

    >>> limbs.to_python(_squares(pa.array([-(2**63), 2**63 - 1, None]))) == [2**126, (2**63 - 1) ** 2, 0]
    True
    """
    values = array.fill_null(0) if array.null_count else array
    if array.type == pa.uint64():
        size = to_numpy(values)
    else:
        size = np.abs(to_numpy(values.cast(pa.int64()))).astype(np.uint64)  # −2⁶³ stays what it is, as bits
    low, high = size & _LOW, size >> _HALF
    first, cross, last = low * low, low * high, high * high
    parts = (
        first & _LOW,
        (first >> _HALF) + ((cross & _LOW) << np.uint64(1)),
        ((cross >> _HALF) << np.uint64(1)) + (last & _LOW),
        last >> _HALF,
    )
    return limbs.carry(tuple(part.astype(np.int64) for part in parts))
