"""The types of time stamps written as ISO text: microseconds, in UTC if the text carries a zone."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from millstream.runtime.sources.convert import from_text

_DAY = r"^\d{4}-\d\d-\d\d$"
_STAMP = r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d(:?\d\d)?)?$"
_ZONED = r"[T ].*(Z|[+-]\d\d(:?\d\d)?)$"


def text_schema(schema: pa.Schema) -> pa.Schema:
    """The schema to read text with: time stamps stay text, since Arrow's readers are partial to zones, and decimals."""
    stay = (pa.types.is_timestamp, pa.types.is_decimal)
    return pa.schema(
        [field.with_type(pa.string()) if any(is_(field.type) for is_ in stay) else field for field in schema]
    )


def micros(column: pa.ChunkedArray) -> pa.DataType:
    """The type for a CSV column whose type Arrow guessed: time stamps in microseconds if that loses nothing.

    >>> micros(pa.chunked_array([pa.array([1], pa.timestamp("s", "UTC"))]))
    TimestampType(timestamp[us, tz=UTC])
    """
    kind = column.type
    if pa.types.is_null(kind) or pa.types.is_binary(kind):
        return pa.string()
    if not pa.types.is_timestamp(kind):
        return kind
    wanted = pa.timestamp("us", kind.tz)
    try:
        column.cast(wanted)
    except pa.ArrowInvalid:  # digits beyond the microsecond
        return kind
    return wanted


def text_type(column: pa.ChunkedArray) -> pa.DataType:
    """The type for a column of text: a date or time stamp if every value is one, else text.

    >>> text_type(pa.chunked_array([["2024-01-01T00:00:00Z", None]]))
    TimestampType(timestamp[us, tz=UTC])
    """
    text = column.drop_null()
    if not len(text):
        return pa.string()
    if _every(text, _DAY):
        wanted = pa.date32()
    elif _every(text, _STAMP):
        zoned = pc.any(pc.match_substring_regex(text, _ZONED)).as_py()
        wanted = pa.timestamp("us", "UTC" if zoned else None)
    else:
        return pa.string()
    try:
        from_text(text, wanted)
    except pa.ArrowInvalid:  # the 31st of February
        return pa.string()
    return wanted


def _every(text: pa.ChunkedArray, pattern: str) -> bool:
    return pc.all(pc.match_substring_regex(text, pattern)).as_py()
