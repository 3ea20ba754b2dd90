"""Order as integers: a value of any sortable type becomes an int64 that compares as the value does.

Floats keep Spark's and DuckDB's order: −0.0 equals 0.0, NaN equals NaN and is greater than all others.
Strings are ordered by their bytes.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.aggregates.base import to_numpy
from millstream.kernels.ticks import to_ticks

_LEAST = np.int64(-(2**63))
_GREATEST = np.int64(2**63 - 1)
# Keys of this span or less are packed as they are; wider ones are renumbered first.
_SPAN = 2**31


def decoded_type(kind: pa.DataType) -> pa.DataType:
    """The type whose kernels Arrow has all of: no dictionary, no view, no narrow decimal or float.

    >>> decoded_type(pa.dictionary(pa.int32(), pa.string()))
    DataType(string)
    """
    if pa.types.is_dictionary(kind):
        return decoded_type(kind.value_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        return pa.decimal128(kind.precision, kind.scale)
    return pa.float32() if pa.types.is_float16(kind) else kind


def decode(array: pa.Array) -> pa.Array:
    """The same values in the `decoded_type` of the array, and equal values in the same form.

    >>> decode(pa.array(["b", "a"]).dictionary_encode()).type
    DataType(string)
    """
    kind = decoded_type(array.type)
    plain = array if kind == array.type else array.cast(kind)
    # Adding 0.0 turns −0.0 into 0.0: which of the two came first must not show in an answer.
    return pc.add(plain, pa.scalar(0.0, kind)) if pa.types.is_floating(kind) else plain


def temporal(kind: pa.DataType) -> bool:
    """A time, stored as an integer."""
    is_type = pa.types
    return is_type.is_timestamp(kind) or is_type.is_date(kind) or is_type.is_time(kind) or is_type.is_duration(kind)


def textual(kind: pa.DataType) -> bool:
    """A string of characters or bytes."""
    is_type = pa.types
    return (
        is_type.is_string(kind)
        or is_type.is_large_string(kind)
        or is_type.is_binary(kind)
        or is_type.is_large_binary(kind)
        or is_type.is_fixed_size_binary(kind)
    )


def direct(kind: pa.DataType) -> bool:
    """NumPy holds the values: a number, a truth value or a time."""
    is_type = pa.types
    return is_type.is_integer(kind) or is_type.is_floating(kind) or is_type.is_boolean(kind) or temporal(kind)


def lasting(kind: pa.DataType) -> bool:
    """The ordinal of a value depends on the value alone, and not on the column it stands in."""
    return direct(kind) or (pa.types.is_decimal(kind) and kind.precision <= 18)


def sortable(kind: pa.DataType) -> bool:
    """Values of this type have ordinals.

    >>> sortable(pa.string()), sortable(pa.list_(pa.int64()))
    (True, False)
    """
    return direct(kind) or textual(kind) or pa.types.is_decimal(kind)


def storage(array: pa.Array) -> pa.Array:
    """Times as the integers they are stored as; anything else as it is.

    >>> storage(pa.array([7, None], pa.date32())).to_pylist()
    [7, None]
    """
    if not temporal(array.type):
        return array
    return array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())


def ordinals(array: pa.Array) -> np.ndarray:
    """An int64 for each value of a decoded column without nulls, in the order of the values.

    >>> ordinals(pa.array(["pear", "fig", "pear"])).tolist()
    [1, 0, 1]
    >>> codes = ordinals(pa.array([float("nan"), float("inf"), 0.0, -0.0, -1.5]))
    >>> (codes[:-1] >= codes[1:]).tolist()
    [True, True, True, True]
    """
    kind = array.type
    if pa.types.is_floating(kind):
        return _float_ordinals(to_numpy(array).astype(np.float64))
    if kind == pa.uint64():
        return (to_numpy(array) ^ np.uint64(2**63)).view(np.int64)
    if direct(kind):
        return to_numpy(storage(array)).astype(np.int64)
    if lasting(kind):
        return to_ticks(array)
    encoded = array.dictionary_encode()
    place = np.empty(len(encoded.dictionary), dtype=np.int64)
    place[to_numpy(pc.sort_indices(encoded.dictionary))] = np.arange(len(place))
    return place[to_numpy(encoded.indices)]


def sorted_by(*keys: np.ndarray) -> np.ndarray:
    """The rows in order of the first key, then the next; equal rows stand in any order.

    >>> sorted_by(np.array([1, 0, 1]), np.array([5, 7, 2**60])).tolist()
    [1, 0, 2]
    """
    # Sorting one packed int64 takes a third of the time of `np.lexsort`.
    packed, _ = _narrowed(keys[0])
    for key in keys[1:]:
        code, size = _narrowed(key)
        packed, _ = _narrowed(packed)
        packed = packed * size + code
    return np.argsort(packed)


def greatest(codes: np.ndarray, cells: np.ndarray, n: int) -> np.ndarray:
    """Which rows have the greatest code of their cell.

    >>> greatest(np.array([3, 9, 9]), np.array([0, 1, 1]), 2).tolist()
    [True, True, True]
    """
    best = np.full(n, _LEAST)
    np.maximum.at(best, cells, codes)
    return codes == best[cells]


def _float_ordinals(values: np.ndarray) -> np.ndarray:
    bits = (values + 0.0).view(np.int64)  # adding 0.0 turns −0.0 into 0.0
    # The bits of a negative float grow with its size: turning all but the sign puts them in order.
    codes = bits ^ ((bits >> 63) & _GREATEST)
    return np.where(np.isnan(values), _GREATEST, codes)


def _narrowed(key: np.ndarray) -> tuple[np.ndarray, int]:
    """Codes in the order of the key, and a bound on them of at most 2³¹."""
    if not len(key):
        return key, 1
    low, high = int(key.min()), int(key.max())
    if high - low < _SPAN:
        return key - low, high - low + 1
    order = np.argsort(key)
    ranked = key[order]
    codes = np.empty(len(key), dtype=np.int64)
    codes[order] = np.concatenate(([0], np.cumsum(ranked[1:] != ranked[:-1])))
    return codes, len(key)
