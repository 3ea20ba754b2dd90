"""Bind: every expression is bound to the types it is computed on, and known to be total or not."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.core.term import kind_of
from millstream.plan import nodes
from millstream.plan.plan import Plan


def bind(plan: Plan) -> Plan:
    """Promise: an expression marked `total` has a value for every row of its input; nothing else changes.

    It may then be computed on more rows or on fewer: no run fails that would not have failed, and none is saved.

    >>> from millstream.core.term import Term, column, constant
    >>> stream = nodes.Source(name="s", schema=pa.schema({"x": pa.int64()}))
    >>> above = nodes.Select(input=stream, condition=Expression.of(Term(">", (column("x"), constant("5")))))
    >>> bind(Plan.of({"q": above}))["q"].condition.total
    True
    """
    return plan.each(lambda root: nodes.rebuilt(root, _bound))


def _bound(node: nodes.Node) -> nodes.Node:
    match node:
        case nodes.Select():
            condition = _judged(node.condition, node.input.schema)
            return node if condition is node.condition else replace(node, condition=condition)
        case nodes.Project():
            columns = tuple((name, _judged(one, node.input.schema)) for name, one in node.columns)
            same = all(a is b for (_, a), (_, b) in zip(columns, node.columns, strict=True))
            return node if same else replace(node, columns=columns)
        case _:
            return node


def _judged(expression: Expression, schema: pa.Schema) -> Expression:
    if expression.total or expression.term is None:
        return expression
    kinds = {name: kind for name in expression.columns if (kind := _kind(schema.field(name).type)) is not None}
    total = expression.plain is not None or kind_of(expression.term, kinds) is not None
    return replace(expression, total=True) if total else expression


def _kind(kind: pa.DataType) -> str | None:
    """What a term can know of a column: types that can be compared with each other are of one kind."""
    types = pa.types
    if types.is_integer(kind):
        return "integer"
    if types.is_float32(kind) or types.is_float64(kind):
        return "float"
    if types.is_string(kind) or types.is_large_string(kind):
        return "text"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_timestamp(kind) or types.is_date32(kind):
        return f"time {kind}"
    return f"decimal {kind}" if types.is_decimal(kind) else None
