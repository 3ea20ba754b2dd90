"""Arranging: which queries run, and by which operators. Queries come and go; what stays goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from millstream.core.domain import BOTTOM
from millstream.core.generator import high_of
from millstream.core.progress import Progress
from millstream.ops.join.shared import SharedJoin
from millstream.ops.operator import Operator
from millstream.ops.panes.adopt import adoptable
from millstream.ops.panes.store import HIGH, PaneStore
from millstream.ops.windowing.paned import Paned
from millstream.plan import nodes
from millstream.plan.lease import Lease, streams_behind
from millstream.plan.optimize import optimize
from millstream.plan.plan import Plan
from millstream.plan.rewrite.share_panes import Shared
from millstream.plan.rewrite.share_state import share_state
from millstream.plan.sharing import Sharing
from millstream.runtime.compile.store_specs import store_spec
from millstream.runtime.leases import Kept, KeptPart, Standing, covered, holdings, kinds_of, settle_leases
from millstream.runtime.local.graph import Graph, Vertex, Was
from millstream.runtime.query import HostQuery
from millstream.runtime.sharing.join_leases import (
    JoinStanding,
    KeptJoin,
    KeptJoins,
    completes,
    conditions_below,
    join_holdings,
    join_stores,
    settle_joins,
)

T = TypeVar("T")


@dataclass(frozen=True)
class Arranged:
    """Queries, and the operators that answer them."""

    queries: Mapping[str, HostQuery] = field(default_factory=dict[str, HostQuery])
    graph: Graph = field(default_factory=Graph)
    written: Mapping[str, nodes.Node] = field(default_factory=dict[str, nodes.Node])
    """As users wrote them."""
    plain: Mapping[str, nodes.Node] = field(default_factory=dict[str, nodes.Node])
    """As each would be computed by itself. These nodes stay the same while the query runs."""
    origin: Mapping[int, nodes.Node] = field(default_factory=dict[int, nodes.Node])
    leases: Mapping[int, Lease] = field(default_factory=dict[int, Lease])
    kept: Kept = field(default_factory=dict["str", "dict[int, KeptPart]"])
    joins: KeptJoins = field(default_factory=dict["str", "KeptJoin"])
    """By store: what rows of joins have been kept."""
    idle: Mapping[str, Vertex] = field(default_factory=dict[str, Vertex])
    """The entrances of streams that nobody reads now, by name: what has come and was promised stays true."""

    sharing: Sharing = field(default_factory=Sharing)
    """How much of their state queries have in common."""

    def name(self, node: nodes.Node) -> str:
        """What a node is called, whatever other queries come and go."""
        return _name(node, self.origin)

    def shared_with(self, asked: Mapping[str, nodes.Node], gone: Sequence[str] = (), *, fresh: bool) -> Shared:
        """The plan of these queries beside those that run, with leases that are not settled."""
        return self._shared(self._plain({**_left(self.written, gone), **asked}, gone), self.leases, fresh=fresh)

    def changed(
        self, new: Mapping[str, HostQuery], gone: Sequence[str], *, fresh: bool, short: bool = False
    ) -> Arranged:
        """With other queries. Those that stay go on as they are; new ones begin with what stores have for them.

        Stores that are `short` have left out rows that those who read them ignored.
        """
        queries = {**_left(self.queries, gone), **new}
        written = {**_left(self.written, gone), **{name: query.node for name, query in new.items()}}
        plan = self._plain(written, gone)
        shared = self._shared(plan, self.leases, fresh=fresh)
        begun = JoinStanding(
            fresh=fresh,
            kept=self.joins,
            high=self._came,
            progress=lambda store: self._both_promised(store, shared),
            short=short,
        )
        of_joins, joins = settle_joins(shared, self.leases, begun, distributed=False)
        standing = Standing(
            fresh=fresh,
            kept=self._kept(shared),
            high=lambda panes: self._high(panes, completes(panes, shared, of_joins)),
            progress=lambda panes: self._promised(panes.input, shared),
        )
        # What was computed by itself has been there from the beginning.
        known = {**self.leases, **{id(node.of): shared.leases[id(node.of)] for node, _ in self._alone(shared).values()}}
        leases, kept = settle_leases(shared, known, standing)
        leases |= of_joins
        if leases != shared.leases:
            shared = self._shared(plan, leases, fresh=fresh)
        entrances = self._entrances()
        lone = self._lone(shared)
        graph = Graph.of([shared.plan[name] for name in queries], self._before(shared))
        for node, operator in self._alone(shared).values():
            store = graph.at(node.input).operator
            assert isinstance(store, PaneStore)
            store.adopt_panes(node.outlet, operator)
        for node, vertex, facts in lone:
            taking = graph.at(node).operator
            assert isinstance(taking, SharedJoin)
            taking.go_on_from(vertex.operator, facts)
            self._book_filtered(vertex, graph, shared)
        for name, query in queries.items():
            query.node = shared.plan[name]
            if name in new:
                query.since = {
                    _name(node, shared.origin): replace(graph.at(node).operator.meter)
                    for node in nodes.walk(query.node)
                    if graph.at(node).operator.meter.rows_in
                }
        plain = {name: plan[name] for name in queries}
        read = {vertex.node.name for vertex, _ in graph.ingests() if isinstance(vertex.node, nodes.Source)}
        idle = _left(entrances, tuple(read))
        return Arranged(queries, graph, written, plain, shared.origin, shared.leases, kept, joins, idle, self.sharing)

    def _plain(self, written: Mapping[str, nodes.Node], gone: Sequence[str]) -> Plan:
        running = {name: node for name, node in self.plain.items() if name not in gone}
        held = {name: [str(id(node)) for node in nodes.walk(root)] for name, root in running.items()}
        return optimize(Plan.of(written, running=running, held=held))

    def _shared(self, plan: Plan, leases: Mapping[int, Lease], *, fresh: bool) -> Shared:
        """An aggregate that keeps no panes goes on by itself, and so does one as long as it has no company."""
        alone = {
            id(self.origin[id(vertex.node)]): adoptable(vertex.operator)
            for vertex in self.graph.vertices.values()
            if isinstance(vertex.node, nodes.Aggregate)
        }
        apart = {key for key, can in alone.items() if not can}
        if not fresh:  # a join that was never to be shared goes on so
            joins = (v.node for v in self.graph.vertices.values() if isinstance(v.node, nodes.Join))
            apart |= {id(self.origin[id(node)]) for node in joins} - self.leases.keys()

        def single(key: int) -> bool:
            return fresh or key in alone

        held, joined = holdings(self.kept), join_holdings(self.joins)
        return share_state(
            plan, leases, held=held, joins=joined, apart=apart, single=single, fresh=fresh, sharing=self.sharing
        )

    # --- what goes on where ------------------------------------------------------------------------

    def _before(self, shared: Shared) -> Was:
        """The vertex of this graph that a node of another plan goes on from."""
        known = {self.name(vertex.node): vertex for vertex in self.graph.vertices.values()}

        def was(node: nodes.Node) -> Vertex | None:
            idle = self.idle.get(node.name) if isinstance(node, nodes.Source) else None
            return known.get(_name(node, shared.origin), idle)

        return was

    def _entrances(self) -> dict[str, Vertex]:
        """By name: where each stream enters that has been read."""
        found = {
            vertex.node.name: vertex for vertex, _ in self.graph.ingests() if isinstance(vertex.node, nodes.Source)
        }
        return {**self.idle, **found}

    def _alone(self, shared: Shared) -> dict[int, tuple[nodes.Answers, Operator]]:
        """Aggregates that were computed by themselves, and read a store from now on; by identity of the answers."""
        found = {
            self.name(vertex.node): vertex.operator
            for vertex in self.graph.vertices.values()
            if isinstance(vertex.node, nodes.Aggregate)
        }
        answers = {
            id(node): node
            for root in shared.plan.roots
            for node in nodes.walk(root.node)
            if isinstance(node, nodes.Answers)
        }
        return {key: (node, found[name]) for key, node in answers.items() if (name := f"node {id(node.of)}") in found}

    def _kept(self, shared: Shared) -> Kept:
        """What stores have, and what aggregates have that will be in a store from now on."""
        out = {name: dict(parts) for name, parts in self.kept.items()}
        for node, operator in self._alone(shared).values():
            panes = node.input
            assert isinstance(panes, nodes.Panes)
            if isinstance(operator, Paned):
                store = PaneStore(store_spec(panes))
                names = dict.fromkeys(store.names_of(node.outlet), BOTTOM)
                windows = kinds_of((window, None) for window in operator.windows)
                reading, base = panes.readings[node.outlet], operator.base % operator.pane
                out.setdefault(panes.name, {})[reading.part] = KeptPart(
                    base, operator.pane, windows, reading.what, panes.meets, covered(windows), names
                )
        return out

    def _book_filtered(self, was: Vertex, graph: Graph, shared: Shared) -> None:
        """What conditions below a join by itself had stopped is in the books of its readers still."""
        assert isinstance(was.node, nodes.Join)
        stopped = sum(self.graph.at(one).operator.meter.filtered for one in conditions_below(was.node))
        for vertex in graph.vertices.values():
            if isinstance(vertex.node, nodes.Matches) and _name(vertex.node, shared.origin) == self.name(was.node):
                vertex.operator.meter.filtered += stopped

    def _lone(self, shared: Shared) -> list[tuple[nodes.SharedJoin, Vertex, Mapping[str, Any]]]:
        """Stores that go on from a join that kept its rows by itself; the join, and what they must know of its rows."""
        was = {self.name(vertex.node): vertex for vertex in self.graph.vertices.values()}
        out: list[tuple[nodes.SharedJoin, Vertex, Mapping[str, Any]]] = []
        for store in join_stores(shared.plan):
            facts = self.joins[store.name].lone if store.name in self.joins else {}
            if facts:
                mine = (f"node {key}" for key, lease in self.leases.items() if lease.store == store.name)
                out.append((store, was[next(mine)], facts))
        return out

    def _came(self, rows: nodes.Node, attribute: str) -> int | None:
        """The tick above the greatest that has come in the streams that a column is from."""
        streams = streams_behind(rows, attribute)
        if streams is None:
            return None
        entered = self._entrances()
        facts = (entered[one.name].operator.store.facts for one in streams if one.name in entered)
        return max((high + 1 for one in facts if (high := high_of(one.get("generator", {}))) > BOTTOM), default=BOTTOM)

    def _both_promised(self, store: nodes.TwoSided, shared: Shared) -> list[Progress]:
        """What the rows of both sides of a store have been promised to be."""
        return [self._promised(one, shared) for one in store.inputs]

    def _high(self, panes: nodes.Panes, begun: Sequence[int]) -> int | None:
        """The tick above the greatest that has come: as the streams know it, or as the store does.

        Joins that its rows are from may have `begun` later.
        """
        found = [
            *begun,
            *(
                store.facts[HIGH]
                for vertex in self.graph.vertices.values()
                if isinstance(vertex.node, nodes.Panes) and vertex.node.name == panes.name
                for store in vertex.operator.stores
                if HIGH in store.facts
            ),
        ]
        streams = {source.name for source in streams_behind(panes, panes.attribute) or ()}
        for stream in streams & self._entrances().keys():
            high = high_of(self._entrances()[stream].operator.store.facts.get("generator", {}))
            found += [high + 1] if high > BOTTOM else []
        return max(found, default=None)

    def _promised(self, rows: nodes.Node, shared: Shared) -> Progress:
        """What the rows that a store reads have been promised to be."""
        before = self._before(shared)
        while id(rows) not in shared.origin:
            (rows,) = rows.reads()
        vertex = before(rows)
        return Progress() if vertex is None else vertex.told


def _left(of: Mapping[str, T], gone: Sequence[str]) -> dict[str, T]:
    return {name: one for name, one in of.items() if name not in gone}


def _name(node: nodes.Node, origin: Mapping[int, nodes.Node]) -> str:
    if isinstance(node, nodes.Panes | nodes.SharedJoin):
        return f"store {node.name}"
    found = origin.get(id(node))
    return f"new {id(node)}" if found is None else f"node {id(found)}"
