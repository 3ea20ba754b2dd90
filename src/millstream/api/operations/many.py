"""Joining many streams as one: what must be equal, how near in time, and what the columns are called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from millstream.api.operations.join import band, shared_domain, span, type_in
from millstream.api.query import Query
from millstream.api.stream import Stream
from millstream.core.domain import Domain
from millstream.core.errors import PlanError, SchemaError, nearest
from millstream.core.expression import Expression
from millstream.core.promise.spans import Spans
from millstream.kernels.group import check_groupable
from millstream.kernels.same import alike
from millstream.plan import nodes
from millstream.sql.expression import condition

Keys = str | Sequence[Any] | None
_MOST = 12


def join(
    *streams: Stream,
    on: Keys = None,
    within: Any = None,
    rows: int | Mapping[str, int] | None = None,
    where: str | None = None,
    how: str = "inner",
    time: str | Sequence[str] | None = None,
    names: Sequence[str] | None = None,
) -> Query:
    """Rows of several streams that belong together, one of each: `ms.join(a, b, c, on="user", within="5 minutes")`.

    on              columns that must be equal: a name that all streams have, a list of them, a tuple with the column of
                    each stream, or pairs along a chain: `[("a.user", "b.user"), ("b.item", "c.item")]`. None: any rows.
    within          how far apart in time: a length for all; `{"a": "5 minutes", …}`, how much older than the latest
                    row a row of a stream may be; `{("a", "b"): "1 minute", ("b", "c"): ("0 s", "5 minutes")}`, two by
                    two, where (low, high) means b + low <= c <= b + high.
    rows            instead of `within`: each row with the last so many rows of every other stream.
    where           any other condition on the columns. Names that several streams have become `a_…`, `b_…`; a key of
                    one name is one column.
    how             inner, or left: rows of the first stream that are part of no combination leave once, with nulls.
    time            the attributes to compare (default: the progressing ones): one name, or one of each stream.
    names           what to call the streams (default: their own names).

    >>> import millstream as ms
    >>> engine = ms.Engine(host="local")
    >>> rows = {"asked": [(1, "ann")], "paid": [(4, "ann"), (9, "ann")], "sent": [(5, "ann")]}
    >>> a, b, c = (
    ...     engine.stream(name, [{"ts": t, "user": u} for t, u in some], progress=ms.ordered("ts"))
    ...     for name, some in rows.items()
    ... )
    >>> query = ms.join(a, b, c, on="user", within=4).named("q")
    >>> engine.start(ms.available_now()).await_termination()
    True
    >>> query.table().to_pylist()
    [{'asked_ts': 1, 'user': 'ann', 'paid_ts': 4, 'sent_ts': 5}]
    """
    known = _checked(streams, names)
    keys, once = _keys(known, on)
    columns = named_columns(known, once)
    limits = Nearness(known, _times(known, time)).of(within, rows, how)
    engine = streams[0].engine
    wanted: Callable[[pa.Schema], Expression] | None = None
    if where is not None:
        text = where
        wanted = lambda whole: condition(text, whole, engine.settings)  # noqa: E731 - as short as it is
    return Query(engine, built(known, how, keys, limits, columns, wanted))


Known = Mapping[str, nodes.Node]
"""The streams, by what they are called."""
Limits = tuple[Spans, tuple[int, ...] | None, Domain]


def built(
    known: Known,
    how: str,
    keys: Sequence[nodes.ManyKey],
    limits: Limits,
    columns: tuple[nodes.JoinColumn, ...],
    wanted: Callable[[pa.Schema], Expression] | None,
) -> nodes.ManyJoin:
    """A join whose columns have names already."""
    inputs = tuple(known.values())
    if how not in ("inner", "left"):
        raise PlanError(f"there is no {how!r} join of many streams", hint='Choose "inner" or "left".')
    schema = pa.schema([pa.field(one.name, inputs[one.side].schema.field(one.column).type) for one in columns])
    spans, rows, domain = limits
    return nodes.ManyJoin(
        inputs=inputs,
        names=tuple(known),
        how=how,
        keys=tuple(keys),
        apart=spans,
        rows=rows,
        condition=None if wanted is None else wanted(schema),
        columns=columns,
        schema=schema,
        domain=domain,
    )


def _checked(streams: Sequence[Any], names: Sequence[str] | None) -> dict[str, nodes.Node]:
    for one in streams:
        if isinstance(getattr(one, "node", None), nodes.Table):
            raise PlanError(
                f"{one.name!r} is a table, and no stream", hint="Look rows up in it: a.enrich(table, on=…)."
            )
        if not isinstance(one, Stream):
            raise PlanError(f"{one!r} is not a stream", hint="Join streams of one engine: ms.join(a, b, c, on=…).")
    if not 2 <= len(streams) <= _MOST:
        raise PlanError(
            f"{len(streams)} streams cannot be joined", hint=f"Join two to {_MOST} streams: ms.join(a, b, c, on=…)."
        )
    if any(one.engine is not streams[0].engine for one in streams):
        raise PlanError("the streams belong to several engines", hint="Join streams of one engine.")
    called = [_name(one, i) for i, one in enumerate(streams)] if names is None else list(names)
    if len(called) != len(streams) or len(set(called)) != len(called):
        said = ", ".join(map(repr, called))
        raise PlanError(
            f"{said} do not name {len(streams)} streams",
            hint=f"Give each a name of its own: names=({', '.join(repr(chr(97 + i)) for i in range(len(streams)))}).",
        )
    return dict(zip(called, (one.node for one in streams), strict=True))


def _name(stream: Stream, place: int) -> str:
    if isinstance(stream, Query) and stream.name is not None:
        return stream.name
    return stream.node.name if isinstance(stream.node, nodes.Source) else f"s{place + 1}"


def _times(known: Known, time: str | Sequence[str] | None) -> tuple[str, ...]:
    """The attribute of each stream that times are compared by."""
    if isinstance(time, str):
        return (time,) * len(known)
    if time is not None:
        if len(time) != len(known):
            raise PlanError(
                f"time={time!r} names no attribute of each stream", hint='Write time=("ts", "stamp", "at").'
            )
        return tuple(time)
    out: list[str] = []
    for name, node in known.items():
        found = node.progressing()[:1]
        if not found:
            raise PlanError(
                f"{name} declares no progress, so its time is not known",
                hint='Declare progress=…, or name the attributes: time="ts".',
            )
        out += found
    return tuple(out)


def _keys(known: Known, on: Keys) -> tuple[list[nodes.ManyKey], set[str]]:
    """Columns that must be equal, as classes, and those that are one column in what leaves."""
    given: list[Any] = [on] if isinstance(on, str | tuple) else list(on or ())
    pairs: list[tuple[tuple[int, str], tuple[int, str]]] = []
    once: set[str] = set()
    for one in given:
        columns = _columns(known, one)
        if columns is None:
            raise PlanError(
                f"on={on!r} names no columns",
                hint='Give a column, one of each stream, or pairs: on=[("a.user", "b.user"), ("b.item", "c.item")].',
            )
        if isinstance(one, str):
            once.add(one)
        pairs += [(columns[0], other) for other in columns[1:]]
    return key_classes(known, pairs), once


def _columns(known: Known, one: Any) -> list[tuple[int, str]] | None:
    if isinstance(one, str):
        return [(i, one) for i in range(len(known))]
    if not isinstance(one, tuple) or not all(isinstance(name, str) for name in one):
        return None
    names = list(known)
    parts = [name.split(".", 1) for name in one]
    if len(one) > 1 and all(len(part) == 2 and part[0] in known for part in parts):
        return [(names.index(stream), column) for stream, column in parts]
    return list(enumerate(one)) if len(one) == len(known) else None


def key_classes(known: Known, pairs: Sequence[tuple[tuple[int, str], tuple[int, str]]]) -> list[nodes.ManyKey]:
    """Columns of streams that must be equal, and what follows: if a.x = b.x and b.x = c.x, then a.x = c.x."""
    nodes_ = list(known.values())
    names = list(known)
    classes: list[set[tuple[int, str]]] = []
    for pair in pairs:
        kinds = [type_in(nodes_[stream].schema, column) for stream, column in pair]
        check_groupable(kinds[0], pair[0][1])
        said = [f"{names[stream]}.{column}" for stream, column in pair]
        if not alike(kinds[0], kinds[1]):
            raise SchemaError(
                f"{said[0]} is {kinds[0]} and {said[1]} is {kinds[1]}, so they are never equal",
                hint="Cast one of them in a select first.",
            )
        touched = [one for one in classes if one & set(pair)]
        classes = [one for one in classes if one not in touched] + [set(pair).union(*touched)]
    for one in classes:
        twice = [stream for stream, _ in one if sum(stream == other for other, _ in one) > 1]
        if twice:
            raise PlanError(
                f"two columns of {names[twice[0]]} would have to be equal",
                hint=f"Compare them in a condition: {names[twice[0]]}.where(…).",
            )
    return [tuple(sorted(one)) for one in classes]


def named_columns(known: Known, once: set[str]) -> tuple[nodes.JoinColumn, ...]:
    """The columns of a combination: a key of one name once, other names that several have with their stream."""
    every = [name for node in known.values() for name in node.schema.names]
    out: list[nodes.JoinColumn] = []
    for side, (called, node) in enumerate(known.items()):
        for name in node.schema.names:
            if name in once and side:
                continue
            several = every.count(name) > 1 and name not in once
            out.append(nodes.JoinColumn(name=f"{called}_{name}" if several else name, side=side, column=name))
    twice = [one.name for i, one in enumerate(out) if one.name in [before.name for before in out[:i]]]
    if twice:
        raise SchemaError(f"two columns would be named {twice[0]!r}", hint="Rename one in a select first.")
    return tuple(out)


class Nearness:
    """From lengths as they were given to limits in ticks."""

    def __init__(self, known: Known, times: tuple[str, ...]) -> None:
        self.names = list(known)
        self.times = times
        schemas = [node.schema for node in known.values()]
        for schema, name in zip(schemas, times, strict=True):
            type_in(schema, name)
        domains = [
            shared_domain((schemas[0], other), (times[0], name)) for other, name in zip(schemas, times, strict=True)
        ]
        self.domain = domains[0]

    def of(self, within: Any, rows: int | Mapping[str, int] | None, how: str) -> Limits:
        """The limits that a join asks for."""
        if rows is not None:
            if within is not None or how != "inner":
                raise PlanError(
                    "windows of rows stand alone, in an inner join", hint="Leave within out, and how.",
                )  # fmt: skip
            counts = [rows] * len(self.names) if not isinstance(rows, Mapping) else [rows.get(n, 0) for n in self.names]
            if any(not isinstance(one, int) or one < 1 for one in counts):
                raise PlanError(f"rows={rows!r} is no number of rows for each stream", hint="Write rows=100.")
            return Spans.closed(self.times, {}), tuple(counts), self.domain
        limits: dict[tuple[int, int], int] = {}
        if isinstance(within, Mapping):
            for key, length in within.items():
                self._add(limits, key, length)
        elif within is not None:
            if isinstance(within, tuple) and len(self.names) == 2:
                self._add(limits, tuple(self.names), within)
            else:
                ticks = self._length(within)
                limits = {(i, j): ticks for i in range(len(self.names)) for j in range(len(self.names)) if i != j}
        return self.closed(limits), None, self.domain

    def closed(self, limits: Mapping[tuple[int, int], int]) -> Spans:
        """The limits with what follows from them, if any rows can be that near."""
        spans = Spans.closed(self.times, limits)
        if not spans.possible:
            raise PlanError("no rows can be that near: the limits contradict each other", hint="Widen one of them.")
        return spans

    def _length(self, given: Any) -> int:
        if isinstance(given, tuple):
            raise PlanError(
                f"within={given!r} does not say between which streams",
                hint=f'Name two: within={{("{self.names[0]}", "{self.names[1]}"): ("0 s", "5 minutes")}}.',
            )
        ticks = span(self.domain, given)
        if ticks < 0:
            raise PlanError(f"within {given!r} is negative", hint="Give a length above zero.")
        return ticks

    def _add(self, limits: dict[tuple[int, int], int], key: Any, given: Any) -> None:
        """One entry: of a stream, or of two."""
        if isinstance(key, str):
            ticks, i = self._length(given), self._place(key)
            found = {(i, j): ticks for j in range(len(self.names)) if j != i}
        elif isinstance(key, tuple) and len(key) == 2:
            i, j = self._place(key[0]), self._place(key[1])
            if isinstance(given, tuple):
                if len(given) != 2:
                    raise PlanError(f"within={given!r} is not a pair", hint='Give both ends: ("0 s", "5 minutes").')
                one = band((self.times[i], self.times[j]), self.domain, *given)
                ends = {(i, j): one.high, (j, i): None if one.low is None else -one.low}
            else:
                ends = dict.fromkeys(((i, j), (j, i)), self._length(given))
            found = {pair: end for pair, end in ends.items() if end is not None}
        else:
            raise PlanError(f"{key!r} names neither a stream nor two", hint='Write {"a": …} or {("a", "b"): …}.')
        for pair, ticks in found.items():
            limits[pair] = min(ticks, limits.get(pair, ticks))

    def _place(self, name: Any) -> int:
        if name not in self.names:
            raise PlanError(f"there is no stream {name!r} in the join", hint=nearest(str(name), self.names))
        return self.names.index(name)
