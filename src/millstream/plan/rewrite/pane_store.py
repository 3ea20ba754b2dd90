"""Building a store of panes: the columns that rows are reduced by, the partials that are kept, and who reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.core.aggregate import AggregateCall
from millstream.core.expression import Expression
from millstream.plan import nodes
from millstream.plan.lease import Lease, streams_behind
from millstream.plan.nodes import AggregateColumn, Node, Panes, Project, Reading, Select
from millstream.plan.nodes.base import meaning
from millstream.plan.rewrite.asked import AskedAggregate, part_text, place

if TYPE_CHECKING:
    from millstream.plan.rewrite.share_panes import StoreDraft


class Columns:
    """The columns that a store reads, each expression once."""

    def __init__(self, store: StoreDraft) -> None:
        """The attribute and the groups have names of their own."""
        self.items: dict[str, Expression] = {store.attribute: Expression.column(store.attribute), **store.groups}
        self._known: dict[Any, str] = {meaning(one): name for name, one in self.items.items()}
        self._types = {store.attribute: store.rows.schema.field(store.attribute).type}
        for asked, _ in store.members:
            self._types |= {name: asked.node.input.schema.field(name).type for name in asked.node.groups}

    def name(self, one: Expression, kind: pa.DataType) -> str:
        """The column that holds an expression."""
        free = one.plain is not None and one.plain not in self.items  # rows that are rejected show it
        name = self._known.setdefault(meaning(one), one.plain if free and one.plain else f"__ms_x{len(self.items)}")
        self.items.setdefault(name, one)
        self._types.setdefault(name, kind)
        return name

    def over(self, below: Node) -> Project:
        """They, computed from rows."""
        schema = pa.schema([pa.field(name, self._types[name]) for name in self.items])
        return Project(input=below, columns=tuple(self.items.items()), schema=schema, hidden=True)


class Calls:
    """The aggregates that a store computes, each once."""

    def __init__(self, columns: Columns) -> None:
        """Their arguments and filters are columns."""
        self.made: list[AggregateColumn] = []
        self._columns = columns
        self._places: dict[Any, int] = {}

    def place(self, asked: AskedAggregate, one: AggregateColumn) -> int:
        """Where an aggregate stands."""
        kinds = asked.node.input.schema
        arguments = tuple(self._columns.name(asked.columns[name], kinds.field(name).type) for name in one.arguments)
        where = None if one.filter is None else self._columns.name(asked.columns[one.filter], pa.bool_())
        key = _identity(one.call, arguments, where)
        if key not in self._places:
            self._places[key] = len(self.made)
            name = f"a{len(self.made)}"
            self.made.append(
                AggregateColumn(name=name, call=one.call, arguments=arguments, filter=where, holistic=one.holistic)
            )
        return self._places[key]


def built(store: StoreDraft, leases: Mapping[int, Lease], below: Node) -> dict[int, Node]:
    """By identity of an aggregate: what answers it from the store; `below` is where its rows come from."""
    columns = Columns(store)
    calls = Calls(columns)
    wanted = store.predicates
    everybodys = len(wanted) == 1 and all(asked.condition is not None for asked, _ in store.members)
    # A store that does not see all rows does not know how far they have come; then their streams must.
    if everybodys and streams_behind(store.rows, store.attribute) is not None:
        below, wanted = Select(input=below, condition=wanted[0]), []
    predicates = tuple(columns.name(one, pa.bool_()) for one in wanted)
    readings: dict[Reading, int] = {}
    outlets: list[int] = []
    for asked, part in store.members:
        reading = Reading(
            windows=asked.windows,
            groups=asked.node.groups,
            aggregates=tuple(calls.place(asked, one) for one in asked.node.aggregates),
            names=tuple(one.name for one in asked.node.aggregates),
            predicate=place(wanted, asked.condition),
            part=part,
            since=leases[id(asked.node)].since,
            what=part_text(asked),
        )
        outlets.append(readings.setdefault(reading, len(readings)))
    panes = Panes(
        input=columns.over(below),
        name=store.name,
        attribute=store.attribute,
        domain=store.members[0][0].node.domain,
        groups=store.finest,
        meets=store.meets,
        predicates=predicates,
        aggregates=tuple(calls.made),
        readings=tuple(readings),
    )
    return {
        id(asked.node): nodes.Answers(input=panes, of=asked.node, outlet=outlet)
        for (asked, _), outlet in zip(store.members, outlets, strict=True)
    }


def _identity(call: AggregateCall, arguments: tuple[str, ...], where: str | None) -> Any:
    """What makes two calls one: the function, its options and the columns that it reads."""
    options = tuple(sorted((name, repr(value) if _plain(value) else id(value)) for name, value in call.options.items()))
    return call.function, options, arguments, where


def _plain(value: Any) -> bool:
    return isinstance(value, int | float | str | bool | tuple) or value is None
