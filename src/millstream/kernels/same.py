"""Equality of values by their places: the last word after hashes agreed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Column = pa.Array | pa.ChunkedArray


def same(left: Column, mine: np.ndarray, right: Column, theirs: np.ndarray) -> np.ndarray:
    """Is each chosen value of one column equal to that of the other? Two nulls are, and so are two that are no number.

    >>> same(pa.array([1, None, 3]), np.array([0, 1, 2]), pa.array([1, None, 4]), np.array([0, 1, 2])).tolist()
    [True, True, False]
    """
    kind = left.type
    if (pa.types.is_integer(kind) or pa.types.is_timestamp(kind)) and not left.null_count and not right.null_count:
        return _numbers(left)[mine] == _numbers(right)[theirs]
    one, other = left.take(pa.array(mine)), right.take(pa.array(theirs))
    equal = pc.fill_null(pc.equal(one, other), pa.scalar(value=False))
    if left.null_count and right.null_count:
        equal = pc.or_(equal, pc.and_(pc.is_null(one), pc.is_null(other)))
    if pa.types.is_floating(kind):
        nans = pc.and_(pc.is_nan(one.cast(pa.float64())), pc.is_nan(other.cast(pa.float64())))
        equal = pc.or_(equal, pc.fill_null(nans, pa.scalar(value=False)))
    return equal.to_numpy(zero_copy_only=False) if isinstance(equal, pa.Array) else equal.to_numpy()


def alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Can values of these types be equal? A moment is the same moment in every time zone.

    >>> alike(pa.timestamp("us", "UTC"), pa.timestamp("us", "Asia/Tokyo"))
    True
    >>> alike(pa.timestamp("us", "UTC"), pa.timestamp("us"))
    False
    """
    if not (pa.types.is_timestamp(one) and pa.types.is_timestamp(other)):
        return one == other
    return one.unit == other.unit and (one.tz is None) == (other.tz is None)


def all_alike(one: pa.Schema, other: pa.Schema) -> bool:
    """Have these the same columns, of types that can be equal?"""
    return one.names == other.names and all(alike(a, b) for a, b in zip(one.types, other.types, strict=True))


def _numbers(column: Column) -> np.ndarray:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    plain = array.view(pa.int64()) if pa.types.is_timestamp(array.type) else array
    return plain.to_numpy(zero_copy_only=False)
