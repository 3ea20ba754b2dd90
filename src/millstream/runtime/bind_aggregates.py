"""Binding an aggregate: its expressions become columns, its schema is worked out, its mistakes are found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from millstream.core.aggregate import AggregateCall, Size
from millstream.core.domain import Domain, Kind
from millstream.core.errors import AggregateError, PlanError
from millstream.core.expression import Expression
from millstream.core.flush import Flush
from millstream.core.quote import apart, check_reserved
from millstream.core.window import Window
from millstream.kernels.expressions.evaluate import as_condition, type_of
from millstream.kernels.ticks import domain_of
from millstream.ops.windowing.aggregate_spec import WINDOW_COLUMNS
from millstream.plan import nodes
from millstream.runtime.compile.window_kinds import ROW_NUMBER, spec_of

_BY_ATTRIBUTE = ("first", "last")


def bind_aggregate(
    source: nodes.Node,
    *,
    attribute: str,
    windows: tuple[Window, ...],
    groups: tuple[str, ...],
    calls: Mapping[str, AggregateCall],
    strategy: str,
    parse: Callable[[str], Expression],
    options: Mapping[str, Any],
    flush: Flush | None = None,
) -> nodes.Aggregate:
    """A window aggregate over a hidden projection that computes its arguments."""
    _check_names(groups, calls)
    check_reserved(calls)
    _check_strategy(strategy, windows)
    by_number = windows[0].by_rows
    columns = dict.fromkeys(groups if by_number else (attribute, *groups))
    items = {name: Expression.column(name) for name in columns}
    bound: list[nodes.AggregateColumn] = []
    taken = (*source.schema.names, *calls)
    for i, (name, call) in enumerate(calls.items()):
        wanted = None if call.filter is None else as_condition(parse(call.filter), source.schema)
        parsed = [parse(text) for text in call.arguments]
        if wanted is not None:  # rows that the filter stops must not fail for their arguments
            parsed = [one if one.total else one.only_where(wanted) for one in parsed]
        arguments = [_place(items, apart(f"__a{i}_{j}", taken), one) for j, one in enumerate(parsed)]
        if call.function in _BY_ATTRIBUTE:
            arguments.append(attribute)
        condition = None if wanted is None else _place(items, apart(f"__f{i}", taken), wanted)
        bound.append(nodes.AggregateColumn(name=name, call=call, arguments=tuple(arguments), filter=condition))
    if not items:  # count(*) over all rows needs some column to carry their number
        first = source.schema.names[0]
        items[first] = Expression.column(first)
    schema = pa.schema([pa.field(name, type_of(one, source.schema)) for name, one in items.items()])
    _check_filters(bound, schema)
    projected = nodes.Project(input=source, columns=tuple(items.items()), schema=schema, hidden=True)
    node = nodes.Aggregate(
        input=projected,
        attribute=attribute,
        domain=Domain(kind=Kind.INTEGER) if by_number else domain_of(schema.field(attribute).type, attribute),
        windows=windows,
        groups=groups,
        aggregates=tuple(bound),
        strategy=strategy,
        schema=pa.schema([]),
        options=options,
        flush=flush,
    )
    spec = spec_of(node)
    sized = (
        replace(one, holistic=known.kernel.size is Size.HOLISTIC)
        for one, known in zip(bound, spec.aggregates, strict=True)
    )
    return replace(node, schema=spec.schema, aggregates=tuple(sized))


def _place(items: dict[str, Expression], name: str, parsed: Expression) -> str:
    """The column that holds an expression: itself if it is one, else a hidden one."""
    if parsed.plain is not None:
        items.setdefault(parsed.plain, parsed)
        return parsed.plain
    items[name] = parsed
    return name


def _check_names(groups: tuple[str, ...], calls: Mapping[str, AggregateCall]) -> None:
    if not calls:
        raise PlanError("agg has no aggregates", hint="Name at least one: agg(n=ms.count()).")
    for name in groups:
        if name in WINDOW_COLUMNS:
            raise PlanError(
                f"the group {name!r} has the name of a result column",
                hint=f'Rename it first: select("{name} AS inner_{name}", …).',
            )
    for name in calls:
        if name in groups or name in WINDOW_COLUMNS:
            raise PlanError(
                f"the aggregate {name!r} has the name of another result column",
                hint=f"Results have {', '.join((*WINDOW_COLUMNS, *groups))}; choose another name.",
            )


def _check_strategy(strategy: str, windows: tuple[Window, ...]) -> None:
    if strategy not in nodes.STRATEGIES:
        raise PlanError(f"there is no strategy {strategy!r}", hint=f"Choose one of {', '.join(nodes.STRATEGIES)}.")
    fits = windows[0].strategies
    if strategy not in fits:
        raise PlanError(
            f"strategy {strategy!r} does not fit {type(windows[0]).__name__} windows",
            hint=f"For these windows choose one of {', '.join(fits)}.",
        )


def _check_filters(bound: list[nodes.AggregateColumn], schema: pa.Schema) -> None:
    for one in bound:
        if one.filter is not None and not pa.types.is_boolean(schema.field(one.filter).type):
            raise AggregateError(
                f"the filter of {one.name!r}, {one.call.filter}, is {schema.field(one.filter).type}",
                hint='A filter is a condition: filter="price > 10".',
            )


__all__ = ["ROW_NUMBER", "bind_aggregate"]
