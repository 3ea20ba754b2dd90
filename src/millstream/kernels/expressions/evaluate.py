"""Evaluate: the values of expressions for the rows of a table, and the rows that have none, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pyarrow as pa

from millstream.core.expression import Expression
from millstream.core.term import Term
from millstream.kernels.expressions.bind import bind
from millstream.kernels.expressions.bound_term import BoundTerm, Failed, Frame, both


@dataclass(frozen=True, slots=True)
class Computed:
    """A column for each expression, and which rows have no value for some of them."""

    values: list[pa.Array]
    failed: Failed | None

    def good(self) -> np.ndarray | None:
        """Which rows have all their values; None if all do."""
        return None if self.failed is None else ~self.failed.rows

    def bad(self) -> Iterator[tuple[str, np.ndarray]]:
        """By reason, the rows that fail for it."""
        if self.failed is None:
            return
        for reason in dict.fromkeys(self.failed.reasons[self.failed.rows]):
            yield reason, self.failed.rows & (self.failed.reasons == reason)


def evaluate(expressions: Sequence[Expression], rows: pa.Table) -> Computed:
    """The value of each expression for each row, in order; what a row that fails has for a value means nothing.

    >>> from millstream.core.term import Term, column, constant
    >>> half = Expression("1 / x", Term("/", (constant("1"), column("x"))))
    >>> made = evaluate([half], pa.table({"x": [1, 0]}))
    >>> made.values[0].to_pylist()[:1], list(made.bad())
    ([1.0], [('1 / x: division by zero', array([False,  True]))])
    """
    frame = Frame({name: rows[name] for name in rows.schema.names}, rows.num_rows)
    values: list[pa.Array] = []
    failed: Failed | None = None
    for one in expressions:
        if one.plain is not None:
            values.append(frame.column(one.plain))
            continue
        value, mine = node_of(one, rows.schema).run(frame)
        values.append(value)
        if mine is not None:
            said = np.array([None if why is None else f"{one.text}: {why}" for why in mine.reasons], dtype=object)
            failed = both(failed, Failed(mine.rows, said))
    return Computed(values, failed)


def checked(expression: Expression, schema: pa.Schema) -> Expression:
    """The expression, known to be total or not over rows of a schema; one that means nothing there is refused."""
    if expression.plain is not None:
        return replace(expression, total=True)
    return replace(expression, total=node_of(expression, schema).total)


def type_of(expression: Expression, schema: pa.Schema) -> pa.DataType:
    """The type of the expression's value over rows of a schema.

    >>> from millstream.core.term import Term, column, constant
    >>> type_of(Expression("x > 1", Term(">", (column("x"), constant("1")))), pa.schema({"x": pa.int64()}))
    DataType(bool)
    """
    if expression.plain is not None:
        return schema.field(expression.plain).type
    return node_of(expression, schema).kind


def as_condition(expression: Expression, schema: pa.Schema) -> Expression:
    """The same where it stands as a condition: a part that is nothing but null is a boolean null, as in Spark.

    >>> from millstream.core.term import Term, column, constant
    >>> never = Expression("b AND null", Term("and", (column("b"), constant("NULL"))))
    >>> as_condition(never, pa.schema({"b": pa.bool_()})).spark
    '`b` AND cast(NULL AS BOOLEAN)'
    """
    parts = expression.conjuncts()
    meant = tuple(
        Term("cast", (one.term,), "BOOLEAN") if pa.types.is_null(type_of(one, schema)) else one.term for one in parts
    )
    if all(one.term is term for one, term in zip(parts, meant, strict=True)):
        return expression
    return replace(expression, term=meant[0] if len(meant) == 1 else Term("and", meant))


def node_of(expression: Expression, schema: pa.Schema) -> BoundTerm:
    """What computes an expression; bound once for each schema."""
    kinds = tuple((name, schema.field(name).type) for name in expression.columns if name in schema.names)
    return _node(expression, kinds)


@lru_cache(maxsize=2048)
def _node(expression: Expression, kinds: tuple[tuple[str, pa.DataType], ...]) -> BoundTerm:
    return bind(expression.term, pa.schema(kinds), expression.settings)
