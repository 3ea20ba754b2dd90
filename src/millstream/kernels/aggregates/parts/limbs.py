"""Exact sums of integers and decimals: each value is cut into 32-bit limbs, and limbs are added apart.

A limb's sum stays within 64 bits for 2³¹ rows, so nothing can overflow unseen. Only the lowering looks at
the whole number, and says so when it does not fit.
"""

from __future__ import annotations

import decimal

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.parts.failed import NoValue, packed
from millstream.kernels.ticks import from_ticks

_LOW = np.int64(0xFFFFFFFF)
_EXACT = decimal.Context(prec=120)


def limb_count(kind: pa.DataType) -> int:
    """How many limbs a value of this type needs.

    >>> limb_count(pa.int64()), limb_count(pa.decimal128(38, 2))
    (2, 4)
    """
    return 4 if pa.types.is_decimal(kind) else 2


def split(array: pa.Array) -> tuple[np.ndarray, ...]:
    """The limbs of each value, low first; the last one carries the sign. Null is zero.

    >>> [limb.tolist() for limb in split(pa.array([2**32 + 5, -1, None]))]
    [[5, 4294967295, 0], [1, -1, 0]]
    """
    kind = array.type
    if pa.types.is_decimal(kind):
        wide = array.cast(pa.decimal128(kind.precision, kind.scale)).fill_null(decimal.Decimal(0))
        words = np.frombuffer(wide.buffers()[1], dtype=np.int64)[2 * wide.offset :][: 2 * len(wide)]
        low, high = words[0::2], words[1::2]
        return low & _LOW, (low >> 32) & _LOW, high & _LOW, high >> 32
    values = array.fill_null(0) if array.null_count else array
    if kind == pa.uint64():
        raw = values.to_numpy(zero_copy_only=False)
        return (raw & np.uint64(_LOW)).astype(np.int64), (raw >> np.uint64(32)).astype(np.int64)
    plain = values.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return plain & _LOW, plain >> 32


def spread(values: np.ndarray, count: int) -> tuple[np.ndarray, ...]:
    """The limbs of int64 numbers, as many as asked for.

    >>> [limb.tolist() for limb in spread(np.array([2**32 + 5, -1]), 2)]
    [[5, 4294967295], [1, -1]]
    """
    words = (values,) if count == 2 else (values, values >> 63)  # the sign fills the upper word
    parts = [part for word in words for part in (word & _LOW, (word >> 32) & _LOW)]
    return (*parts[:-1], words[-1] >> 32)


def carry(limbs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """The same numbers with every limb but the last below 2³².

    >>> [limb.tolist() for limb in carry((np.array([2**33 + 1]), np.array([0])))]
    [[1], [2]]
    """
    out: list[np.ndarray] = []
    over: np.ndarray | int = 0
    for limb in limbs[:-1]:
        whole = limb + over
        out.append(whole & _LOW)
        over = whole >> 32
    return (*out, limbs[-1] + over)


def whole(limbs: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The numbers as int64, and which of them fit; the others are only their lower 64 bits.

    >>> numbers, fit = whole(spread(np.array([2**40, -7]), 4))
    >>> numbers.tolist(), fit.tolist()
    ([1099511627776, -7], [True, True])
    """
    first, second, *upper = carry(limbs)
    numbers = (second << 32) + first
    if not upper:
        return numbers, (second >= -(2**31)) & (second < 2**31)
    sign = numbers >> 63
    return numbers, (upper[0] == sign & _LOW) & (upper[1] == sign)


def to_integers(limbs: tuple[np.ndarray, ...], what: str) -> pa.Array:
    """Two limbs as int64; a sum that does not fit has failed, and the reason names it.

    >>> to_integers((np.array([5]), np.array([1])), "sum(x)").to_pylist()
    [4294967301]
    """
    numbers, fit = whole(limbs)
    if fit.all():
        return pa.array(numbers)
    return packed(
        [
            value
            if there
            else NoValue(f"{what} is {value}, which does not fit a 64-bit integer; sum a decimal instead")
            for value, there in zip(to_python(limbs), fit, strict=True)
        ],
        pa.int64(),
    )


def to_python(limbs: tuple[np.ndarray, ...]) -> list[int]:
    """The numbers themselves, of any size."""
    out = [int(value) for value in limbs[-1]]
    for limb in reversed(limbs[:-1]):
        out = [(value << 32) + int(part) for value, part in zip(out, limb, strict=True)]
    return out


def to_decimals(limbs: tuple[np.ndarray, ...], kind: pa.DataType, what: str) -> pa.Array:
    """Four limbs as decimals of the given type; a sum that does not fit has failed, and the reason names it."""
    small, fit = whole(limbs)
    if kind.precision > 18 and fit.all():
        return from_ticks(small, kind)
    limit = 10**kind.precision
    values = [(abs(n) < limit, decimal.Decimal(n).scaleb(-kind.scale, _EXACT)) for n in to_python(limbs)]
    if all(fits for fits, _ in values):
        return pa.array([value for _, value in values], kind)
    return packed([value if fits else NoValue(f"{what} is {value}, beyond {kind}") for fits, value in values], kind)
