"""How a row that cannot be read is written down: as one line of JSON, whatever it holds."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

_HUGE = 10**4000
LONGEST = 80
"""Characters of a value that a reason quotes; the whole of it is in the raw text."""


def row_json(row: Any) -> str:
    """The row as JSON; what JSON has no word for becomes text.

    >>> row_json({"ts": dt.datetime(2024, 1, 1), "price": "abc"})
    '{"ts": "2024-01-01T00:00:00", "price": "abc"}'
    """
    try:
        text = json.dumps(row, default=_text, ensure_ascii=False)
    except Exception:  # noqa: BLE001 - keys that are not text, a row that holds itself, an object that cannot say what it is
        text = _described(row)
    return text.encode("utf-8", "backslashreplace").decode("utf-8")  # half a character has no UTF-8


def _described(row: Any) -> str:
    """What can be said of a row that is no JSON, by its values if the whole of it cannot be written down."""
    text = _told(row)
    if text is not None:
        return text
    named = row if isinstance(row, Mapping) else {"row": row}
    told = {name: _told(value) for name, value in named.items()}
    return str({str(name): f"a value of type {type(named[name]).__name__}" if one is None else one
                for name, one in told.items()})  # fmt: skip


def _told(value: Any) -> str | None:
    try:
        # Python refuses to write a number of some thousand digits.
        return f"{value:#x}" if isinstance(value, int) and abs(value) > _HUGE else repr(value)
    except Exception:  # noqa: BLE001 - it is somebody else's object
        return None


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
