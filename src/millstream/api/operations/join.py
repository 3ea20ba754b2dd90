"""Joining two streams: what must be equal, how near in time, which rows leave, and what the columns are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.core.domain import Domain
from millstream.core.errors import PlanError, SchemaError, nearest
from millstream.core.expression import Expression
from millstream.core.promise.near import Reach
from millstream.kernels.group import check_groupable
from millstream.kernels.same import alike
from millstream.kernels.ticks import domain_of
from millstream.plan import nodes

if TYPE_CHECKING:
    from millstream.api.stream import Stream

_KINDS = {
    "cross": "inner", "outer": "full", "fullouter": "full", "leftouter": "left", "rightouter": "right",
    "leftsemi": "semi", "leftanti": "anti",
}  # fmt: skip
Keys = str | Sequence[str | tuple[str, str]] | None


def join_node(
    left: Stream,
    right: Any,
    on: Keys,
    how: str,
    *,
    within: Any,
    window: Any,
    time: str | tuple[str, str] | None,
    condition: Callable[[pa.Schema], Expression] | None,
) -> nodes.Join:
    """The node of a join, with everything about it checked."""
    if isinstance(getattr(right, "node", None), nodes.Table):
        raise PlanError(f"{right.name!r} is a table, and no stream", hint="Look rows up in it: a.enrich(table, on=…).")
    if not hasattr(right, "node"):
        raise PlanError(f"{right!r} is not a stream", hint="Join streams of one engine: a.join(b, on=…).")
    kind = kind_of(how)
    keys = keys_of(on)
    columns = paired(left.schema, right.schema, [pair for pair in keys if pair[0] == pair[1]])
    near, domain = _near(left, right, within, window, time)
    return built((left.node, right.node), kind, keys, near, domain, columns, condition)


def speaking_join(node: nodes.Join, *, thrifty: bool, impatient: bool) -> nodes.Join:
    """The same, if it can tell its sides what finds no partner, and what has one that waits."""
    near = nodes.near_of(node)
    if impatient and (node.how != "inner" or not node.keys):
        raise PlanError(
            "only an inner join with keys can be impatient", hint='Give it keys: join(other, on="k", impatient=True).'
        )
    if not thrifty:
        return replace(node, impatient=True) if impatient else node
    if node.how != "inner" or near is None or near.reach != Reach(0, 0):
        raise PlanError(
            "only an inner join of rows of the same time, or of the same window, can be thrifty",
            hint='Give it a window, as in join(other, on="k", window="1 minute", thrifty=True), or within=0.',
        )
    return replace(node, thrifty=True, impatient=impatient)


def left_alone(node: nodes.Join) -> nodes.Node:
    """The left side under its own names, where nothing else leaves."""
    own = {one.name: one.column for one in node.columns if not one.side}
    if node.how not in ("semi", "anti") or all(name == column for name, column in own.items()):
        return node
    return nodes.Project(
        input=node,
        columns=tuple((column, Expression.column(name)) for name, column in own.items()),
        schema=pa.schema([node.schema.field(name).with_name(column) for name, column in own.items()]),
    )


def built(
    inputs: tuple[nodes.Node, nodes.Node],
    how: str,
    keys: Sequence[tuple[str, str]],
    time: nodes.Band | nodes.SameWindow | None,
    domain: Domain | None,
    columns: tuple[nodes.JoinColumn, ...],
    condition: Callable[[pa.Schema], Expression] | None,
) -> nodes.Join:
    """A join whose columns have names already; its keys must have one type on both sides."""
    schemas = [one.schema for one in inputs]
    check_keys(schemas, keys)
    fields = [pa.field(one.name, schemas[one.side].field(one.column).type) for one in columns]
    leaving = [field for one, field in zip(columns, fields, strict=True) if how not in ("semi", "anti") or not one.side]
    return nodes.Join(
        inputs=inputs,
        how=how,
        keys=tuple(keys),
        time=time,
        condition=None if condition is None else condition(pa.schema(fields)),
        columns=columns,
        schema=pa.schema(leaving),
        domain=domain,
    )


def check_keys(schemas: Sequence[pa.Schema], keys: Sequence[tuple[str, str]]) -> None:
    """Refuse keys that are not there, cannot be compared, or have two types."""
    for pair in keys:
        kinds = [type_in(schema, name) for schema, name in zip(schemas, pair, strict=True)]
        check_groupable(kinds[0], pair[0])
        if not alike(kinds[0], kinds[1]):
            raise SchemaError(
                f"{pair[0]} is {kinds[0]} and {pair[1]} is {kinds[1]}, so they are never equal",
                hint="Cast one of them in a select first.",
            )


def kind_of(how: object) -> str:
    """Spark's word for which rows leave, as ours."""
    word = str(how).lower().replace("_", "").replace(" ", "")
    found = _KINDS.get(word, word)
    if found not in nodes.JOINS:
        raise PlanError(f"there is no join {how!r}", hint=f"Choose one of {', '.join(nodes.JOINS)}.")
    return found


