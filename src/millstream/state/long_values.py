"""Large values in parts: a long list or map of a manifest is kept in files of its own, each named by what it holds.

A part never changes, so one that is there already is not written again: of a list that only grows, an epoch writes the
end. A manifest's size does not depend on how many keys, groups or files there are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any, cast

MOST = 256
"""A list or map with more entries is cut into parts of so many."""
_FOLDER = "state/parts/"
_PARTS = "__ms_parts"
_MAP = "__ms_map"
_DEPTH = "__ms_depth"
# More parts than this are named by a part of their own.
_FEW = 8


def pack(value: Any, put: Callable[[str, bytes], None]) -> Any:
    """A plain value with its long lists and maps put elsewhere, in parts.

    >>> there = {}
    >>> small = pack({"done": {str(i): i for i in range(1000)}}, there.__setitem__)
    >>> len(there), len(json.dumps(small)) < 500
    (4, True)
    >>> unpack(json.dumps(small).encode(), there.__getitem__) == {"done": {str(i): i for i in range(1000)}}
    True
    """
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        packed: Any = {name: pack(one, put) for name, one in entries.items()}
        if len(packed) <= MOST:
            return packed
        return {_MAP: pack([[name, one] for name, one in packed.items()], put)}
    if isinstance(value, list):
        packed = [pack(one, put) for one in cast("list[Any]", value)]
        if len(packed) <= MOST:
            return packed
        depth, keys = 0, _cut(packed, put)
        while len(keys) > _FEW:
            depth, keys = depth + 1, _cut(keys, put)
        return {_PARTS: keys, _DEPTH: depth}
    return value


def unpack(text: bytes, get: Callable[[str], bytes]) -> Any:
    """The value that `pack` was given, from the JSON of what `pack` made of it."""
    value = json.loads(text)
    return _filled(value, get) if _PARTS.encode() in text else value  # most texts name no parts: nothing to search


def _filled(value: Any, get: Callable[[str], bytes]) -> Any:
    """A value with its parts in place."""
    if isinstance(value, list):
        return [_filled(one, get) for one in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    found = cast("dict[str, Any]", value)
    if _MAP in found:
        return dict(_filled(found[_MAP], get))
    if _PARTS in found:
        keys: list[str] = found[_PARTS]
        for _ in range(int(found[_DEPTH])):
            keys = [below for key in keys for below in json.loads(get(key))]
        return [one for key in keys for one in unpack(get(key), get)]
    return {name: _filled(one, get) for name, one in found.items()}


def _cut(entries: list[Any], put: Callable[[str, bytes], None]) -> list[str]:
    """Entries as parts; returns their keys."""
    keys: list[str] = []
    for at in range(0, len(entries), MOST):
        data = json.dumps(entries[at : at + MOST]).encode()
        keys.append(part_key(data))
        put(keys[-1], data)
    return keys


def part_key(data: bytes) -> str:
    """The key of a part: a checksum of what it holds."""
    return f"{_FOLDER}{hashlib.sha256(data).hexdigest()[:32]}.json"
