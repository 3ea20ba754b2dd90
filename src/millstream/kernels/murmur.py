"""Spark's own hash of whole numbers (Murmur3, seed 42), so that a kernel and Spark send a row to the same partition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SEED = 42
_U32 = np.uint32
KINDS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
"""The types it is for."""


def murmur(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> np.ndarray:
    """The hash of each row; a null leaves the hash of the columns before it.

    >>> murmur([pa.array([1, None], pa.int64()), pa.array([2, 2], pa.int32())], 2).tolist()
    [-1846558483, 1765031574]
    """
    hashed = np.full(rows, _SEED, dtype=np.uint32)
    for column in columns:
        values = pc.fill_null(column, 0).to_numpy(zero_copy_only=False)
        with np.errstate(over="ignore"):
            fresh = _long(values, hashed) if column.type == pa.int64() else _int(values.astype(np.int32), hashed)
        there = pc.is_valid(column).to_numpy(zero_copy_only=False) if column.null_count else None
        hashed = fresh if there is None else np.where(there, fresh, hashed)
    return hashed.view(np.int32)


def _long(values: np.ndarray, seed: np.ndarray) -> np.ndarray:
    words = values.astype(np.int64, copy=False).view(np.uint64)
    low, high = (words & np.uint64(0xFFFFFFFF)).astype(_U32), (words >> np.uint64(32)).astype(_U32)
    return _finish(_mix(_mix(seed, low), high), 8)


def _int(values: np.ndarray, seed: np.ndarray) -> np.ndarray:
    return _finish(_mix(seed, values.view(_U32)), 4)


def _mix(hashed: np.ndarray, word: np.ndarray) -> np.ndarray:
    word = _rotate(word * _U32(0xCC9E2D51), 15) * _U32(0x1B873593)
    return _rotate(hashed ^ word, 13) * _U32(5) + _U32(0xE6546B64)


def _finish(hashed: np.ndarray, length: int) -> np.ndarray:
    hashed = hashed ^ _U32(length)
    hashed = (hashed ^ (hashed >> _U32(16))) * _U32(0x85EBCA6B)
    hashed = (hashed ^ (hashed >> _U32(13))) * _U32(0xC2B2AE35)
    return hashed ^ (hashed >> _U32(16))


def _rotate(words: np.ndarray, by: int) -> np.ndarray:
    return (words << _U32(by)) | (words >> _U32(32 - by))
