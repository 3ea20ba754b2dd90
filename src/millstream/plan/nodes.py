"""The plan: immutable nodes that say what to compute. A node is its inputs, its parameters and its schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import pyarrow as pa

from millstream.core.aggregate import AggregateCall
from millstream.core.domain import Domain
from millstream.core.expression import Expression
from millstream.core.flush import Flush
from millstream.core.promise.near import Near, Reach
from millstream.core.window import Landmark, Sliding, Window
from millstream.plan.cost import Choice

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
    raw: bool = False
    """Do rows that could not be read come among the others, as text?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spare:
    """Rows whose `attribute` is null, or so near to either end of time that `reach` more ticks do not fit."""

    attribute: str
    reach: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Select:
    """Rows that satisfy a condition."""

    input: Node
    condition: Expression
    spare: Spare | None = None
    """Rows that go on whatever the condition says, because an operator above rejects them, with its reason."""

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
    cut: bool = False
    """Made to leave columns behind where a stream enters: it is the first to see the rows, and stays it."""


def extremes(node: Project) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The columns that are the greatest or the least of some columns of one type, and which."""
    schema = node.input.schema
    return {
        name: one.extreme
        for name, one in node.columns
        if one.extreme is not None and len({schema.field(part).type for part in one.extreme[1]}) == 1
    }


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
    """The first `limit` rows of each window or group, in order of some columns."""

    input: Node
    keys: tuple[str, ...]
    """The columns that tell windows or groups apart, a window's end last."""
    order: tuple[tuple[str, bool], ...]
    """Columns, and whether descending."""
    limit: int | None
    """None for all rows, which then are only numbered."""
    number: str | None = None
    """The column that has the place of a row in its group, from 1; None for no such column."""
    windows: bool = False
    """Are the groups the windows of an aggregate?"""

    @property
    def schema(self) -> pa.Schema:
        """That of the input, and the number."""
        return self.input.schema if self.number is None else self.input.schema.append(pa.field(self.number, pa.int64()))


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
    choice: Choice | None = None
    """The strategy, if it could be chosen before there are rows; `strategy` is what was asked for."""
    pane: int | None = None
    """The length in ticks of the panes that its sliding windows are made of."""
    flush: Flush | None = None
    """How the results of closed windows leave; None: at once."""


def flush_reach(node: Aggregate) -> int:
    """The most ticks by which the bound passes the end of a window whose rows are held back; 0 if none are."""
    slides = [window.slide for window in node.windows if isinstance(window, Sliding | Landmark)]
    return 0 if node.flush is None else node.flush.windows * max(slides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """`left + low <= right <= left + high` on an attribute of each side, in ticks; None is no bound at that end."""

    left: str
    right: str
    low: int | None
    high: int | None
    low_strict: bool = False
    high_strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SameWindow:
    """Both attributes lie in the same tumbling window of `size` ticks."""

    left: str
    right: str
    size: int


JOINS = ("inner", "left", "right", "full", "semi", "anti")
"""Which rows leave: pairs; pairs and the left, right or all rows without a partner; left rows with, or without, one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinColumn:
    """A column of a pair of rows: its name there, the side it is from (0 is left) and its name on that side."""

    name: str
    side: int
    column: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Join:
    """Pairs of rows of two inputs that belong together."""

    inputs: tuple[Node, Node]
    how: str
    keys: tuple[tuple[str, str], ...]
    """Columns that must be equal, left and right."""
    time: Band | SameWindow | None
    """How near the rows of a pair must be: what lets a row be forgotten."""
    condition: Expression | None
    """What else must hold, over the columns of a pair."""
    columns: tuple[JoinColumn, ...]
    """The columns of a pair. Those that leave are the ones that `schema` has."""
    schema: pa.Schema
    domain: Domain | None = None
    """Of the attributes that `time` is on."""
    nulls_equal: bool = False
    """Is a null key equal to a null key, as in set operations?"""


def near_of(node: Join) -> Near | None:
    """How near partners must be, if they must. Ticks are whole numbers, so `< 5` is `<= 4`."""
    time = node.time
    match time:
        case Band():
            low = None if time.low is None else time.low + int(time.low_strict)
            high = None if time.high is None else time.high - int(time.high_strict)
            return Near((time.left, time.right), Reach(low, high))
        case SameWindow():
            return Near((time.left, time.right), Reach(0, 0), time.size)
        case None:
            return None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AsOf:
    """Each left row with the latest right row of its keys that is not after it."""

    inputs: tuple[Node, Node]
    how: str
    """inner, or left: then rows without a partner leave too."""
    keys: tuple[tuple[str, str], ...]
    """Columns that must be equal, left and right."""
    time: tuple[str, str]
    domain: Domain
    columns: tuple[JoinColumn, ...]
    schema: pa.Schema
    strict: bool = False
    """Must the right row be before the left one?"""
    within: int | None = None
    """How many ticks the right row may be before the left one: what lets right rows be forgotten."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that stands still beside the streams: its name, by which a host finds the rows, and its columns."""

    name: str
    schema: pa.Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Enrich:
    """Rows of a stream with the rows of a table that have their keys."""

    input: Node
    table: Table
    how: str
    """inner, or left: then rows without a partner leave too."""
    keys: tuple[tuple[str, str], ...]
    """Columns that must be equal, of the stream and of the table."""
    condition: Expression | None
    """What else must hold, over the columns of a pair."""
    columns: tuple[JoinColumn, ...]
    """The columns of a pair; side 1 is the table. Those that leave are the ones that `schema` has."""
    schema: pa.Schema


Node: TypeAlias = Source | Select | Project | Union | Distinct | Sort | Top | Aggregate | Join | AsOf | Enrich


def with_schema(node: Aggregate, schema: pa.Schema) -> Aggregate:
    """The same aggregate with its result's schema."""
    return replace(node, schema=schema)


def with_strategy(node: Aggregate, strategy: str) -> Aggregate:
    """The same aggregate, computed by `strategy`."""
    return replace(node, strategy=strategy)


def is_sliding(node: Aggregate) -> bool:
    """Are its windows of a kind that strategies differ on?"""
    return isinstance(node.windows[0], Sliding)


def keeps_state(node: Node) -> bool:
    """Does the node remember rows from one epoch to the next?"""
    return isinstance(node, Aggregate | Distinct | Sort | Top | Join | AsOf)


def inputs(node: Node) -> tuple[Node, ...]:
    """The nodes that a node reads."""
    match node:
        case Source():
            return ()
        case Union() | Join() | AsOf():
            return node.inputs
        case _:
            return (node.input,)


def with_inputs(node: Node, below: tuple[Node, ...]) -> Node:
    """The same node over other inputs; itself if they are the ones it has."""
    if all(a is b for a, b in zip(inputs(node), below, strict=True)):
        return node
    match node:
        case Source():
            return node
        case Union():
            return replace(node, inputs=below)
        case Join() | AsOf():
            return replace(node, inputs=(below[0], below[1]))
        case _:
            return replace(node, input=below[0])


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
    return list({one.table.name: one.table for one in walk(node) if isinstance(one, Enrich)}.values())


def sources(node: Node) -> list[Source]:
    """The streams that a node reads, in order of first use."""
    return [one for one in walk(node) if isinstance(one, Source)]
