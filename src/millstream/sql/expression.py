"""One SQL expression: parsed in Spark's dialect, its columns checked, written again for each engine."""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.core.errors import ExpressionError, nearest
from millstream.core.expression import Expression
from millstream.sql.terms import repeatable, term_of

_SIMPLE = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Neg,
    exp.And, exp.Or, exp.Not, exp.Is, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.In,
    exp.Add, exp.Sub, exp.Mul,
)  # fmt: skip
_FORBIDDEN = (exp.Query, exp.AggFunc, exp.Window)


def expression(text: str, columns: Sequence[str]) -> Expression:
    """Parse and check an expression over the given columns.

    >>> expression("price * 2 > 10", ["price"]).duck
    '"price" * 2 > 10'
    >>> expression("prize > 1", ["price"])
    Traceback (most recent call last):
    ...
    millstream.core.errors.ExpressionError: prize > 1 names the unknown column "prize"
    Hint: Did you mean "price"? Known: price.
    """
    tree = _parse(text)
    if bad := tree.find(*_FORBIDDEN):
        raise ExpressionError(
            f"{text} has {bad.sql(dialect='spark')}, which is not an expression over one row",
            hint="Aggregates go in agg(…); sub-queries are not allowed here.",
        )
    used: list[str] = []
    for column in list(tree.find_all(exp.Column)):
        field = _field(column, columns)
        name = _known(column, columns, text) if field is None else field
        bound: exp.Expr = exp.column(exp.to_identifier(name, quoted=True))
        if field is not None:
            bound = exp.Dot(this=bound, expression=exp.to_identifier(column.name, quoted=True))
        tree = bound if column is tree else tree
        column.replace(bound)
        used.append(name)
    if isinstance(tree, exp.Column):
        return Expression.column(used[0])
    return Expression(
        text,
        tree.sql(dialect="spark", identify=True),
        tree.sql(dialect="duckdb", identify=True),
        tuple(dict.fromkeys(used)),
        simple=all(isinstance(part, _SIMPLE) for part in tree.walk()),
        term=term_of(tree),
        repeatable=repeatable(tree),
        extreme=_extreme(tree),
    )


def _extreme(tree: exp.Expr) -> tuple[str, tuple[str, ...]] | None:
    """Which extreme of which columns an expression is, if it is one."""
    if not isinstance(tree, exp.Greatest | exp.Least):
        return None
    parts = [tree.this, *tree.expressions]
    word = "greatest" if isinstance(tree, exp.Greatest) else "least"
    return (word, tuple(part.name for part in parts)) if all(isinstance(part, exp.Column) for part in parts) else None


def named_expression(text: str, columns: Sequence[str]) -> tuple[str, Expression]:
    """An item of a select list: `expr AS name`, or a column that names itself.

    >>> named_expression("price * 2 AS twice", ["price"])[0]
    'twice'
    """
    tree = _parse(text)
    if isinstance(tree, exp.Alias):
        inner = expression(tree.this.sql(dialect="spark"), columns)
        return tree.alias, inner
    found = expression(text, columns)
    if found.plain is None:
        raise ExpressionError(f"{text} has no name", hint=f'Write `{text} AS name`, or name="{text}".')
    return found.plain, found


def _parse(text: str) -> exp.Expr:
    if not isinstance(text, str) or not text.strip():
        raise ExpressionError(f"{text!r} is not an SQL expression", hint='Write one as text: "price > 10".')
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except (SqlglotError, RecursionError) as error:
        reason = str(error).splitlines()[0]
        raise ExpressionError(f"{text} does not parse: {reason}", hint="Use Spark SQL's syntax.") from error
    if isinstance(tree, exp.Alias) or not isinstance(tree, exp.Query | exp.Command | exp.DDL):
        return tree
    raise ExpressionError(
        f"{text} is a statement, not an expression", hint='Write a condition or a value: "price > 10".'
    )


def _field(column: exp.Column, columns: Sequence[str]) -> str | None:
    """The struct that `a.b` is a field of: column a, unless b is a column itself."""
    return column.table if column.table in columns and column.name not in columns else None


def _known(column: exp.Column, columns: Sequence[str], text: str) -> str:
    name = column.name
    if name in columns:
        return name
    alike = [known for known in columns if known.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    raise ExpressionError(f'{text} names the unknown column "{name}"', hint=nearest(name, columns))
