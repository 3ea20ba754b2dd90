"""Grouping: from columns to codes 0…n−1, and from (key, group) pairs to cells.

A *cell* is one (group, key) pair, the key being a pane or a window id. Cells are numbered in order of
group, then key: the order in which the sliding combine wants its partials.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import SchemaError
from millstream.core.key import canonical

# Direct addressing is used while the table of counts stays within this multiple of the rows.
_DENSITY = 4
_SLACK = 1 << 16


@dataclass(frozen=True, slots=True)
class Groups:
    """Codes of the rows, and the row where each code first stands."""

    codes: np.ndarray
    first: np.ndarray

    @property
    def count(self) -> int:
        """How many groups there are."""
        return len(self.first)


@dataclass(frozen=True, slots=True)
class Cells:
    """The distinct (group, key) pairs of some rows, in order, and the cell of each row."""

    inverse: np.ndarray
    key: np.ndarray
    group: np.ndarray
    rows: np.ndarray
    """How many rows fell in each cell."""

    @property
    def count(self) -> int:
        """How many cells there are."""
        return len(self.key)


def check_groupable(kind: pa.DataType, name: str) -> None:
    """Refuse a column whose values Arrow cannot tell apart."""
    if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
        raise SchemaError(
            f"{name!r} is {kind}, by which rows cannot be grouped",
            hint="Select a field of it, or cast it to text, and group by that.",
        )


def encode(columns: Sequence[pa.Array | pa.ChunkedArray], rows: int) -> Groups:
    """Number the distinct combinations of values; null is a value of its own.

    >>> encode([pa.array(["b", "a", "b", None])], 4).codes.tolist()
    [0, 1, 0, 2]
    """
    codes = np.zeros(rows, dtype=np.int64)
    if not rows or not columns:
        return Groups(codes, codes[:1])
    size = 1
    for column in columns:
        one, n = _encode_one(column)
        if size == 1:
            codes, size = one, n
            continue
        codes = codes * n + one
        size *= n
        if size > _DENSITY * rows + _SLACK:
            codes, size = _compress(codes, size)
    if len(columns) > 1:
        codes, size = _compress(codes, size)
    first = np.empty(size, dtype=np.int64)
    first[codes[::-1]] = np.arange(rows - 1, -1, -1)
    return Groups(codes, first)


def stand_in(column: Any) -> Any:
    """A column of keys with the one of both zeros that stands for them: which one came first must not be seen.

    >>> stand_in(pa.array([-0.0, 1.5])).to_pylist()
    [0.0, 1.5]
    """
    if not pa.types.is_floating(column.type) or pa.types.is_float16(column.type):
        return column
    return pc.add(column, pa.scalar(0.0, column.type))


def tuples(table: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The keys that the rows of a table have in some columns, as punctuation names them.

    >>> tuples(pa.table({"k": [1.0, float("nan")]}), ["k"]) == [(1.0,), (canonical(float("nan")),)]
    True
    """
    if not names:
        return [()] * table.num_rows
    columns = [_canonical(table[name]) for name in names]
    return list(zip(*columns, strict=True))


def _canonical(column: pa.ChunkedArray) -> list[Any]:
    values = column.to_pylist()
    return [canonical(value) for value in values] if pa.types.is_floating(column.type) else values


def cells(key: np.ndarray, groups: np.ndarray, n_groups: int) -> Cells:
    """Number the distinct (group, key) pairs.

    >>> found = cells(np.array([7, 5, 7]), np.array([0, 1, 0]), 2)
    >>> found.inverse.tolist(), found.key.tolist(), found.group.tolist(), found.rows.tolist()
    ([0, 1, 0], [7, 5], [0, 1], [2, 1])
    """
    if not len(key):
        none = np.empty(0, dtype=np.int64)
        return Cells(none, none, none, none)
    low, high = int(key.min()), int(key.max())
    span = high - low + 1
    if span * n_groups <= _DENSITY * len(key) + _SLACK:
        code = groups * span + (key - low)
        rows = np.bincount(code, minlength=span * n_groups)
        used = np.flatnonzero(rows)
        place = np.empty(span * n_groups, dtype=np.int64)
        place[used] = np.arange(len(used))
        return Cells(place[code], used % span + low, used // span, rows[used])
    if span * n_groups < 2**62:
        used, inverse, rows = np.unique(groups * span + (key - low), return_inverse=True, return_counts=True)
        return Cells(inverse, used % span + low, used // span, rows)
    keys, key_codes = np.unique(key, return_inverse=True)
    inner = cells(key_codes, groups, n_groups)
    return Cells(inner.inverse, keys[inner.key], inner.group, inner.rows)


def codes(groups: np.ndarray, keys: np.ndarray, group: np.ndarray, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two lists of (group, key) pairs as numbers that compare as the pairs do, alike in both lists.

    >>> far = np.array([0, 2**62])
    >>> [part.tolist() for part in codes(np.array([0, 9]), far, np.array([9]), far[:1])]
    [[0, 19], [18]]
    """
    low = min(int(keys.min()), int(key.min()))
    span = max(int(keys.max()), int(key.max())) - low + 1
    if span * (max(int(groups.max()), int(group.max())) + 1) < 2**62:
        return groups * span + (keys - low), group * span + (key - low)
    # Nanoseconds times groups would not fit 64 bits: let ranks stand for keys.
    known = np.unique(np.concatenate((keys, key)))
    n = len(known)
    return groups * n + np.searchsorted(known, keys), group * n + np.searchsorted(known, key)


def first_rows(inverse: np.ndarray, count: int) -> np.ndarray:
    """For each code, a row that has it: the first.

    >>> first_rows(np.array([1, 0, 1]), 2).tolist()
    [1, 0]
    """
    first = np.empty(count, dtype=np.int64)
    first[inverse[::-1]] = np.arange(len(inverse) - 1, -1, -1)
    return first


def _encode_one(column: pa.Array | pa.ChunkedArray) -> tuple[np.ndarray, int]:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if pa.types.is_integer(array.type) and not array.null_count and len(array):
        values = array.to_numpy(zero_copy_only=False)
        low, high = int(values.min()), int(values.max())
        if high - low < _DENSITY * len(values) + _SLACK:
            shifted = values - values.min() if values.dtype == np.uint64 else values.astype(np.int64) - low
            return _compress(shifted.astype(np.int64), high - low + 1)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_float16(array.type):
        array = array.cast(pa.float32())
    if pa.types.is_floating(array.type):
        array = stand_in(array)
        array = pc.if_else(pc.is_nan(array), pa.scalar(float("nan"), array.type), array)  # NaN, whatever its bits
    encoded = array.dictionary_encode(null_encoding="encode")
    return encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64), len(encoded.dictionary)


def _compress(codes: np.ndarray, size: int) -> tuple[np.ndarray, int]:
    """Renumber so that every code is in use."""
    if size <= _DENSITY * len(codes) + _SLACK:
        present = np.zeros(size, dtype=np.bool_)
        present[codes] = True
        used = np.flatnonzero(present)
        if len(used) == size:
            return codes, size
        place = np.empty(size, dtype=np.int64)
        place[used] = np.arange(len(used))
        return place[codes], len(used)
    used, inverse = np.unique(codes, return_inverse=True)
    return inverse, len(used)
