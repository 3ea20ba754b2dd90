"""Values to Arrow arrays of a given type, without losing anything on the way.

Arrow's own `pa.array(values, type)` cuts 1.5 to 1 for an integer column and drops the hour for a date;
here such a value is an error, so that its row can be set apart. A time stamp without a zone means UTC, and
one with a zone is turned to UTC for a column that has none.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from numbers import Number
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.runtime.sources.decimal_texts import decimals

REFUSALS = (pa.ArrowException, ValueError, TypeError, OverflowError)
"""What Arrow raises for a value that does not fit."""

_ZONE = r"\d[T ]\d\d:?\d\d.*(Z|[+-]\d\d(:?\d\d)?)$"
_DAY = r"^(\d{4}-\d\d-\d\d)$"
_NOT_FINITE = pa.array(["nan", "inf", "-inf", "infinity", "-infinity"])


def from_values(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Python values as an array of type `kind`.

    A value must be of its column's sort: text for text, a number for a number. Text is also read where JSON
    has no word of its own: dates, times, decimals, and floats that are not finite.

    >>> from_values([1, 2.0, None], pa.int64()).to_pylist()
    [1, 2, None]
    >>> from_values([1.5], pa.int64())
    Traceback (most recent call last):
        ...
    pyarrow.lib.ArrowInvalid: Float value 1.5... was truncated converting to int64
    """
    types = pa.types
    if types.is_decimal(kind):
        # A float is read by its shortest text: 1.10 is meant, not the binary fraction next to it.
        return from_text([_written(v) for v in values], kind)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_temporal(kind)):
        return pa.array(values, kind)
    # In a mixed list Arrow's first value decides for all: it would make 1.0 of True, a day of a time stamp.
    sorts = set(map(type, values))
    if bool in sorts:
        raise TypeError("true or false where a number is expected")
    if any(
        issubclass(sort, dict | list | tuple) for sort in sorts
    ):  # Arrow would follow one that holds itself for ever
        raise TypeError("several values where one is expected")
    if dt.date in sorts and any(issubclass(sort, dt.datetime) for sort in sorts):
        raise TypeError("dates among time stamps")
    guessed = pa.array(values)
    found = guessed.type
    if types.is_string(found):
        if types.is_temporal(kind):
            return from_text(guessed, kind)
        if types.is_floating(kind) and pc.all(pc.is_in(pc.utf8_lower(guessed), _NOT_FINITE)).as_py():
            return guessed.cast(kind)
        raise TypeError("text where a number is expected")
    return _cast(guessed, kind)


def _written(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Number):
        raise TypeError("no number where one is expected")
    return str(value)


def from_text(values: Any, kind: pa.DataType) -> pa.Array:
    """Text, a list or an Arrow array, as an array of type `kind`; blanks around it count only for text.

    >>> stamps = from_text(["2024-01-01T01:00:00+01:00", "2024-01-01"], pa.timestamp("s", "UTC"))
    >>> stamps.cast("int64").to_pylist()
    [1704067200, 1704067200]
    """
    text = pa.array(values, pa.string()) if isinstance(values, list | tuple) else values
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return text.cast(kind)
    text = pc.utf8_trim_whitespace(text)
    if pa.types.is_decimal(kind):
        return decimals(text, kind)
    if not pa.types.is_timestamp(kind):
        return text.cast(kind)
    try:
        return text.cast(kind)
    except pa.ArrowInvalid:  # zones that are missing, or not expected
        text = pc.replace_substring_regex(text, _DAY, r"\1T00:00:00")
        zoned = pc.if_else(pc.match_substring_regex(text, _ZONE), text, pc.binary_join_element_wise(text, "Z", ""))
        return zoned.cast(pa.timestamp(kind.unit, "UTC")).cast(kind)


def from_column(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """An Arrow column as type `kind`, by Arrow's safe casts and, for text, by `from_text`."""
    if column.type == kind:
        return column
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return from_text(column, kind)
    return _cast(column, kind)


def _cast(array: Any, kind: pa.DataType) -> Any:
    """Arrow's safe cast, made safe where it is not: hours to a date, 2 to true, a float to fewer digits."""
    types, found, made = pa.types, array.type, array.cast(kind)
    suspect = (
        (types.is_timestamp(found) and not types.is_timestamp(kind) and types.is_temporal(kind))
        or (types.is_boolean(kind) and not types.is_boolean(found))
        or (types.is_decimal(kind) and types.is_floating(found))
    )
    if suspect and not made.cast(found).equals(array):
        raise pa.ArrowInvalid(f"the cast from {found} to {kind} would lose data")
    return made
