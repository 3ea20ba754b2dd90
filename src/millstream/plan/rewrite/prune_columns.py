"""Prune columns: what nobody above a stream's entrance reads is left behind there."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.plan import nodes
from millstream.plan.nodes import Node
from millstream.plan.plan import Plan


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
        below = tuple((made if node.selective or id(one) not in cut else cut)[id(one)] for one in nodes.inputs(node))
        made[id(node)] = nodes.with_inputs(node, below).narrowed(needed[id(node)])
        if isinstance(node, nodes.Source) and node is not root:
            cut[id(node)] = _cut(node, needed[id(node)])
    return made[id(root)]


def _needed(root: Node) -> dict[int, set[str]]:
    """By identity of a node: the columns of its output that some reader asks for."""
    out: dict[int, set[str]] = {id(node): set() for node in nodes.walk(root)}
    out[id(root)] = set(root.schema.names)
    for node in reversed(list(nodes.walk(root))):
        for below in nodes.inputs(node):
            out[id(below)] |= node.needs(out[id(node)])
    return out


def _cut(source: nodes.Source, needed: set[str]) -> Node:
    """The stream with only the needed columns, for readers that would carry the others along."""
    names = [name for name in source.schema.names if name in needed] or source.schema.names[:1]
    if len(names) == len(source.schema.names):
        return source
    columns = tuple((name, replace(Expression.column(name), total=True)) for name in names)
    schema = pa.schema([source.schema.field(name) for name in names])
    return nodes.Project(input=source, columns=columns, schema=schema, cut=True)
