"""Walks: every node of a plan, and plans made anew from the inputs up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from millstream.plan.nodes.base import Node, Table
from millstream.plan.nodes.source import Source


def keeps_state(node: Node) -> bool:
    """Does the node remember rows from one epoch to the next?"""
    return node.stateful


def inputs(node: Node) -> tuple[Node, ...]:
    """The nodes that a node reads."""
    return node.reads()


def with_inputs(node: Node, below: tuple[Node, ...]) -> Node:
    """The same node over other inputs; itself if they are the ones it has."""
    same = all(a is b for a, b in zip(node.reads(), below, strict=True))
    return node if same else node.over(below)


def rebuilt(root: Node, change: Callable[[Node], Node]) -> Node:
    """The plan with every node changed, inputs first; what is read twice is changed once and stays one node."""
    made: dict[int, Node] = {}
    for node in walk(root):
        made[id(node)] = change(with_inputs(node, tuple(made[id(one)] for one in inputs(node))))
    return made[id(root)]


def swapped(root: Node, others: Mapping[int, Node]) -> Node:
    """The plan with other nodes, and all that is below those, in the place of some, by identity; the topmost first."""
    made: dict[int, Node] = dict(others)
    for node in walk(root):
        if id(node) not in made:
            made[id(node)] = with_inputs(node, tuple(made[id(one)] for one in inputs(node)))
    return made[id(root)]


def walk(node: Node) -> Iterator[Node]:
    """Every node below and including this one, inputs first, each once."""
    seen: set[int] = set()

    def visit(one: Node) -> Iterator[Node]:
        if id(one) in seen:
            return
        seen.add(id(one))
        for below in inputs(one):
            yield from visit(below)
        yield one

    yield from visit(node)


def tables(node: Node) -> list[Table]:
    """The tables that stand beside the streams of a node, each once."""
    return list({table.name: table for one in walk(node) for table in one.tables()}.values())


def sources(node: Node) -> list[Source]:
    """The streams that a node reads, in order of first use."""
    return [one for one in walk(node) if isinstance(one, Source)]
