"""As-of joins: what must be equal, which times are compared, and how far apart they may be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api.operations.enrich import outer_of
from millstream.api.operations.join import Keys, check_keys, keys_of, paired, shared_domain, span, times_of
from millstream.core.domain import Domain
from millstream.core.errors import PlanError
from millstream.plan import nodes

if TYPE_CHECKING:
    from millstream.api.stream import Stream


def as_of_node(
    left: Stream,
    right: Any,
    on: Keys,
    how: str,
    *,
    time: str | tuple[str, str] | None,
    within: Any,
    strict: bool,
) -> nodes.AsOf:
    """The node of an as-of join, with everything about it checked."""
    if not hasattr(right, "node") or isinstance(right.node, nodes.Table):
        raise PlanError(f"{right!r} is not a stream", hint="Join streams of one engine: a.join_as_of(b, on=…).")
    if not isinstance(strict, bool):
        raise PlanError(
            f"strict={strict!r} is neither true nor false", hint="Use strict=True to leave equal times out."
        )
    keys = keys_of(on)
    times = times_of(left, right, time)
    domain = shared_domain((left.schema, right.schema), times)
    ticks = None if within is None else span(domain, within)
    columns = paired(left.schema, right.schema, [pair for pair in keys if pair[0] == pair[1]])
    kind = outer_of(how, "an as-of join")
    return built_as_of((left.node, right.node), kind, keys, times, domain, columns, within=ticks, strict=strict)


def built_as_of(
    inputs: tuple[nodes.Node, nodes.Node],
    how: str,
    keys: Sequence[tuple[str, str]],
    time: tuple[str, str],
    domain: Domain,
    columns: tuple[nodes.JoinColumn, ...],
    *,
    within: int | None,
    strict: bool,
) -> nodes.AsOf:
    """An as-of join whose columns have names already; `within` is in ticks."""
    schemas = inputs[0].schema, inputs[1].schema
    check_keys(schemas, keys)
    for side in (0, 1):
        names = [pair[side] for pair in keys]
        twice = [name for i, name in enumerate(names) if name in names[:i]]
        if twice:
            raise PlanError(f"{twice[0]} is among the keys twice", hint="Name each column once on each side.")
        if time[side] in names:
            raise PlanError(
                f"{time[side]} is a key and the time too", hint="Rows of one time need no as-of: use join(…, within=…)."
            )
    if within is not None and (within < 0 or (strict and within == 0)):
        raise PlanError(
            f"no row lies within {domain.show_span(within)}{' and before' if strict else ''}",
            hint="Give a length above zero.",
        )
    fields = [pa.field(one.name, schemas[one.side].field(one.column).type) for one in columns]
    return nodes.AsOf(
        inputs=inputs, how=how, keys=tuple(keys), time=time, domain=domain, columns=columns,
        schema=pa.schema(fields), strict=strict, within=within,
    )  # fmt: skip
