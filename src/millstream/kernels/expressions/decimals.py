"""Decimals beyond what Arrow computes: as whole numbers of their last digit, rounded half up."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa

from millstream.kernels.expressions.bound_term import Failed, Result, Value, is_null


def units(value: Value) -> list[int | None]:
    """Decimals, or whole numbers, as whole numbers of the last digit.

    >>> units(pa.array([Decimal("1.50"), None]))
    [150, None]
    """
    if not pa.types.is_decimal(value.type):
        return value.to_pylist()
    if value.offset:
        value = pa.concat_arrays([value])
    words = np.frombuffer(value.buffers()[1], dtype=np.uint64)[: 2 * len(value)].reshape(-1, 2)
    nulls = is_null(value)
    high = words[:, 1].astype(np.int64)
    return [
        None if gone else (int(top) << 64) | int(low) for low, top, gone in zip(words[:, 0], high, nulls, strict=True)
    ]


def to_decimal(numbers: list[int | None], kind: pa.DataType, *, ansi: bool) -> Result:
    """Whole numbers of the last digit as decimals; what does not fit fails, or is null."""
    limit = 10**kind.precision
    nulls = np.zeros(len(numbers), dtype=np.bool_)
    wide = np.zeros((len(numbers), 2), dtype=np.uint64)
    far = np.zeros(len(numbers), dtype=np.bool_)
    for i, number in enumerate(numbers):
        if number is None:
            nulls[i] = True
        elif -limit < number < limit:
            wide[i, 0], wide[i, 1] = number & 0xFFFFFFFFFFFFFFFF, (number >> 64) & 0xFFFFFFFFFFFFFFFF
        else:
            far[i] = True
    gone = nulls | far
    mask = pa.array(~gone).buffers()[1]
    made = pa.Array.from_buffers(kind, len(numbers), [mask, pa.py_buffer(wide.tobytes())])
    if not ansi:
        return made, None
    return made, Failed.where(far, f"overflow of DECIMAL({kind.precision},{kind.scale})")


def rounded(number: int, down: int) -> int:
    """A whole number without its last digits, rounded half up.

    >>> rounded(125, 1), rounded(-125, 1)
    (13, -13)
    """
    if down <= 0:
        return number * 10**-down
    unit = 10**down
    whole, rest = divmod(abs(number), unit)
    whole += 2 * rest >= unit
    return -whole if number < 0 else whole


def each(fn: Callable[..., int | None], *values: Value) -> list[int | None]:
    """A function of the units of each row; null where one is."""
    return [
        None if any(one is None for one in row) else fn(*row)
        for row in zip(*(units(value) for value in values), strict=True)
    ]


def quotient(top: int, bottom: int) -> int:
    """A division rounded half up."""
    whole, rest = divmod(abs(top), abs(bottom))
    whole += 2 * rest >= abs(bottom)
    return -whole if (top < 0) != (bottom < 0) else whole


def scale_of(text: Decimal) -> int:
    """How many decimals a number has."""
    exponent = text.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0
