"""The plan: immutable nodes that say what to compute. A node is its inputs, its parameters and its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa

from millstream.core.aggregate import AggregateCall
from millstream.core.domain import Domain
from millstream.core.expression import Expression
from millstream.core.window import Sliding, Window

STRATEGIES = ("auto", "wid", "paned", "differential", "buffered", "adaptive", "bins")
"""How a window aggregate may be computed; the answers are the same."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source:
    """A stream as it enters."""

    name: str
    schema: pa.Schema
    progress: Any = None
    """A generator bound to ticks, or None: nothing is promised before the end."""
    domains: Mapping[str, Domain] = field(default_factory=dict[str, Domain])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Select:
    """Rows that satisfy a condition."""

    input: Node
    condition: Expression

    @property
    def schema(self) -> pa.Schema:
        """That of the input."""
        return self.input.schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Project:
    """Computed columns."""

    input: Node
    columns: tuple[tuple[str, Expression], ...]
    schema: pa.Schema
    hidden: bool = False
    """Made for an aggregate's arguments: not worth showing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Union:
    """All rows of several inputs."""

    inputs: tuple[Node, ...]
    schema: pa.Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distinct:
    """The first row of each combination of `columns`."""

    input: Node
    columns: tuple[str, ...]

    @property
    def schema(self) -> pa.Schema:
        """That of the input."""
        return self.input.schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sort:
    """Rows in order of an attribute, as far as punctuation reaches."""

    input: Node
    attribute: str

    @property
    def schema(self) -> pa.Schema:
        """That of the input."""
        return self.input.schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Top:
    """The first `limit` rows of each window, in order of some columns."""

    input: Node
    window: tuple[str, ...]
    """The columns that tell windows apart, the window's end last."""
    order: tuple[tuple[str, bool], ...]
    """Columns, and whether descending."""
    limit: int

    @property
    def schema(self) -> pa.Schema:
        """That of the input."""
        return self.input.schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AggregateColumn:
    """One aggregate: its name, the call as written, and the input columns that hold its arguments."""

    name: str
    call: AggregateCall
    arguments: tuple[str, ...]
    filter: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aggregate:
    """Aggregates over windows, by group."""

    input: Node
    attribute: str
    domain: Domain
    windows: tuple[Window, ...]
    groups: tuple[str, ...]
    aggregates: tuple[AggregateColumn, ...]
    strategy: str
    schema: pa.Schema
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


Node: TypeAlias = Source | Select | Project | Union | Distinct | Sort | Top | Aggregate


def with_schema(node: Aggregate, schema: pa.Schema) -> Aggregate:
    """The same aggregate with its result's schema."""
    return replace(node, schema=schema)


def with_strategy(node: Aggregate, strategy: str) -> Aggregate:
    """The same aggregate, computed by `strategy`."""
    return replace(node, strategy=strategy)


def is_sliding(node: Aggregate) -> bool:
    """Are its windows of a kind that strategies differ on?"""
    return isinstance(node.windows[0], Sliding)


def inputs(node: Node) -> tuple[Node, ...]:
    """The nodes that a node reads."""
    match node:
        case Source():
            return ()
        case Union():
            return node.inputs
        case _:
            return (node.input,)


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


def sources(node: Node) -> list[Source]:
    """The streams that a node reads, in order of first use."""
    return [one for one in walk(node) if isinstance(one, Source)]
