"""Which partition a group belongs to: a hash of its values that is the same on every machine and in every run."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.group import encode

_MIX = np.uint64(0x9E3779B97F4A7C15)


def partition_of(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int, partitions: int) -> np.ndarray:
    """The partition of each row, by the values of `columns`; without columns, partition 0.

    >>> partition_of([pa.array(["a", "b", "a"])], 3, 2).tolist()
    [1, 0, 1]
    """
    if not columns or partitions == 1 or not rows:
        return np.zeros(rows, dtype=np.int64)
    found = encode(columns, rows)
    index = pa.array(found.first)
    mixed = np.zeros(found.count, dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ _hash(column.take(index))) * _MIX
        mixed ^= mixed >> np.uint64(29)
    return (mixed % np.uint64(partitions)).astype(np.int64)[found.codes]


def _hash(values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if pa.types.is_integer(array.type) and not array.null_count:
        return array.cast(pa.int64(), safe=False).to_numpy(zero_copy_only=False).view(np.uint64) + np.uint64(1)
    return np.array([zlib.crc32(repr(value).encode()) for value in array.to_pylist()], dtype=np.uint64)
