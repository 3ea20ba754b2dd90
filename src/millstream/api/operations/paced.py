"""Streams that do not fall behind, and functions that cost much: `pace` and `compute`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api.schema import as_schema
from millstream.core.errors import PlanError, SchemaError, nearest
from millstream.kernels.ticks import domain_of
from millstream.plan import nodes

if TYPE_CHECKING:
    from millstream.api.stream import Stream

WITHOUT_LIMIT = 2**40
"""More rows than an epoch has."""


def pace_node(stream: Stream, others: Sequence[Stream], on: str, within: Any, headroom: Any) -> nodes.Pace:
    """The node, or what is wrong with it."""
    schema = stream.schema
    for one in others:
        if one.schema != schema:
            raise SchemaError(
                f"pace of streams with other columns: {schema.names} and {one.schema.names}",
                hint="Select the same columns with the same types first.",
            )
    if on not in schema.names:
        raise SchemaError(f"there is no column {on!r}", hint=nearest(on, schema.names))
    domain = domain_of(schema.field(on).type, on)
    inputs = (stream.node, *(one.node for one in others))
    length = domain.span(within, what="within")
    more = 0 if headroom is None else domain.span(headroom, what="headroom")
    if more > length:
        raise PlanError(
            f"headroom={headroom} is more than within={within}", hint="About the length of an epoch is enough."
        )
    return nodes.Pace(inputs=inputs, schema=schema, attribute=on, domain=domain, within=length, headroom=more)


def compute_node(
    stream: Stream, function: Callable[[pa.Table], Any], columns: pa.Schema | str, cost: int, budget: int | None
) -> nodes.Compute:
    """The node, or what is wrong with it."""
    if not callable(function):
        raise PlanError(f"{function!r} cannot be called", hint="Give a function from a table to its new columns.")
    if cost < 1 or (budget is not None and budget < cost):
        raise PlanError(
            f"with cost={cost} and budget={budget} no row is ever computed", hint="Give a budget of at least the cost."
        )
    progressing = stream.node.progressing()
    if not progressing:
        raise PlanError(
            "compute needs a stream that makes progress: rows wait, and punctuation waits behind them",
            hint='Declare it: engine.stream(…, progress=ms.ordered("ts")).',
        )
    made = as_schema(columns)
    if made is None or not made.names or progressing[0] in made.names:
        raise PlanError(
            f"compute makes no column, or {progressing[0]!r}, by which its stream progresses",
            hint='Name other columns and their types: compute(fn, "speed BIGINT").',
        )
    kept = [made.field(one.name) if one.name in made.names else one for one in stream.schema]
    more = [one for one in made if one.name not in stream.schema.names]
    return nodes.Compute(
        input=stream.node,
        function=function,
        made=tuple(made.names),
        attribute=progressing[0],
        rows=WITHOUT_LIMIT if budget is None else budget // cost,
        schema=pa.schema([*kept, *more]),
    )
