"""A plan: the queries of an engine by name, each with the node that answers it. What rewrites take and give."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from millstream.plan import nodes
from millstream.plan.nodes import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """One query."""

    name: str
    node: Node
    held: tuple[str, ...] = ()
    """The names under which its operators already hold state, inputs first; none for a query that is new."""
    upon: frozenset[str] = frozenset()
    """The queries whose results, or parts of them, it was written to read."""
    runs: bool = False
    """Is its node the one that runs? It has been through all rewrites, and another time changes nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Every query of an engine, those that already run first."""

    roots: tuple[Root, ...]
    distributed: bool = False
    """Do rows have to travel between where they enter and where they meet?"""
    _by_name: Mapping[str, Root] = field(init=False, repr=False, compare=False)
    _holding: tuple[Root, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Queries are looked up by name, and there may be thousands."""
        object.__setattr__(self, "_by_name", {root.name: root for root in self.roots})
        object.__setattr__(self, "_holding", tuple(root for root in self.roots if root.held))

    @classmethod
    def of(
        cls,
        asked: Mapping[str, Node],
        *,
        running: Mapping[str, Node] | None = None,
        held: Mapping[str, Sequence[str]] | None = None,
        distributed: bool = False,
    ) -> Plan:
        """Queries by name, as they were written; of those that already run, the nodes and the names they have."""
        upon = _upon(asked)
        runs = {id(asked[name]): node for name, node in (running or {}).items() if name in asked}
        roots = [
            Root(
                name=name,
                node=(running or {}).get(name) or nodes.swapped(node, runs),
                held=tuple((held or {}).get(name, ())),
                upon=upon[name],
                runs=name in (running or {}),
            )
            for name, node in asked.items()
        ]
        roots.sort(key=lambda root: not root.held)
        return cls(roots=tuple(roots), distributed=distributed)

    def __getitem__(self, name: str) -> Node:
        """The node that answers a query."""
        return self._by_name[name].node

    def older(self, root: Root) -> list[Root]:
        """The queries that hold state already and that a query was written to read, in order."""
        return [one for one in self._holding if one.name in root.upon] if root.upon else []

    def each(self, change: Callable[[Node], Node]) -> Plan:
        """The plan with every query changed by itself, so that none depends on which others there are."""
        return self.each_above(lambda node, _: change(node))

    def each_above(self, change: Callable[[Node, frozenset[int]], Node]) -> Plan:
        """As `each`; but a query that reads the state of another, older one, reads what that one has become.

        `change` is told the nodes, by identity, that it must leave as they are, with all that is below them.
        """
        made = {root.name: root.node for root in self.roots if root.runs}
        new = [root for root in self.roots if not root.runs]
        for root in sorted(new, key=lambda one: sum(1 for _ in nodes.walk(one.node))):
            older = [other for other in self.older(root) if other.name in made and _reads(root, other)]
            node = nodes.swapped(root.node, {id(other.node): made[other.name] for other in older})
            made[root.name] = change(node, frozenset(id(made[other.name]) for other in older))
        return self.with_nodes([made[root.name] for root in self.roots])

    def with_nodes(self, made: Sequence[Node]) -> Plan:
        """The same queries, answered by these nodes."""
        if all(new is root.node for new, root in zip(made, self.roots, strict=True)):
            return self
        roots = tuple(replace(root, node=new) for new, root in zip(made, self.roots, strict=True))
        return replace(self, roots=roots)

    def readers(self) -> dict[int, tuple[str, ...]]:
        """By identity of a node: the queries that read it, in order."""
        found: dict[int, list[str]] = {}
        for root in self.roots:
            for node in nodes.walk(root.node):
                found.setdefault(id(node), []).append(root.name)
        # Nodes with the same readers have the very same tuple: thousands of names are compared once.
        once: dict[tuple[str, ...], tuple[str, ...]] = {}
        return {key: once.setdefault(names, names) for key, names in ((k, tuple(v)) for k, v in found.items())}


def _reads(root: Root, other: Root) -> bool:
    """Are the results of the other query, with the state behind them, what the query goes on from?

    Not if both began together, or if the other came later: then each has state of its own, as it had at first.
    """
    if other.name not in root.upon or not other.held or not (not root.held or set(other.held) <= set(root.held)):
        return False
    return any(one is other.node for one in nodes.walk(root.node))


def _upon(asked: Mapping[str, Node]) -> dict[str, frozenset[str]]:
    """By query: those that it has a node with state in common with, the very same one; itself may be among them."""
    state = {
        name: frozenset(id(one) for one in nodes.walk(node) if nodes.keeps_state(one)) for name, node in asked.items()
    }
    keepers: dict[int, set[str]] = {}
    for name, mine in state.items():
        for one in mine:
            keepers.setdefault(one, set()).add(name)
    # Queries with the same state share one set of names; a query among its own says nothing.
    together = {mine: frozenset(name for one in mine for name in keepers[one]) for mine in set(state.values())}
    return {name: together[mine] for name, mine in state.items()}
