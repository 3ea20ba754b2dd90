"""Prune columns: what nobody above a stream's entrance reads is left behind there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.plan import nodes
from millstream.plan.nodes import Node
from millstream.plan.plan import Plan
from millstream.plan.rewrite.usable import never_null


def prune_columns(plan: Plan) -> Plan:
    """Promise: results, late rows and rejected rows have the columns they had; operators carry and keep fewer.

    The entrance itself reads whole rows, as late and rejected rows leave whole. A column that can fail is computed
    though nobody reads it.

    >>> stream = nodes.Source(name="s", schema=pa.schema({"a": pa.bool_(), "b": pa.int64(), "c": pa.int64()}))
    >>> chosen = nodes.Select(input=stream, condition=Expression.column("a"))
    >>> column = (("b", Expression.column("b")),)
    >>> asked = nodes.Project(input=chosen, columns=column, schema=pa.schema({"b": pa.int64()}))
    >>> prune_columns(Plan.of({"q": asked}))["q"].input.schema.names
    ['a', 'b']
    """
    return plan.each_above(_pruned)


def _pruned(root: Node, kept: frozenset[int]) -> Node:
    needed = _needed(root)
    whole = {id(below) for node in nodes.walk(root) if id(node) in kept for below in nodes.walk(node)}
    made: dict[int, Node] = {}
    cut: dict[int, Node] = {}
    for node in nodes.walk(root):
        if id(node) in whole and not isinstance(node, nodes.Source):
            made[id(node)] = node
            continue
        carries = not isinstance(node, nodes.Project | nodes.Aggregate)
        below = tuple((cut if carries and id(one) in cut else made)[id(one)] for one in nodes.inputs(node))
        made[id(node)] = _narrowed(nodes.with_inputs(node, below), needed[id(node)])
        if isinstance(node, nodes.Source) and node is not root:
            cut[id(node)] = _cut(node, needed[id(node)])
    return made[id(root)]


def _needed(root: Node) -> dict[int, set[str]]:
    """By identity of a node: the columns of its output that some reader asks for."""
    out: dict[int, set[str]] = {id(node): set() for node in nodes.walk(root)}
    out[id(root)] = set(root.schema.names)
    for node in reversed(list(nodes.walk(root))):
        for below in nodes.inputs(node):
            out[id(below)] |= _asked(node, out[id(node)])
    return out


def _asked(node: Node, needed: set[str]) -> set[str]:
    """The columns that a node reads of its inputs to give the `needed` ones."""
    match node:
        case nodes.Source():
            return set()
        case nodes.Select():
            spared = () if node.spare is None else (node.spare.attribute,)
            return needed | {*node.condition.columns, *spared}
        case nodes.Project():
            return {column for _, one in _kept(node, needed) for column in one.columns}
        case nodes.Union():
            return needed or set(node.schema.names[:1])
        case nodes.Distinct():
            return needed | set(node.columns)
        case nodes.Sort():
            # Rows that it rejects leave with all their columns.
            whole = not never_null(node.input, node.attribute)
            return set(node.schema.names) if whole else needed | {node.attribute}
        case nodes.Enrich():
            return {one.column for one in _paired(node, needed) if not one.side} | {left for left, _ in node.keys}
        case nodes.Top() | nodes.Aggregate() | nodes.Join() | nodes.AsOf():
            # Every column settles ties; an aggregate's input has been made for it; a join names both sides' columns.
            return {name for below in nodes.inputs(node) for name in below.schema.names}


def _kept(node: nodes.Project, needed: Iterable[str]) -> tuple[tuple[str, Expression], ...]:
    wanted = set(needed)
    kept = tuple((n, one) for n, one in node.columns if n in wanted or not (one.total or one.plain is not None))
    return kept or node.columns[:1]  # rows without any column could not be counted


def _paired(node: nodes.Enrich, needed: set[str]) -> tuple[nodes.JoinColumn, ...]:
    """The columns of a pair that somebody asks for, or its condition."""
    read = () if node.condition is None else node.condition.columns
    kept = tuple(one for one in node.columns if one.name in needed or one.name in read)
    return kept or node.columns[:1]


def _narrowed(node: Node, needed: set[str]) -> Node:
    """The node without columns that nobody asks for."""
    if isinstance(node, nodes.Enrich) and len(kept := _paired(node, needed)) < len(node.columns):
        names = needed & {one.name for one in kept} or {kept[0].name}
        schema = pa.schema([field for field in node.schema if field.name in names])
        return replace(node, columns=kept, schema=schema)
    if isinstance(node, nodes.Project) and len(kept := _kept(node, needed)) < len(node.columns):
        schema = pa.schema([node.schema.field(name) for name, _ in kept])
        return replace(node, columns=kept, schema=schema)
    if isinstance(node, nodes.Union) and len(kept := _asked(node, needed)) < len(node.schema):
        return replace(node, schema=pa.schema([field for field in node.schema if field.name in kept]))
    return node


def _cut(source: nodes.Source, needed: set[str]) -> Node:
    """The stream with only the needed columns, for readers that would carry the others along."""
    names = [name for name in source.schema.names if name in needed] or source.schema.names[:1]
    if len(names) == len(source.schema.names):
        return source
    columns = tuple((name, replace(Expression.column(name), total=True)) for name in names)
    schema = pa.schema([source.schema.field(name) for name in names])
    return nodes.Project(input=source, columns=columns, schema=schema, cut=True)
