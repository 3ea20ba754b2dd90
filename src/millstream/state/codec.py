"""Facts as JSON: plain Python values, with the few types that JSON lacks spelled out.

>>> restore(json.loads(json.dumps(plain({("a", 1): Decimal("1.5")}))))
{('a', 1): Decimal('1.5')}
"""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from millstream.core.errors import StateError

_TYPE = "$"


def plain(value: Any) -> Any:
    """The value in types that JSON has."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case list():
            return [plain(item) for item in value]
        case tuple():
            return {_TYPE: "tuple", "v": [plain(item) for item in value]}
        case set() | frozenset():
            return {_TYPE: "set", "v": sorted((plain(item) for item in value), key=json.dumps)}
        case dict():
            if all(isinstance(key, str) and key != _TYPE for key in value):
                return {key: plain(item) for key, item in value.items()}
            return {_TYPE: "map", "v": [[plain(k), plain(v)] for k, v in value.items()]}
        case datetime():
            return {_TYPE: "datetime", "v": value.isoformat()}
        case date():
            return {_TYPE: "date", "v": value.isoformat()}
        case time():
            return {_TYPE: "time", "v": value.isoformat()}
        case timedelta():
            return {_TYPE: "timedelta", "v": [value.days, value.seconds, value.microseconds]}
        case Decimal():
            return {_TYPE: "decimal", "v": str(value)}
        case bytes():
            return {_TYPE: "bytes", "v": base64.b64encode(value).decode()}
        case _:
            raise StateError(
                f"a {type(value).__name__} cannot be kept in a checkpoint: {value!r}",
                hint="Group by plain values: numbers, text, times, decimals, bytes.",
            )


def restore(value: Any) -> Any:
    """The value that `plain` was given."""
    if isinstance(value, list):
        return [restore(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _TYPE not in value:
        return {key: restore(item) for key, item in value.items()}
    inner = value["v"]
    match value[_TYPE]:
        case "tuple":
            return tuple(restore(item) for item in inner)
        case "set":
            return {restore(item) for item in inner}
        case "map":
            return {restore(k): restore(v) for k, v in inner}
        case "datetime":
            return datetime.fromisoformat(inner)
        case "date":
            return date.fromisoformat(inner)
        case "time":
            return time.fromisoformat(inner)
        case "timedelta":
            return timedelta(days=inner[0], seconds=inner[1], microseconds=inner[2])
        case "decimal":
            return Decimal(inner)
        case "bytes":
            return base64.b64decode(inner)
        case unknown:
            raise StateError(f"the checkpoint has a value of the unknown type {unknown!r}", hint="It may be newer.")
