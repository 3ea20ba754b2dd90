"""A fingerprint of a function: what it would be told by after a restart, when the function itself is another object."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, cast

_PLAIN = (type(None), bool, int, float, complex, str, bytes, Decimal, date, timedelta, type(...))


def fingerprint(*functions: Callable[..., Any]) -> str:
    """Eight digits that change with the code of functions, and with the plain values and functions that it uses.

    Another version of Python may compile the same code in another way, and so may change them too.

    >>> def shifted(by):
    ...     return lambda value: value + by
    >>> fingerprint(shifted(1)) == fingerprint(shifted(1)), fingerprint(shifted(1)) == fingerprint(shifted(2))
    (True, False)
    """
    seen: set[int] = set()
    said = [part for one in functions for part in _value(one, seen)]
    return hashlib.sha1("\n".join(said).encode()).hexdigest()[:8]


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    """What can be said of a value that is the same in another process; of others, the type alone."""
    kind = cast("type[Any]", type(value))
    yield f"{kind.__module__}.{kind.__qualname__}"
    if isinstance(value, _PLAIN):
        yield repr(value)
        return
    if not isinstance(
        value, tuple | frozenset
    ):  # of those, equal ones may be one object in one process and not in another
        if id(value) in seen:
            return
        seen.add(id(value))
    match value:
        case CodeType():
            yield from _code(value, seen)
        case FunctionType():
            yield from _function(value, seen)
        case MethodType():
            yield from _value(value.__func__, seen)
            yield from _value(value.__self__, seen)
        case partial():
            yield from _items((value.func, value.args, tuple(value.keywords.items())), seen)
        case tuple() | list():
            yield from _items(cast("Iterable[Any]", value), seen)
        case set() | frozenset():
            yield from _unordered(cast("Iterable[Any]", value), seen)
        case type() | ModuleType():
            yield value.__name__
        case _:
            yield from _object(value, seen)


def _items(values: Iterable[Any], seen: set[int]) -> Iterator[str]:
    for one in values:
        yield from _value(one, seen)


def _unordered(values: Iterable[Any], seen: set[int]) -> Iterator[str]:
    # The order of a set is another in each process.
    yield from sorted("\n".join(_value(one, set(seen))) for one in values)


def _code(code: CodeType, seen: set[int]) -> Iterator[str]:
    yield from (code.co_code.hex(), repr(code.co_names), repr(code.co_varnames))
    yield from _value(code.co_consts, seen)


def _function(function: FunctionType, seen: set[int]) -> Iterator[str]:
    yield from _value(function.__code__, seen)
    yield from _value(function.__defaults__, seen)
    yield from _value(tuple((function.__kwdefaults__ or {}).items()), seen)
    for cell in function.__closure__ or ():
        try:
            content = cell.cell_contents
        except ValueError:  # not filled yet
            continue
        yield from _value(content, seen)
    for name in function.__code__.co_names:
        if name in function.__globals__:
            yield from _value(function.__globals__[name], seen)


def _object(value: Any, seen: set[int]) -> Iterator[str]:
    # Nothing is said of what others hold: a dictionary may be where a function keeps what it has worked out.
    if is_dataclass(value):
        for field in fields(value):
            yield from _value(getattr(value, field.name), seen)
    kind = cast("type[Any]", type(value))
    yield from _items((vars(one)["__call__"] for one in kind.__mro__ if "__call__" in vars(one)), seen)
