"""Arguments brought to the type that a function takes, as far as Spark would; others are refused."""

from __future__ import annotations

from typing import Any

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.casts import cast
from millstream.kernels.expressions.node import Bound, Node, plain, repeated

_ATOMIC = (t.BOOL, t.DATE, t.STAMP, t.LOCAL)


def text(node: Node, bound: Bound, name: str) -> Node:
    """A text; numbers, booleans and times are written as one."""
    if node.kind in (t.TEXT, t.NOTHING) or t.is_number(node.kind) or node.kind in _ATOMIC:
        return cast(node, t.TEXT, bound)
    raise wrong(name, node, "a STRING")


def whole(node: Node, bound: Bound, name: str) -> Node:
    """An INT."""
    if node.kind in (t.BYTE, t.SHORT, t.INT, t.NOTHING):
        return cast(node, t.INT, bound)
    raise wrong(name, node, "an INT")


def long(node: Node, bound: Bound, name: str) -> Node:
    """A BIGINT."""
    if node.kind in (*t.INTEGERS, t.NOTHING):
        return cast(node, t.LONG, bound)
    raise wrong(name, node, "a BIGINT")


def double(node: Node, bound: Bound, name: str) -> Node:
    """A DOUBLE."""
    if t.is_number(node.kind) or node.kind == t.NOTHING:
        return cast(node, t.DOUBLE, bound)
    raise wrong(name, node, "a number")


def date(node: Node, bound: Bound, name: str) -> Node:
    """A DATE; of a timestamp, the day in the zone."""
    if t.is_time(node.kind) or node.kind in (t.TEXT, t.NOTHING):
        return cast(node, t.DATE, bound)
    raise wrong(name, node, "a DATE")


def stamp(node: Node, bound: Bound, name: str) -> Node:
    """A TIMESTAMP."""
    if t.is_time(node.kind) or node.kind in (t.TEXT, t.NOTHING):
        return cast(node, t.STAMP, bound)
    raise wrong(name, node, "a TIMESTAMP")


def fixed(node: Node, name: str, what: str) -> Any:
    """The value of an argument that must be a constant."""
    if node.constant is None or not node.constant.is_valid:
        raise ExpressionError(f"{what} of {name} is not a constant", hint="Write it as a literal.")
    return plain(repeated(node.constant, 1))[0]


def wrong(name: str, node: Node, wanted: str) -> ExpressionError:
    """The argument is of another type."""
    return ExpressionError(
        f"{name} takes {wanted}, and not {t.name_of(node.kind)}", hint="Cast it first, such as cast(x AS INT)."
    )
