"""Columns to a table of a given schema; the rows that do not fit are found and named, the others go on.

A column is converted whole. Only when that fails is it halved, and halved again, down to the values at fault:
one bad value among a million costs about forty conversions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.runtime.sources.convert import REFUSALS
from millstream.runtime.sources.raw import shown

Convert = Callable[[Any, pa.DataType], Any]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The rows that fit, and why each of the others does not, by row number."""

    rows: pa.Table
    bad: Mapping[int, str]


def fit(columns: Mapping[str, Any], schema: pa.Schema, size: int, convert: Convert) -> Fitted:
    """Convert each column of `size` values to its type in `schema`; `convert` raises for what does not fit.

    >>> from millstream.runtime.sources.convert import from_values
    >>> fitted = fit({"x": [1, "one", 2]}, pa.schema([("x", pa.int64())]), 3, from_values)
    >>> fitted.rows.to_pylist(), fitted.bad
    ([{'x': 1}, {'x': 2}], {1: 'column "x": "one" is not int64'})
    """
    bad: dict[int, str] = {}
    arrays = [_column(columns[field.name], field, size, convert, bad) for field in schema]
    table = pa.Table.from_arrays(arrays, schema=schema)
    if bad:
        keep = np.ones(size, dtype=bool)
        keep[list(bad)] = False
        table = table.filter(pa.array(keep))
    return Fitted(table, dict(sorted(bad.items())))


def _column(values: Any, field: pa.Field, size: int, convert: Convert, bad: dict[int, str]) -> pa.ChunkedArray:
    misfits: list[int] = []
    chunks = [
        piece
        for part in _parts(values, field.type, 0, size, convert, misfits)
        for piece in (part.chunks if isinstance(part, pa.ChunkedArray) else [part])
    ]
    column = pa.chunked_array(chunks, type=field.type)
    for row in misfits:
        bad.setdefault(row, f'column "{field.name}": {shown(values[row])} is not {field.type}')
    if not field.nullable and column.null_count:
        for row in np.flatnonzero(column.is_null().to_numpy()).tolist():
            bad.setdefault(row, f'column "{field.name}" is null, which the schema does not allow')
    return column


def _parts(values: Any, kind: pa.DataType, low: int, high: int, convert: Convert, misfits: list[int]) -> Iterator[Any]:
    try:
        yield convert(values[low:high], kind)
    except REFUSALS:
        if high - low <= 1:
            misfits.append(low)
            yield pa.nulls(1, kind)
        else:
            middle = (low + high) // 2
            yield from _parts(values, kind, low, middle, convert, misfits)
            yield from _parts(values, kind, middle, high, convert, misfits)