def band(
    names: tuple[str, str], domain: Domain, low: Any, high: Any, *, low_strict: bool = False, high_strict: bool = False
) -> nodes.Band:
    """`left + low <= right <= left + high` in ticks; lengths may begin with a minus."""
    ends = [None if end is None else span(domain, end) for end in (low, high)]
    if ends[0] is not None and ends[1] is not None and ends[0] > ends[1]:
        raise PlanError(f"no row lies between {low!r} and {high!r}", hint="Give the lower end first.")
    return nodes.Band(
        left=names[0], right=names[1], low=ends[0], high=ends[1], low_strict=low_strict, high_strict=high_strict
    )


def span(domain: Domain, length: Any) -> int:
    """A length in ticks, which may be negative."""
    if isinstance(length, str) and length.strip().startswith("-"):
        return -domain.span(length.strip()[1:], what="within")
    return domain.span(length, what="within")


def shared_domain(schemas: Sequence[pa.Schema], names: tuple[str, str]) -> Domain:
    """The domain of the attributes of both sides, which must be one; moments are the same moments in any time zone."""
    domains = [domain_of(type_in(schema, name), name) for schema, name in zip(schemas, names, strict=True)]
    left, right = (replace(one, zone="UTC" if one.zone else None) for one in domains)
    if left != right:
        raise SchemaError(
            f"{names[0]} is a {domains[0].describe()} and {names[1]} a {domains[1].describe()}",
            hint="Cast one of them, so that lengths mean the same on both sides.",
        )
    return domains[0]


def _near(
    left: Stream, right: Stream, within: Any, window: Any, time: str | tuple[str, str] | None
) -> tuple[nodes.Band | nodes.SameWindow | None, Domain | None]:
    if within is None and window is None:
        return None, None
    if within is not None and window is not None:
        raise PlanError("a join has either within or window", hint="Leave one out.")
    names = times_of(left, right, time)
    domain = shared_domain((left.schema, right.schema), names)
    if window is not None:
        size = domain.span(window, what="window")
        if size <= 0:
            raise PlanError(f"window {window!r} is not positive", hint="Give a length above zero.")
        return nodes.SameWindow(left=names[0], right=names[1], size=size), domain
    if isinstance(within, tuple):
        if len(within) != 2:
            raise PlanError(f"within={within!r} is not a pair", hint='Give both ends: within=("0 s", "5 minutes").')
        return band(names, domain, *within), domain
    ticks = span(domain, within)
    if ticks < 0:
        raise PlanError(f"within {within!r} is negative", hint='Give both ends instead: ("-5 minutes", "0 s").')
    return nodes.Band(left=names[0], right=names[1], low=-ticks, high=ticks), domain


def times_of(left: Stream, right: Stream, time: str | tuple[str, str] | None) -> tuple[str, str]:
    """The attributes of both sides that times are compared by: those named, or those that progress."""
    match time:
        case str():
            return time, time
        case (str() as mine, str() as other):
            return mine, other
        case None:
            pass
        case _:
            raise PlanError(f"time={time!r} names no attributes", hint='Write time="ts" or time=("ts", "stamp").')
    found = [one.node.progressing()[:1] for one in (left, right)]
    if not found[0] or not found[1]:
        side = "left" if not found[0] else "right"
        raise PlanError(
            f"the {side} side declares no progress, so its time is not known",
            hint='Declare progress=…, or name the attributes: time="ts" or time=("ts", "stamp").',
        )
    return found[0][0], found[1][0]


def keys_of(on: Keys) -> list[tuple[str, str]]:
    """Pairs of columns that must be equal, however they were given."""
    given: list[Any] = [on] if isinstance(on, str) or not isinstance(on, Sequence | None) else list(on or ())
    keys: list[tuple[str, str]] = []
    for one in given:
        if isinstance(one, str):
            keys.append((one, one))
        elif isinstance(one, tuple) and len(one) == 2 and all(isinstance(name, str) for name in one):
            keys.append(one)
        else:
            raise PlanError(
                f"on={on!r} names no columns", hint='Give a column, a list of them, or pairs: on=[("src", "dest")].'
            )
    return keys


def paired(left: pa.Schema, right: pa.Schema, shared: Sequence[tuple[str, str]]) -> tuple[nodes.JoinColumn, ...]:
    """The columns of a pair: a key of one name once, other names that both sides have with their side."""
    once = {name for name, _ in shared}
    out: list[nodes.JoinColumn] = []
    for side, (mine, other) in enumerate(((left, right), (right, left))):
        for name in mine.names:
            if side and name in once:
                continue
            both = name in other.names and name not in once
            out.append(
                nodes.JoinColumn(name=f"{('left', 'right')[side]}_{name}" if both else name, side=side, column=name)
            )
    twice = [one.name for i, one in enumerate(out) if one.name in [before.name for before in out[:i]]]
    if twice:
        raise SchemaError(f"two columns would be named {twice[0]!r}", hint="Rename one in a select first.")
    return tuple(out)


def type_in(schema: pa.Schema, name: str) -> pa.DataType:
    """The type of a column, which must be there."""
    if name not in schema.names:
        raise SchemaError(f"there is no column {name!r}", hint=nearest(name, schema.names))
    return schema.field(name).type
