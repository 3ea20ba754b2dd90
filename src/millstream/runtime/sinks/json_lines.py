"""Results as JSON lines."""

from __future__ import annotations

import base64
import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.runtime.sinks.folder import FolderSink
from millstream.state.storage import Data


class JsonLinesSink(FolderSink):
    """A folder with one file per epoch, whole or absent, one JSON object per line.

    Dates and times are ISO text (`Z` for UTC). Decimals are text, because a JSON number would be read back as
    a binary float. Floats that are not finite are the text "NaN", "Infinity", "-Infinity"; bytes are base64.

    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = pa.table({"ts": pa.array([0], pa.timestamp("us", "UTC")), "price": [Decimal("1.10")]})
    >>> JsonLinesSink(folder).write(rows, epoch=7)
    >>> print((folder / "part-00000007.json").read_text(encoding="utf-8"))
    {"ts": "1970-01-01T00:00:00.000000Z", "price": "1.10"}
    """

    suffix = "json"

    def _encode(self, rows: pa.Table) -> Data:
        names = rows.column_names
        columns = [_plain(column) for column in rows.columns]
        lines = (_ENCODE(dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True))
        return "".join(f"{line}\n" for line in lines).encode()


def _text(value: Any) -> str:
    match value:
        case dt.date() | dt.time():
            return value.isoformat()
        case bytes():
            return base64.b64encode(value).decode("ascii")
        case Decimal():
            return format(value, "f")
        case _:
            return str(value)


_ENCODE = json.JSONEncoder(default=_text, ensure_ascii=False, allow_nan=False).encode


def _plain(column: pa.ChunkedArray) -> list[Any]:
    """The column as values that JSON has, or that `_text` turns into some."""
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):  # by Arrow: Python's have fewer digits and fewer years
        return pc.replace_substring(column.cast(pa.string()), " ", "T").to_pylist()
    values = column.to_pylist()
    if pa.types.is_floating(kind) and not pc.all(pc.is_finite(column)).as_py():
        return [_finite(value) for value in values]
    return values


def _finite(value: float | None) -> float | str | None:
    if value is None or value - value == 0:
        return value
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
