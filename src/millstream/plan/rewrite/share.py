"""Share: sub-plans that are equal become one node, and so are computed once for all queries that read them."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

from millstream.plan import nodes
from millstream.plan.nodes import Node
from millstream.plan.plan import Plan

Known: TypeAlias = dict[Hashable, list[tuple[str, Any, Node]]]
"""By kind, inputs and what it says, as far as that can be hashed: the name of its state, all it says, and the node."""


def share(plan: Plan) -> Plan:
    """Promise: each query has the plan it had, node for node; equal nodes of one or more queries are one object.

    Streams are equal if they are the same, other nodes if all they say is. A node that keeps state is shared only
    between queries that began together: one that comes later must not find rows in it that came before, nor miss
    those it has let go.

    >>> import pyarrow as pa
    >>> from millstream.core.expression import Expression
    >>> stream = nodes.Source(name="s", schema=pa.schema({"a": pa.bool_()}))
    >>> one, other = (nodes.Select(input=stream, condition=Expression.column("a")) for _ in range(2))
    >>> shared = share(Plan.of({"p": one, "q": other}))
    >>> shared["p"] is shared["q"]
    True
    """
    alone = plan.each(lambda root: _joined(root, {}))
    known: Known = {}
    made: list[Node] = []
    for root in alone.roots:
        theirs = frozenset(name for other in alone.older(root) if other.name != root.name for name in other.held)
        made.append(_joined(root.node, known, root.held, theirs))
    return alone.with_nodes(made)


def _joined(root: Node, known: Known, held: tuple[str, ...] = (), theirs: frozenset[str] = frozenset()) -> Node:
    """The query with each node that equals a known one in its place.

    `held` names the state of its nodes; the state of those named in `theirs` it was written to read.
    """
    made: dict[int, Node] = {}
    for place, node in enumerate(nodes.walk(root)):
        new = nodes.with_inputs(node, tuple(made[id(one)] for one in nodes.inputs(node)))
        name = held[place] if place < len(held) and nodes.keeps_state(new) else ""
        made[id(node)] = _canonical(new, name, theirs, known)
    return made[id(root)]


def _canonical(node: Node, name: str, theirs: frozenset[str], known: Known) -> Node:
    if isinstance(node, nodes.Source):
        return node
    below = tuple(id(one) for one in nodes.inputs(node))
    says = tuple(node.says())
    alike = known.setdefault((type(node), below, *filter(_is_hashable, says)), [])
    for their_name, their_says, first in alike:
        if their_says == says and (their_name == name or (not name and their_name in theirs)):
            return first
    alike.append((name, says, node))
    return node


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
