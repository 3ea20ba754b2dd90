"""How a row that cannot be read is written down: as one line of JSON, whatever it holds."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pyarrow as pa

LONGEST = 80
"""Characters of a value that a reason quotes; the whole of it is in the raw text."""


def row_json(row: Any) -> str:
    """The row as JSON; what JSON has no word for becomes text.

    >>> row_json({"ts": dt.datetime(2024, 1, 1), "price": "abc"})
    '{"ts": "2024-01-01T00:00:00", "price": "abc"}'
    """
    try:
        text = json.dumps(row, default=_text, ensure_ascii=False)
    except (TypeError, ValueError):  # keys that are not text, or a row that holds itself
        text = repr(row)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # half a character has no UTF-8


def plain(scalar: pa.Scalar) -> Any:
    """An Arrow value as Python has it; time stamps as ISO text, because Python's stop at microseconds.

    >>> plain(pa.scalar(1, pa.timestamp("ns")))
    '1970-01-01T00:00:00.000000001'
    """
    if pa.types.is_timestamp(scalar.type) and scalar.is_valid:
        return scalar.cast(pa.string()).as_py().replace(" ", "T")
    return scalar.as_py()


def shown(value: Any) -> str:
    """A value as a reason quotes it: its JSON, cut where it gets long."""
    text = row_json(plain(value) if isinstance(value, pa.Scalar) else value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)
