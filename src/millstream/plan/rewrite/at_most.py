"""Conditions that bound a whole number from above."""

from __future__ import annotations

from millstream.core.expression import Expression
from millstream.core.term import Term

_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}


def at_most(condition: Expression, column: str) -> int | None:
    """The greatest value of `column`, which counts from 1, that a condition allows; None if it says anything else.

    >>> from millstream.core.term import column, constant
    >>> at_most(Expression.of(Term("<", (column("n"), constant("5")))), "n")
    4
    >>> at_most(Expression.of(Term(">=", (constant("5"), column("n")))), "n")
    5
    >>> at_most(Expression.of(Term("=", (column("n"), constant("2")))), "n") is None
    True
    """
    term = condition.term
    if len(term.parts) != 2 or term.op not in _TURNED:
        return None
    left, right, op = *term.parts, term.op
    if left.op == "constant":
        left, right, op = right, left, _TURNED[op]
    if left != Term("column", value=column) or right.op != "constant" or not right.value.isdecimal():
        return None
    value = int(right.value)
    match op:
        case "<=":
            return value
        case "<" if value:
            return value - 1
        case "=" if value == 1:
            return 1
        case _:
            return None
