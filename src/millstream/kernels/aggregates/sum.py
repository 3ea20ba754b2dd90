"""sum(x): exact for integers and decimals, floating for floats; null where there was no value."""

from __future__ import annotations

import decimal
from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa

from millstream.core.aggregate import Difference
from millstream.kernels.aggregates.base import (
    Columns,
    Work,
    null_where,
    numbers,
    ones,
    plain,
    sum_by,
    to_numpy,
)
from millstream.kernels.aggregates.parts import limbs
from millstream.kernels.aggregates.parts.additive import Additive, ieee
from millstream.kernels.ticks import to_ticks


class ExactSum(Additive):
    """The sum of integers or decimals, in limbs.

    >>> total = ExactSum(pa.int64())
    >>> lifted = total.lift([pa.array([2**62, 2**62, -(2**62)])])
    >>> total.lower(total.close(Work(total.reduce(lifted.columns, np.zeros(3, int), 1)))).to_pylist()
    [4611686018427387904]
    """

    difference = Difference.FULL

    def __init__(self, kind: pa.DataType, what: str = "sum") -> None:
        """Sum values of type `kind`; `what` names the sum in errors."""
        self.what = what
        self.partial_types = (pa.int64(),) * (1 + limbs.limb_count(kind))
        self.result_type = pa.decimal128(38, kind.scale) if pa.types.is_decimal(kind) else pa.int64()

    @property
    def kin(self) -> Hashable:
        """Limbs of one type."""
        return "exact sum", len(self.partial_types)

    def lift(self, arguments: Sequence[pa.Array]) -> Work:
        """One value, in limbs."""
        array = arguments[0]
        valid = to_numpy(array.is_valid()) if array.null_count else None
        return Work((ones(valid, len(array)), *limbs.split(array)))

    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """Whole numbers are added first and cut into limbs after, where no sum can leave 64 bits."""
        array = arguments[0]
        values = _narrow(array)
        if values is None:
            return super().gather(arguments, cells, n)
        there = cells[to_numpy(array.is_valid())] if array.null_count else cells
        count = np.bincount(there, minlength=n)
        return Work((count, *limbs.spread(sum_by(values, cells, n), len(self.partial_types) - 1)))

    def uncombine(self, whole: Columns, part: Columns) -> Columns:
        """Subtract: exact, since every limb is an integer."""
        return tuple(x - y for x, y in zip(whole, part, strict=True))

    def close(self, work: Work) -> list[pa.Array]:
        """With carries done, so that a partial can be added to for ever."""
        count, *parts = work.columns
        return [plain(np.ascontiguousarray(c)) for c in (count, *limbs.carry(tuple(parts)))]

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The sum, null where nothing was summed."""
        count, *parts = (to_numpy(partial) for partial in partials)
        if pa.types.is_decimal(self.result_type):
            exact = limbs.to_decimals(tuple(parts), self.result_type, self.what)
        else:
            exact = limbs.to_integers(tuple(parts), self.what)
        return null_where(exact, count == 0)


class FloatSum(Additive):
    """The sum of floats. It adds and never subtracts: what left a window leaves no rounding behind.

    >>> total = FloatSum()
    >>> total.difference
    <Difference.NONE: 'none'>
    """

    partial_types = (pa.int64(), pa.float64())
    result_type = pa.float64()

    @property
    def kin(self) -> Hashable:
        """A count and a sum."""
        return "float sum"

    def lift(self, arguments: Sequence[pa.Array]) -> Work:
        """One value."""
        values, valid = numbers(arguments[0])
        return Work((ones(valid, len(values)), values.astype(np.float64)))

    @ieee
    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """Count and add within cells, without a column of ones."""
        values, valid = numbers(arguments[0])
        there = cells if valid is None else cells[valid]
        return Work((np.bincount(there, minlength=n), sum_by(values.astype(np.float64), cells, n)))

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The sum, null where nothing was summed."""
        return null_where(partials[1], to_numpy(partials[0]) == 0)


def _narrow(array: pa.Array) -> np.ndarray | None:
    """The values as int64, 0 where null, if even the sum of their sizes stays below 2⁶²."""
    kind = array.type
    if pa.types.is_decimal(kind):
        if kind.precision > 18:
            return None
        values = to_ticks(array.fill_null(decimal.Decimal(0)) if array.null_count else array)
    elif kind == pa.uint64():
        return None
    else:
        values = to_numpy((array.fill_null(0) if array.null_count else array).cast(pa.int64()))
    if not len(values):
        return values
    largest = max(abs(int(values.min())), abs(int(values.max())))
    return values if largest * len(values) < 2**62 else None
