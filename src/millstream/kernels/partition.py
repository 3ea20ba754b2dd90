"""Which partition a group belongs to: a hash of its values that is the same on every machine and in every run.

Whole numbers are hashed as Spark hashes them, other values by the CRC-32 of their text. Spark has both functions, so
that a group lands in the same partition whether Spark or a kernel sends it there (see `spark/paths/partition.py`).
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from millstream.kernels.group import encode
from millstream.kernels.murmur import KINDS, murmur

_UTC = ZoneInfo("UTC")
SEPARATOR = "\x1f"
NULL = "\x00"


def partition_of(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int, partitions: int) -> np.ndarray:
    """The partition of each row, by the values of `columns`; without columns, partition 0.

    >>> partition_of([pa.array(["a", "b", "a"])], 3, 2).tolist()
    [1, 1, 1]
    >>> partition_of([pa.array([1, 2, 3, 4])], 4, 2).tolist()
    [1, 0, 1, 0]
    """
    if not columns or partitions == 1 or not rows:
        return np.zeros(rows, dtype=np.int64)
    if whole([column.type for column in columns]):
        return murmur(columns, rows) % partitions
    found = encode(columns, rows)
    index = pa.array(found.first)
    texts = zip(*([_text(value) for value in column.take(index).to_pylist()] for column in columns), strict=True)
    hashes = np.fromiter(
        (zlib.crc32(SEPARATOR.join(parts).encode()) for parts in texts), dtype=np.int64, count=found.count
    )
    return (hashes % partitions)[found.codes]


def whole(kinds: Sequence[pa.DataType]) -> bool:
    """Are values of these types hashed as whole numbers?"""
    return all(kind in KINDS for kind in kinds)


def _text(value: Any) -> str:
    match value:
        case None:
            return NULL
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case datetime():  # in whatever time zone, a moment is in one partition
            return repr(value if value.tzinfo is None else value.astimezone(_UTC))
        case date():
            return value.isoformat()
        case int():
            return str(value)
        case float():
            return repr(value + 0.0)  # both zeros are one group
        case _:
            return repr(value)
