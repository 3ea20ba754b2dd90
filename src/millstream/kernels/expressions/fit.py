"""Arguments brought to the type that a function takes, as far as Spark would; others are refused."""

from __future__ import annotations

from typing import Any

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, plain, repeated
from millstream.kernels.expressions.casts import cast

_ATOMIC = (t.BOOL, t.DATE, t.STAMP, t.LOCAL)


def text(node: BoundTerm, bound: Binding, name: str) -> BoundTerm:
    """A text; numbers, booleans and times are written as one."""
    if node.kind in (t.TEXT, t.NOTHING) or t.is_number(node.kind) or node.kind in _ATOMIC:
        return cast(node, t.TEXT, bound)
    raise wrong(name, node, "a STRING")


def whole(node: BoundTerm, bound: Binding, name: str) -> BoundTerm:
    """An INT."""
    if node.kind in (t.BYTE, t.SHORT, t.INT, t.NOTHING):
        return cast(node, t.INT, bound)
    raise wrong(name, node, "an INT")


def long(node: BoundTerm, bound: Binding, name: str) -> BoundTerm:
    """A BIGINT."""
    if node.kind in (*t.INTEGERS, t.NOTHING):
        return cast(node, t.LONG, bound)
    raise wrong(name, node, "a BIGINT")


def double(node: BoundTerm, bound: Binding, name: str) -> BoundTerm:
    """A DOUBLE."""
    if t.is_number(node.kind) or node.kind == t.NOTHING:
        return cast(node, t.DOUBLE, bound)
    raise wrong(name, node, "a number")


def date(node: BoundTerm, bound: Binding, name: str) -> BoundTerm:
    """A DATE; of a timestamp, the day in the zone."""
    if t.is_time(node.kind) or node.kind in (t.TEXT, t.NOTHING):
        return cast(node, t.DATE, bound)
    raise wrong(name, node, "a DATE")


def stamp(node: BoundTerm, bound: Binding, name: str) -> BoundTerm:
    """A TIMESTAMP."""
    if t.is_time(node.kind) or node.kind in (t.TEXT, t.NOTHING):
        return cast(node, t.STAMP, bound)
    raise wrong(name, node, "a TIMESTAMP")


def fixed(node: BoundTerm, name: str, what: str) -> Any:
    """The value of an argument that must be a constant."""
    if node.constant is None or not node.constant.is_valid:
        raise ExpressionError(f"{what} of {name} is not a constant", hint="Write it as a literal.")
    return plain(repeated(node.constant, 1))[0]


def wrong(name: str, node: BoundTerm, wanted: str) -> ExpressionError:
    """The argument is of another type."""
    return ExpressionError(
        f"{name} takes {wanted}, and not {t.name_of(node.kind)}", hint="Cast it first, such as cast(x AS INT)."
    )
