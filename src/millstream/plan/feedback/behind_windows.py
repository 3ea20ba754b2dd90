"""Which rows can be left out where the windows of a window aggregate are ignored.

A row may be missing only if every result that it goes into is ignored. So a condition on the window columns becomes a
range of the windowing attribute, one on groups stays what it is, and one on an aggregate says nothing of rows, with one
exception: a row that is no greater than a bound cannot be the maximum of a window that is wanted for being above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import ANY, From, Pattern, UpTo, ValuePattern, value_meet
from millstream.core.window import WINDOW_COLUMNS, Sliding

if TYPE_CHECKING:
    from millstream.plan.nodes.aggregate import Aggregate
    from millstream.plan.nodes.base import Node


def responds(node: Aggregate, ignored: Pattern, rows: Node, argument: str | None) -> Response:
    """The response of an aggregate over some rows, in which its one aggregate has an argument.

    Results that have lost some of their rows are kept back, so it must be known which those are.
    """
    below = _rows(node, ignored, rows, argument)
    if below is None or rows.ahead(node.attribute, lambda _: 0) is None:
        return NOTHING
    return Response(inputs={0: below}, settles="window_start")


def _rows(node: Aggregate, ignored: Pattern, rows: Node, argument: str | None) -> Pattern | None:
    said = ignored.attributes
    ticks = _ticks(node, Pattern({name: said[name] for name in WINDOW_COLUMNS if name in said}))
    if ticks is None:
        return None
    out: dict[str, ValuePattern] = {node.attribute: ticks}
    for name, value in said.items():
        if name in WINDOW_COLUMNS:
            continue
        if name in node.groups:
            if rows.schema.field(name).type != node.schema.field(name).type:
                return None
            column = name
        elif argument is not None and _only_extreme(node, value, rows, argument):
            column = argument
        else:
            return None
        both = value_meet(out.get(column, ANY), value)
        if both is None:
            return None
        out[column] = both
    return Pattern(out)


def _ticks(node: Aggregate, said: Pattern) -> ValuePattern | None:
    """The values of the attribute all of whose windows match."""
    out: ValuePattern | None = ANY
    for window in node.windows:
        found = window.within(said)
        out = None if found is None or out is None else value_meet(out, found)
    return out


def _only_extreme(node: Aggregate, value: ValuePattern, rows: Node, argument: str) -> bool:
    """Is it the only aggregate, a maximum that is ignored up to a bound, or a minimum from one?

    With a null among the values, a window that has lost the others would answer null.
    """
    (one, *others) = node.aggregates
    if others or one.filter is not None or not _always_there(rows, argument):
        return False
    if rows.schema.field(argument).type != node.schema.field(one.name).type:
        return False
    return isinstance(value, UpTo if one.call.function == "max" else From) and one.call.function in ("max", "min")


def _always_there(node: Node, column: str) -> bool:
    """Is a column never null, because the stream that it comes from says so?"""
    if not node.schema.field(column).nullable or node.never_null(column):
        return True
    if len(node.reads()) != 1 or node.makes_rows:
        return False
    found = node.copied(column)
    return bool(found) and all(_always_there(below, name) for below, name in found)


def dooms(node: Aggregate, ignored: Pattern, arguments: Mapping[str, pa.DataType | None]) -> bool:
    """Is a partial answer that matches sure to match when it is complete?

    Counts and maxima never fall, minima never rise, and sums do not fall if no value is negative. Windows must not
    overlap: the rows of a group and window can then be left out by themselves. `arguments` are types, by aggregate.
    """
    (window, *others) = node.windows
    if others or not isinstance(window, Sliding) or window.size != window.slide or node.flush is not None:
        return False
    calls = {one.name: one.call.function for one in node.aggregates}
    values = {name: value for name, value in ignored.attributes.items() if name in calls}
    return bool(values) and all(
        isinstance(value, UpTo if calls[name] == "min" else From) and _monotone(calls[name], arguments[name])
        for name, value in values.items()
    )


def _monotone(function: str, kind: pa.DataType | None) -> bool:
    """Does an aggregate only move one way? A maximum of floats may still become NaN."""
    if function == "max":
        return kind is not None and not pa.types.is_floating(kind)
    if function == "sum":
        return kind is not None and pa.types.is_unsigned_integer(kind)
    return function in ("count", "min")


def argument_of(arguments: Mapping[str, tuple[str, ...]]) -> str | None:
    """The only argument of the only aggregate, if there is one.

    >>> argument_of({"top": ("price",)}), argument_of({"top": ("price",), "n": ()})
    ('price', None)
    """
    found = list(arguments.values())
    return found[0][0] if len(found) == 1 and len(found[0]) == 1 else None
