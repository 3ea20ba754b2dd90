"""A program: the plan of all queries, cut where rows must meet, ready to be sent to where the rows are.

Stateless nodes run wherever their rows are. A stateful node is a *stop*: rows reach it by a shuffle, in the
partition its key says. Stops of level 1 are fed from the sources, those of level 2 also from level 1, and so on.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from millstream.ops.operator import Operator
from millstream.plan import nodes
from millstream.plan.cost import Choice
from millstream.plan.explain import drawn
from millstream.plan.state_text import state_text
from millstream.runtime.batch import Sink
from millstream.runtime.compile import compile_node
from millstream.runtime.tasks.route import steps


@dataclass(slots=True)
class Target:
    """A query's outputs: its node, and the sinks of each."""

    name: str
    node: nodes.Node
    sinks: dict[str, list[Sink]] = field(default_factory=dict[str, list[Sink]])
    """By output: results, late, rejected, partial."""
    finals: bool = False
    """Do complete results go where partial ones go, too?"""
    plain: nodes.Node | None = None
    """As the query would be computed by itself; None: as it is."""

    @property
    def alone(self) -> nodes.Node:
        """As the query would be computed by itself."""
        return self.plain or self.node


@dataclass
class Program:
    """The nodes of some queries, inputs before readers, each once."""

    targets: list[Target]
    partitions: int

    def __getstate__(self) -> dict[str, Any]:
        """Without what was worked out by identity: nodes are others where the program arrives."""
        return {"targets": [replace(one, plain=None) for one in self.targets], "partitions": self.partitions}

    @cached_property
    def nodes(self) -> list[nodes.Node]:
        """Every node, in an order in which inputs come first."""
        seen: dict[int, nodes.Node] = {}
        for target in self.targets:
            for node in nodes.walk(target.node):
                seen.setdefault(id(node), node)
        return list(seen.values())

    @cached_property
    def index(self) -> dict[int, int]:
        """The number of each node, by identity."""
        return {id(node): i for i, node in enumerate(self.nodes)}

    @cached_property
    def readers(self) -> list[list[tuple[int, int]]]:
        """For each node, who reads it: (node, port)."""
        out: list[list[tuple[int, int]]] = [[] for _ in self.nodes]
        for i, node in enumerate(self.nodes):
            for port, below in enumerate(nodes.inputs(node)):
                out[self.index[id(below)]].append((i, port))
        return out

    @cached_property
    def outlets(self) -> dict[int, dict[int, list[int]]]:
        """For each node whose readers have outlets of their own: the readers of each outlet."""
        out: dict[int, dict[int, list[int]]] = {}
        for i, node in enumerate(self.nodes):
            if (outlet := node.reads_outlet()) is not None:
                below = self.index[id(nodes.inputs(node)[0])]
                out.setdefault(below, {}).setdefault(outlet, []).append(i)
        return out

    @cached_property
    def levels(self) -> list[int]:
        """How many shuffles lie between a source and a node's output."""
        out: list[int] = []
        for node in self.nodes:
            below = max((out[self.index[id(one)]] for one in nodes.inputs(node)), default=0)
            out.append(below + (steps(node, self.partitions) if is_stop(node) else 0))
        return out

    @property
    def depth(self) -> int:
        """The number of shuffles."""
        return max(self.levels, default=0)

    def step(self, i: int, level: int) -> int | None:
        """Which of its steps a stop takes at a level; None if it takes none there."""
        taken = steps(self.nodes[i], self.partitions)
        first = self.levels[i] - taken + 1
        return level - first if first <= level <= self.levels[i] else None

    def stops(self, level: int | None = None) -> Iterator[tuple[int, nodes.Node]]:
        """The stateful nodes, of one level or of all."""
        for i, node in enumerate(self.nodes):
            if is_stop(node) and (level is None or self.levels[i] == level):
                yield i, node

    @cached_property
    def keys(self) -> list[str]:
        """A name for each node that is the same for the same plan in every run."""
        return [hashlib.sha1(plan_text(node).encode()).hexdigest()[:12] for node in self.nodes]

    @cached_property
    def texts(self) -> dict[str, str]:
        """By query: its plan as text, for people."""
        return {target.name: plan_text(target.alone) for target in self.targets}

    @cached_property
    def state_texts(self) -> dict[str, str]:
        """By query: what its state depends on."""
        return {target.name: state_text(target.alone) for target in self.targets}

    def operator(self, i: int) -> Operator:
        """A fresh operator for a node."""
        return compile_node(self.nodes[i].settled(), _ignore)


def grows(program: Program) -> bool:
    """Is there a landmark? The last bound closes windows of it that the end, which comes after, does not."""
    return any(window.grows for node in program.nodes for window in node.spans())


def is_stop(node: nodes.Node) -> bool:
    """Must rows be brought together to reach it?"""
    return nodes.keeps_state(node)


def plan_text(node: nodes.Node) -> str:
    """A plan as text: equal for equal plans."""
    return "\n".join((*drawn(node, lambda one, _: [*one.describe(), *one.asked()]), *_schemas(node)))


def _schemas(node: nodes.Node) -> Iterator[str]:
    for one in nodes.walk(node):
        yield f"{type(one).__name__}: " + ", ".join(f"{f.name} {f.type}" for f in one.schema)


def _ignore(choice: Choice) -> None:
    """Nobody asks for the reason here."""
