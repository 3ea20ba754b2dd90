"""The graph: operators joined as the plan's nodes are, and what leaves each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.ops.feedback.sweep import doomed, doomed_in_store
from millstream.ops.guard import Guards
from millstream.ops.ingest import Ingest
from millstream.ops.operator import Operator
from millstream.ops.turn import Turn
from millstream.plan import nodes
from millstream.plan.cost import Choice
from millstream.runtime.compile import compile_node

Deliver = Callable[[nodes.Node, pa.Table], None]
"""Takes the rows that leave a node."""
Found = dict[str, Mapping[int, Records]]
"""By name of a node and by port: rows of its inputs."""
Was = Callable[[nodes.Node], "Vertex | None"]
"""From a node to the one of an older graph that it goes on from; None for one that is new."""


@dataclass(slots=True)
class Vertex:
    """An operator in place: the node it computes, what it reads at each port, and who reads it at which port."""

    node: nodes.Node
    operator: Operator
    first: Operator
    """The operator that was there first: as rows come it decides which one takes them."""
    inputs: list[Vertex] = field(default_factory=list["Vertex"])
    readers: list[tuple[Vertex, int]] = field(default_factory=list["tuple[Vertex, int]"])
    hearers: list[tuple[Vertex, int]] = field(default_factory=list["tuple[Vertex, int]"])
    """Who hears its promises, at which port: the readers, and readers of a store that it feeds."""
    outlets: dict[int, list[Vertex]] = field(default_factory=dict["int", "list[Vertex]"])
    """Of the readers, those that read one outlet: rows reach them by that."""
    choice: Choice | None = None
    _told: Progress = field(default_factory=Progress)
    _stale: bool = False

    @property
    def told(self) -> Progress:
        """What is known of this operator's promises; found out when somebody asks, as long as nobody listens."""
        if self._stale:
            self.told = self.operator.promises().copy()
        return self._told

    @told.setter
    def told(self, progress: Progress) -> None:
        self._told, self._stale = progress, False

    def forget_told(self) -> None:
        """The promises may be others now."""
        self._stale = True


class Graph:
    """Every operator that some query needs, each once, inputs before readers."""

    def __init__(self) -> None:
        """No operators yet."""
        self.vertices: dict[int, Vertex] = {}

    @classmethod
    def of(cls, roots: Iterable[nodes.Node], was: Was) -> Graph:
        """The operators of a plan. A node that was there in an older one goes on with what its operator has."""
        out = cls()
        for root in roots:
            for node in nodes.walk(root):
                if id(node) not in out.vertices:
                    out._place(node, was(node))
        return out

    def add(self, root: nodes.Node) -> None:
        """Make operators for the nodes that have none."""
        for node in nodes.walk(root):
            if id(node) not in self.vertices:
                self._place(node, None)

    def _place(self, node: nodes.Node, old: Vertex | None) -> None:
        vertex: Vertex

        def note(choice: Choice) -> None:
            vertex.choice = choice

        if old is not None and type(old.node) is type(node) and not isinstance(node, nodes.Panes | nodes.SharedJoin):
            vertex = old  # the old graph is left behind, and its operators may have noted down this vertex
            vertex.node, vertex.inputs, vertex.readers, vertex.hearers, vertex.outlets = node, [], [], [], {}
        else:
            operator = compile_node(node, note)
            vertex = Vertex(node, operator, operator)
            if old is not None:
                operator.adopt(old.operator)
                vertex.told = old.told
        self.vertices[id(node)] = vertex
        for port, below in enumerate(nodes.inputs(node)):
            source = self.vertices[id(below)]
            source.readers.append((vertex, port))
            vertex.inputs.append(source)
            if (outlet := node.reads_outlet()) is not None:
                source.outlets.setdefault(outlet, []).append(vertex)
        for port, below in enumerate(node.heard()):
            source = self.vertices[id(below)]
            source.hearers.append((vertex, port))
            if old is None:  # a reader that comes late is told what was promised before it came
                vertex.operator.progress[port] = source.told.copy()
        if old is None and nodes.inputs(node):
            vertex.operator.resume(vertex.operator.progress)
            vertex.told = vertex.operator.promises().copy()

    def at(self, node: nodes.Node) -> Vertex:
        """The vertex of a node."""
        return self.vertices[id(node)]

    def found(self, name: Callable[[nodes.Node], str]) -> tuple[Found, Found]:
        """By name of a node: what its operator has found out that it ignores, and wants first, of its inputs."""
        speaking = {name(one.node): one.operator for one in self.vertices.values() if one.operator.speaks}
        ignored = {key: operator.ignores() for key, operator in speaking.items()}
        return ignored, {key: operator.desires() for key, operator in speaking.items()}

    def doomed(self, name: Callable[[nodes.Node], str]) -> dict[str, Records]:
        """By name of a node: partial results of its operator that can only become such as nobody reads."""
        out: dict[str, Records] = {}
        for vertex in self.vertices.values():
            guards = vertex.operator.guards
            if guards is None or not guards.sweeps:
                continue
            if (outlet := vertex.node.reads_outlet()) is None:
                found = doomed(vertex.operator, guards.sweeps, guards.groups)
            else:
                asked = {outlet: (guards.sweeps, guards.groups)}
                found = doomed_in_store(vertex.inputs[0].operator, asked, lambda _, rows: [rows]).get(outlet, ())
            out |= {name(vertex.node): found} if found else {}
        return out

    def guard(self, guards_of: Callable[[nodes.Node], Guards | None]) -> None:
        """Have operators leave out other rows from now on; what they hold of those that are new they forget."""
        for vertex in self.vertices.values():
            before, now = vertex.operator.guards, guards_of(vertex.node)
            if now != before:
                vertex.operator.guards = now
                if now is not None:
                    vertex.operator.purge(now.ignored)

    def ingests(self) -> Iterable[tuple[Vertex, Ingest]]:
        """The entrances."""
        for vertex in self.vertices.values():
            if isinstance(vertex.operator, Ingest):
                yield vertex, vertex.operator

    def push(self, vertex: Vertex, rows: pa.Table, deliver: Deliver, port: int = 0) -> None:
        """Rows arrive at an operator; whatever leaves it arrives at its readers."""
        if rows.num_rows:
            guards = vertex.operator.guards
            vertex.operator = vertex.first.decide(vertex.operator, rows)
            vertex.operator.guards = guards
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
        if not vertex.hearers:
            vertex.forget_told()
            return
        now = vertex.operator.promises()
        if now != vertex.told:
            vertex.told = now.copy()
            for reader, at in vertex.hearers:
                self.advance(reader, now, deliver, at)

    def _pass_on(self, vertex: Vertex, tables: list[pa.Table], deliver: Deliver) -> None:
        for table in tables:
            deliver(vertex.node, table)
            for reader, port in vertex.readers:
                self.push(reader, table, deliver, port)
        operator = vertex.operator
        if operator.counts:
            for outlet, figures in operator.counts.items():
                for reader in vertex.outlets.get(outlet, ()):
                    reader.operator.meter.add(figures)
            operator.counts = {}
        for outlet, one in operator.apart:
            for reader in vertex.outlets.get(outlet, ()):
                reader.operator.rejected.append(one)
        operator.apart.clear()
        if operator.sent:
            sent, operator.sent = operator.sent, []
            for outlet, table in sent:
                for reader in vertex.outlets.get(outlet, ()):
                    self.push(reader, table, deliver)
