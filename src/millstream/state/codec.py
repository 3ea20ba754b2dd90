"""Facts as JSON: plain Python values, with the few types that JSON lacks spelled out.

>>> restore(json.loads(json.dumps(plain({("a", 1): Decimal("1.5")}))))
{('a', 1): Decimal('1.5')}
"""

from __future__ import annotations

import base64
import json
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, cast

from millstream.core.errors import StateError
from millstream.core.key import canonical

_TYPE = "$"


def plain(value: Any) -> Any:
    """The value in types that JSON has."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list):
        return [plain(item) for item in cast(list[Any], value)]
    if isinstance(value, dict):
        items = cast(dict[Any, Any], value)
        if all(isinstance(key, str) and key != _TYPE for key in items):
            return {key: plain(item) for key, item in items.items()}
        return {_TYPE: "map", "v": [[plain(k), plain(v)] for k, v in items.items()]}
    kind, inner = _spelled(value)
    return {_TYPE: kind, "v": inner}


def _spelled(value: Any) -> tuple[str, Any]:
    """A type that JSON lacks: its name, and what its value is made of."""
    if isinstance(value, tuple):
        return "tuple", [plain(item) for item in cast(tuple[Any, ...], value)]
    if isinstance(value, set | frozenset):
        kind = "set" if isinstance(value, set) else "frozenset"
        return kind, sorted((plain(item) for item in cast(set[Any], value)), key=json.dumps)
    if getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0):  # pandas' times: Python's would cut them
        raise _unkept(value)
    match value:
        case datetime():
            return "datetime", value.isoformat()
        case date():
            return "date", value.isoformat()
        case time():
            return "time", value.isoformat()
        case timedelta():
            return "timedelta", [value.days, value.seconds, value.microseconds]
        case Decimal():
            return "decimal", str(value)
        case bytes():
            return "bytes", base64.b64encode(value).decode()
        case _:
            raise _unkept(value)


def _unkept(value: Any) -> StateError:
    return StateError(
        f"a {type(value).__name__} cannot be kept in a checkpoint: {value!r}",
        hint="Group by plain values: numbers, text, times to the microsecond, decimals, bytes.",
    )


def restore(value: Any) -> Any:
    """The value that `plain` was given."""
    if isinstance(value, list):
        return [restore(item) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return canonical(value)
    fields = cast(dict[str, Any], value)
    if _TYPE not in fields:
        return {key: restore(item) for key, item in fields.items()}
    inner: Any = fields["v"]
    kind: str = fields[_TYPE]
    match kind:
        case "tuple":
            return tuple(restore(item) for item in inner)
        case "set":
            return {restore(item) for item in inner}
        case "frozenset":
            return frozenset(restore(item) for item in inner)
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
        case _:
            raise StateError(f"the checkpoint has a value of the unknown type {kind!r}", hint="It may be newer.")
