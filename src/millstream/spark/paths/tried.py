"""Expressions in a form of Spark's that no row can make fail, with a condition that says which rows would.

Spark ends a job at the first row that overflows, divides by zero or cannot be cast. Its `try_` functions give null
instead. An operation whose operands are not null has failed if it gives null.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.core.quote import quoted
from millstream.core.term import COMPARISONS, Term, render
from millstream.kernels.expressions.evaluate import checked, type_of

_TRIED = {"+": "try_add", "-": "try_subtract", "*": "try_multiply", "/": "try_divide", "%": "try_mod"}
_LONGEST = 10_000
"""Longer texts than this cost more to analyse than they save."""


@dataclass(frozen=True, slots=True)
class Tried:
    """As Spark's SQL: the value, null where it fails, and whether it fails; None if no row can make it fail."""

    value: str
    failed: str | None


def tried(expression: Expression, schema: pa.Schema) -> Tried | None:
    """The form of an expression that does not fail over rows of a schema; None if there is none.

    >>> from millstream.core.term import column
    >>> twice = Expression.of(Term("+", (column("x"), column("x"))))
    >>> tried(twice, pa.schema({"x": pa.int64()}))
    Tried(value='try_add(`x`, `x`)', failed='(try_add(`x`, `x`) IS NULL AND `x` IS NOT NULL AND `x` IS NOT NULL)')
    >>> tried(twice, pa.schema({"x": pa.float64()}))
    Tried(value='(`x` + `x`)', failed=None)
    """
    if expression.total:
        return Tried(expression.spark, None)
    made = _term(expression.term, expression, schema)
    return None if made is None or len(made.value) + len(made.failed or "") > _LONGEST else made


def _term(term: Term, whole: Expression, schema: pa.Schema) -> Tried | None:
    here = checked(Expression.of(term, whole.settings), schema)
    if here.total:
        return Tried(f"({render(term, quoted)})" if term.parts else render(term, quoted), None)
    if term.op == "case":
        return _case(term, whole, schema)
    parts = [_term(part, whole, schema) for part in term.parts]
    known = [one for one in parts if one is not None]
    if len(known) < len(parts):
        return None
    failed = [one.failed for one in known if one.failed is not None]
    if term.op in COMPARISONS:
        return Tried(f"({f' {term.op} '.join(one.value for one in known)})", _any(failed))
    if term.op == "cast":
        value = f"try_cast({known[0].value} AS {term.value})"
    elif term.op in _TRIED and all(_numeric(part, whole, schema) for part in term.parts):
        value = f"{_TRIED[term.op]}({', '.join(one.value for one in known)})"
    else:
        return None
    fails = " AND ".join([f"{value} IS NULL", *(f"{one.value} IS NOT NULL" for one in known)])
    return Tried(value, _any([*failed, f"({fails})"]))


def _case(term: Term, whole: Expression, schema: pa.Schema) -> Tried | None:
    """A branch fails only for rows that come to it."""
    made = [_term(part, whole, schema) for part in term.parts]
    parts = [one for one in made if one is not None]
    if len(parts) < len(made):
        return None
    values, fails = [], []
    for condition, value in zip(parts[::2], parts[1::2], strict=False):
        values.append(f"WHEN {condition.value} THEN {value.value}")
        if condition.failed is not None:
            fails.append(f"WHEN {condition.failed} THEN true")
        fails.append(f"WHEN {condition.value} THEN {value.failed or 'false'}")
    otherwise = parts[-1] if len(parts) % 2 else None
    last = "" if otherwise is None else f" ELSE {otherwise.value}"
    fallen = "false" if otherwise is None or otherwise.failed is None else otherwise.failed
    return Tried(f"CASE {' '.join(values)}{last} END", f"(CASE {' '.join(fails)} ELSE {fallen} END)")


def _numeric(term: Term, whole: Expression, schema: pa.Schema) -> bool:
    kind = type_of(Expression.of(term, whole.settings), schema)
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _any(failed: list[str]) -> str | None:
    return f"({' OR '.join(failed)})" if len(failed) > 1 else failed[0] if failed else None
