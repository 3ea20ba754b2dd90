"""The graph: operators joined as the plan's nodes are, and what leaves each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.core.progress import Progress
from millstream.ops.ingest import Ingest
from millstream.ops.operator import Operator
from millstream.ops.turn import Turn
from millstream.plan import nodes
from millstream.plan.cost import Choice
from millstream.runtime.compile import compile_node

Deliver = Callable[[nodes.Node, pa.Table], None]
"""Takes the rows that leave a node."""


@dataclass(slots=True)
class Vertex:
    """An operator in place: the node it computes, and who reads it at which port."""

    node: nodes.Node
    operator: Operator
    first: Operator
    """The operator that was there first: as rows come it decides which one takes them."""
    readers: list[tuple[Vertex, int]] = field(default_factory=list["tuple[Vertex, int]"])
    choice: Choice | None = None
    told: Progress = field(default_factory=Progress)
    """What the readers know of this operator's promises."""


class Graph:
    """Every operator that some query needs, each once, inputs before readers."""

    def __init__(self) -> None:
        """No operators yet."""
        self.vertices: dict[int, Vertex] = {}

    def add(self, root: nodes.Node) -> None:
        """Make operators for the nodes that have none."""
        for node in nodes.walk(root):
            if id(node) not in self.vertices:
                self._place(node)

    def _place(self, node: nodes.Node) -> None:
        vertex: Vertex

        def note(choice: Choice) -> None:
            vertex.choice = choice

        operator = compile_node(node, note)
        vertex = Vertex(node, operator, operator)
        self.vertices[id(node)] = vertex
        for port, below in enumerate(nodes.inputs(node)):
            source = self.vertices[id(below)]
            source.readers.append((vertex, port))
            # A reader that comes late is told what was promised before it came.
            vertex.operator.progress[port] = source.told.copy()

    def at(self, node: nodes.Node) -> Vertex:
        """The vertex of a node."""
        return self.vertices[id(node)]

    def ingests(self) -> Iterable[tuple[Vertex, Ingest]]:
        """The entrances."""
        for vertex in self.vertices.values():
            if isinstance(vertex.operator, Ingest):
                yield vertex, vertex.operator

    def push(self, vertex: Vertex, rows: pa.Table, deliver: Deliver, port: int = 0) -> None:
        """Rows arrive at an operator; whatever leaves it arrives at its readers."""
        if rows.num_rows:
            vertex.operator = vertex.first.decide(vertex.operator, rows)
        self._pass_on(vertex, vertex.operator.take(port, rows), deliver)

    def advance(self, vertex: Vertex, progress: Progress, deliver: Deliver, port: int = 0) -> None:
        """Progress reaches an operator: results first, then what it promises in turn."""
        self._pass_on(vertex, vertex.operator.advance(port, progress), deliver)
        self._tell(vertex, deliver)

    def release(self, turn: Turn, deliver: Deliver) -> None:
        """The epoch is over: what operators held back leaves, inputs before readers, and lets them promise more."""
        for vertex in list(self.vertices.values()):
            # Rows that left earlier in the epoch may have been what a promise waited for.
            if vertex.operator.holds_back:
                self._pass_on(vertex, vertex.operator.release(turn), deliver)
                self._tell(vertex, deliver)

    @property
    def holds(self) -> bool:
        """Has some operator results that could leave?"""
        return any(vertex.operator.holds for vertex in self.vertices.values())

    def _tell(self, vertex: Vertex, deliver: Deliver) -> None:
        """The readers hear of what an operator promises, if it is new."""
        now = vertex.operator.promises()
        if now != vertex.told:
            vertex.told = now.copy()
            for reader, at in vertex.readers:
                self.advance(reader, now, deliver, at)

    def _pass_on(self, vertex: Vertex, tables: list[pa.Table], deliver: Deliver) -> None:
        for table in tables:
            deliver(vertex.node, table)
            for reader, port in vertex.readers:
                self.push(reader, table, deliver, port)
