"""Difference and intersection: rows compared whole, as semi- and anti-joins on all columns, where null equals null."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.api.operations.join import shared_domain
from millstream.core.errors import PlanError, SchemaError
from millstream.kernels.group import check_groupable
from millstream.kernels.same import all_alike
from millstream.plan import nodes

if TYPE_CHECKING:
    from millstream.api.stream import Stream


def whole_rows_node(left: Stream, right: Any, how: str, what: str, *, time: str | None, window: Any) -> nodes.Distinct:
    """The rows of the left side, each once, that the right side has (how="semi") or has not ("anti")."""
    if not hasattr(right, "node") or isinstance(right.node, nodes.Table):
        raise PlanError(f"{right!r} is not a stream", hint=f"Give another stream of the engine: a.{what}(b).")
    schema = left.schema
    if not all_alike(schema, right.schema):
        raise SchemaError(
            f"rows of ({', '.join(map(_shown, schema))}) are compared with rows of "
            f"({', '.join(map(_shown, right.schema))})",
            hint="Select the same columns with the same types on both sides first.",
        )
    for field in schema:
        check_groupable(field.type, field.name)
    near, domain, keys = None, None, [(name, name) for name in schema.names]
    moving = _time(left, right, time)
    if window is not None and moving is None:
        raise PlanError(
            "a window is given, and no column of both sides is known to be its time",
            hint='Declare progress=… on both sides, or name the column: time="ts".',
        )
    if moving is not None:
        domain = shared_domain((schema, schema), (moving, moving))
        keys.remove((moving, moving))
        near = nodes.Band(left=moving, right=moving, low=0, high=0)
    if moving is not None and domain is not None and window is not None:
        size = domain.span(window, what="window")
        if size <= 0:
            raise PlanError(f"window {window!r} is not positive", hint="Give a length above zero.")
        near = nodes.SameWindow(left=moving, right=moving, size=size)
    chosen = nodes.Join(
        inputs=(left.node, right.node),
        how=how,
        keys=tuple(keys),
        time=near,
        condition=None,
        columns=tuple(nodes.JoinColumn(name=name, side=0, column=name) for name in schema.names),
        schema=schema,
        domain=domain,
        nulls_equal=True,
    )
    return nodes.Distinct(input=chosen, columns=tuple(schema.names))


def _time(left: Stream, right: Stream, time: str | None) -> str | None:
    """The column by which rows of both sides are forgotten."""
    if time is not None:
        if time not in left.schema.names:
            raise SchemaError(f"there is no column {time!r}", hint=f"Known: {', '.join(left.schema.names)}.")
        return time
    both = [name for name in left.node.progressing() if name in right.node.progressing()]
    return next(iter(both), None)


def _shown(field: Any) -> str:
    return f"{field.name} {field.type}"
