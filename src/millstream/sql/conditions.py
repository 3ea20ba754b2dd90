"""Conditions on columns, joined by AND: what feedback can say of rows, as columns, signs and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from millstream.core.errors import ExpressionError
from millstream.sql.expression import parsed

Said = tuple[str, str, Any]
"""A column, one of `<`, `<=`, `>`, `>=`, `=` and `in`, and a value, or several."""
_SIGNS: dict[type[exp.Expr], tuple[str, str]] = {
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
    exp.EQ: ("=", "="),
}
"""Each comparison, and what it is with its sides exchanged."""


def conditions(text: str) -> list[Said]:
    """The conditions of a text.

    >>> conditions("segment < 4 AND road IN ('I-5', 'I-84') AND 50 >= speed")
    [('segment', '<', 4), ('road', 'in', ['I-5', 'I-84']), ('speed', '<=', 50)]
    """
    return list(_said(parsed(text)))


def _said(tree: exp.Expr) -> Iterator[Said]:
    match tree:
        case exp.Paren():
            yield from _said(tree.this)
        case exp.And():
            yield from _said(tree.this)
            yield from _said(tree.expression)
        case exp.Between(this=exp.Column() as column):
            yield column.name, ">=", _value(tree.args["low"])
            yield column.name, "<=", _value(tree.args["high"])
        case exp.In(this=exp.Column() as column) if tree.expressions:
            yield column.name, "in", [_value(one) for one in tree.expressions]
        case _:
            yield _compared(tree)


def _compared(tree: exp.Expr) -> Said:
    signs = _SIGNS.get(type(tree))
    left, right = tree.args.get("this"), tree.args.get("expression")
    if signs is not None and isinstance(left, exp.Column) and right is not None:
        return left.name, signs[0], _value(right)
    if signs is not None and isinstance(right, exp.Column) and left is not None:
        return right.name, signs[1], _value(left)
    raise ExpressionError(
        f"{tree.sql(dialect='spark')} is not a condition on one column that feedback can say",
        hint="Compare columns with values, joined by AND: segment < 4 AND road IN ('I-5', 'I-84').",
    )


def _value(tree: exp.Expr) -> Any:
    match tree:
        case exp.Literal():
            return tree.name if tree.is_string else _number(tree.name)
        case exp.Neg(this=exp.Literal() as inner) if not inner.is_string:
            return -_number(inner.name)
        case exp.Boolean():
            return bool(tree.this)
        case exp.Cast(this=exp.Literal() as inner) if inner.is_string:  # TIMESTAMP '2026-01-01 00:00:00'
            return inner.name
        case _:
            raise ExpressionError(
                f"{tree.sql(dialect='spark')} is not a value", hint="Write a number, a text in quotes or a time."
            )


def _number(text: str) -> int | float:
    return int(text) if text.isdigit() else float(text)
