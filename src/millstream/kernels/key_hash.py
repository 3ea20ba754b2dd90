"""A 32-bit hash of the keys of rows, computed by columns: the same for equal keys on every machine and in every run.

Different keys may have the same hash, so whoever finds rows by it compares the keys themselves afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_PRIME = np.uint64(0x100000001B3)
_NULL = np.uint64(0x9E3779B97F4A7C15)
Column = pa.Array | pa.ChunkedArray


def key_hash(columns: Sequence[Column], rows: int) -> np.ndarray:
    """The hash of each row's key, as 64-bit numbers below 2³²; without columns it is zero.

    >>> first, second, third = key_hash([pa.array(["a", "b", "a"]), pa.array([1, 1, 1])], 3)
    >>> bool(first == third), bool(first == second)
    (True, False)
    """
    out = np.zeros(rows, dtype=np.uint64)
    for column in columns:
        out = _mix(out * _PRIME + _words(column))
    return out >> np.uint64(32)


def any_null(columns: Sequence[Column], rows: int) -> np.ndarray:
    """Which rows have a null in their key."""
    out = np.zeros(rows, dtype=np.bool_)
    for column in columns:
        if column.null_count:
            out |= pc.is_null(column).to_numpy(zero_copy_only=False)
    return out


def _words(column: Column) -> np.ndarray:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    there = None if not array.null_count else array.is_valid().to_numpy(zero_copy_only=False)
    words = _valid_words(array)
    return words if there is None else np.where(there, words, _NULL)


def _valid_words(array: pa.Array) -> np.ndarray:
    """One word a value; what stands where a value is null does not matter."""
    kind = array.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return _integers(array)
    if pa.types.is_floating(kind):
        wide = pc.fill_null(array.cast(pa.float64()), 0.0).to_numpy(zero_copy_only=False)
        # One pattern of bits for both zeros, and one for all that is not a number.
        return np.where(np.isnan(wide), np.nan, wide + 0.0).view(np.uint64)
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return _texts(array.cast(pa.large_binary()))
    if pa.types.is_large_string(kind) or pa.types.is_large_binary(kind):
        return _texts(array.cast(pa.large_binary()))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind) or kind in (pa.date64(), pa.time64("us")):
        return _integers(array.view(pa.int64()))
    if pa.types.is_date32(kind):
        return _integers(array.view(pa.int32()))
    return _texts(array.cast(pa.string()).cast(pa.large_binary()))


def _integers(array: pa.Array) -> np.ndarray:
    filled = pc.fill_null(array, pa.scalar(value=False)) if pa.types.is_boolean(array.type) else pc.fill_null(array, 0)
    values = filled.to_numpy(zero_copy_only=False)
    return values.astype(np.uint64) if values.dtype == np.bool_ else values.astype(np.int64, copy=False).view(np.uint64)


def _texts(array: pa.Array) -> np.ndarray:
    """A polynomial in the bytes of each value."""
    array = pc.fill_null(array, b"")
    offsets = np.frombuffer(array.buffers()[1], dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    lengths = np.diff(offsets)
    out = lengths.astype(np.uint64)
    filled = np.flatnonzero(lengths)
    if not len(filled):
        return out
    data = np.frombuffer(array.buffers()[2], dtype=np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
    starts = offsets[:-1] - offsets[0]
    place = np.arange(len(data)) - np.repeat(starts, lengths)
    powers = np.cumprod(np.full(int(lengths.max()), _PRIME, dtype=np.uint64))
    out[filled] += np.add.reduceat((data + np.uint64(1)) * powers[place], starts[filled])
    return out


def _mix(words: np.ndarray) -> np.ndarray:
    """Spread every bit over all others (the finalizer of SplitMix64)."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
