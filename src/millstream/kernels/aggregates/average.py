"""avg(x): the exact total, divided once; null where there was no value.

Integers give the float64 nearest to the true average. Decimals stay decimals with four more digits, halves
rounded away from zero, as Spark's avg(decimal) has them.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import null_where, to_numpy
from millstream.kernels.aggregates.parts import limbs
from millstream.kernels.aggregates.parts.failed import NoValue, packed
from millstream.kernels.aggregates.sum import ExactSum, FloatSum
from millstream.kernels.ticks import from_ticks

_EXTRA_DIGITS = 4
_EXACT = decimal.Context(prec=120)


class IntegerAverage(ExactSum):
    """The average of integers, from their exact sum.

    >>> mean = IntegerAverage(pa.int64())
    >>> work = mean.gather([pa.array([2**62, 2**62, 2**62 + 3 * 2**20])], np.zeros(3, int), 1)
    >>> mean.lower(mean.close(work)).to_pylist() == [2**62 + 2**20]
    True
    """

    def __init__(self, kind: pa.DataType, what: str = "avg") -> None:
        """Average values of type `kind`; `what` names the average in errors."""
        super().__init__(kind, what)
        self.result_type = pa.float64()

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The average, null where nothing was summed."""
        count, *parts = (to_numpy(partial) for partial in partials)
        total, fit = limbs.whole(tuple(parts))
        divisor = np.maximum(count, 1)
        # Below 2⁵³ both numbers are exact as floats, and dividing them rounds once.
        exact = fit & (total > -(2**53)) & (total < 2**53)
        mean = total / divisor
        large = np.flatnonzero(~exact)
        for row, number in zip(large, limbs.to_python(tuple(part[large] for part in parts)), strict=True):
            mean[row] = number / int(divisor[row])  # Python divides integers of any size, and rounds once
        return null_where(pa.array(mean), count == 0)


class DecimalAverage(ExactSum):
    """The average of decimals, as a decimal with four more digits.

    >>> mean = DecimalAverage(pa.decimal128(5, 2))
    >>> prices = pa.array([decimal.Decimal("0.01"), decimal.Decimal("0.01"), decimal.Decimal("0.03")])
    >>> work = mean.gather([prices], np.zeros(3, int), 1)
    >>> mean.lower(mean.close(work)).to_pylist(), mean.result_type
    ([Decimal('0.016667')], Decimal128Type(decimal128(9, 6)))
    """

    def __init__(self, kind: pa.DataType, what: str = "avg") -> None:
        """Average values of type `kind`; `what` names the average in errors."""
        super().__init__(kind, what)
        scale = min(38, kind.scale + _EXTRA_DIGITS)
        self.result_type = pa.decimal128(min(38, kind.precision + _EXTRA_DIGITS), scale)
        self._raise_by = 10 ** (scale - kind.scale)

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The average, null where nothing was summed."""
        count, *parts = (to_numpy(partial) for partial in partials)
        divisor = np.maximum(count, 1)
        total, fit = limbs.whole(tuple(parts))
        # Mostly there is room in 64 bits for the extra digits and the doubling, and NumPy can divide.
        if fit.all() and (np.abs(total) < 2**48).all() and (count < 2**31).all():
            total *= self._raise_by
            rounded = (2 * np.abs(total) + divisor) // (2 * divisor) * np.sign(total)
            return null_where(from_ticks(rounded, self.result_type), count == 0)
        numbers = [
            self._rounded(total * self._raise_by, int(n))
            for total, n in zip(limbs.to_python(tuple(parts)), divisor, strict=True)
        ]
        if any(isinstance(one, NoValue) for one in numbers):
            return packed(numbers, self.result_type)
        return null_where(pa.array(numbers, self.result_type), count == 0)

    def _rounded(self, total: int, count: int) -> decimal.Decimal | NoValue:
        number = (2 * abs(total) + count) // (2 * count) * (1 if total >= 0 else -1)
        value = decimal.Decimal(number).scaleb(-self.result_type.scale, _EXACT)
        if abs(number) >= 10**self.result_type.precision:
            return NoValue(f"{self.what} is {value}, beyond {self.result_type}")
        return value


class FloatAverage(FloatSum):
    """The average of floats. Like their sum it adds and never subtracts.

    >>> mean = FloatAverage()
    >>> work = mean.gather([pa.array([1.0, 2.0, None])], np.array([0, 0, 1]), 2)
    >>> mean.lower(mean.close(work)).to_pylist()
    [1.5, None]
    """

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The average, null where nothing was summed."""
        count, total = (to_numpy(partial) for partial in partials)
        return null_where(pa.array(total / np.maximum(count, 1)), count == 0)
