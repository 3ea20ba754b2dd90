"""Values inside JSON texts, by a path."""

from __future__ import annotations

import json
import re
from typing import Any

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, rowwise
from millstream.kernels.expressions.fit import fixed, text
from millstream.kernels.expressions.function_registry import function

_FAMILY = "JSON"
_STEP = re.compile(r"\.([^.\[\]*]+)|\['([^'\]*]+)'\]|\[(\d+)\]")


class _Number(str):
    """A number as it was written."""

    __slots__ = ()


@function("get_json_object", _FAMILY, (2, 2))
def _get_json_object(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    path = str(fixed(parts[1], "get_json_object", "the path"))
    steps = _steps(path)
    return rowwise(t.TEXT, [text(parts[0], bound, "get_json_object")], lambda value: _found(value, steps))


def _steps(path: str) -> list[str | int]:
    out: list[str | int] = []
    at = 1
    while path.startswith("$") and at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            break
        out.append(int(found[3]) if found[3] is not None else found[1] or found[2])
        at = found.end()
    if not path.startswith("$") or at < len(path):
        raise ExpressionError(f"{path!r} is no path that is read here", hint="Write $.name, $['name'] or $.list[0].")
    return out


def _found(value: str, steps: list[str | int]) -> str | None:
    try:
        tree: Any = json.loads(value, parse_int=_Number, parse_float=_Number, parse_constant=_refuse, strict=False)
    except (ValueError, RecursionError):
        return None
    if not steps and tree is None:
        return "null"
    for step in steps:
        if isinstance(step, str):
            if not isinstance(tree, dict) or step not in tree:
                return None
        elif not isinstance(tree, list) or step >= len(tree):
            return None
        inner: Any = tree
        tree = inner[step]
    return _shown(tree)


def _refuse(word: str) -> Any:
    raise ValueError(word)


def _shown(tree: Any) -> str | None:
    if tree is None:
        return None
    return str(tree) if isinstance(tree, str) else _written(tree)


def _written(tree: Any) -> str:
    match tree:
        case None:
            return "null"
        case bool():
            return "true" if tree else "false"
        case _Number():
            return str(tree)
        case str():
            return json.dumps(tree, ensure_ascii=False)
        case list():
            return "[" + ",".join(map(_written, tree)) + "]"
        case _:
            pairs = (f"{json.dumps(key, ensure_ascii=False)}:{_written(value)}" for key, value in tree.items())
            return "{" + ",".join(pairs) + "}"
