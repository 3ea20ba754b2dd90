"""ManyJoin: combinations of rows of many inputs that belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from millstream.core.contract.many_form import ManyForm
from millstream.core.contract.scheme import Scheme
from millstream.core.domain import Domain
from millstream.core.expression import Expression
from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise import many
from millstream.core.promise.many import ManyShape
from millstream.core.promise.spans import Spans
from millstream.plan.horizon import Horizon, Lag, Part, show_length
from millstream.plan.lacking import said_of
from millstream.plan.lag import SKEW, Promises, longest, used
from millstream.plan.nodes.base import Node, alike, meaning
from millstream.plan.nodes.pair import JoinColumn, asked_fields, read_columns
from millstream.plan.refusal import Refusal
from millstream.plan.words import listed

if TYPE_CHECKING:
    from millstream.plan.hints import Hints

ManyKey = tuple[tuple[int, str], ...]
"""Columns that must all be equal: stream and name, of each stream one at most."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ManyJoin(Node):
    """Combinations of rows of many inputs, one of each; with an anchor, also rows of the first that are in none."""

    stateful: ClassVar[bool] = True
    makes_rows: ClassVar[bool] = True

    inputs: tuple[Node, ...]
    names: tuple[str, ...]
    """What the streams are called."""
    how: str
    """`inner`, or `left`: the first stream is the anchor."""
    keys: tuple[ManyKey, ...]
    apart: Spans
    """How far apart the times of the rows may be, in ticks."""
    rows: tuple[int, ...] | None
    """Of each stream, how many rows its window has, where windows are counted; None: by time."""
    condition: Expression | None
    columns: tuple[JoinColumn, ...]
    """The columns of a combination. Those that leave are the ones that `schema` has."""
    schema: pa.Schema
    domain: Domain | None = None
    reason: str = ""
    """Why it is one operator and no chain of joins of two, where that was a choice."""

    def reads(self) -> tuple[Node, ...]:
        """Its inputs."""
        return self.inputs

    def over(self, below: tuple[Node, ...]) -> Node:
        """The same over others."""
        return replace(self, inputs=below)

    @property
    def common(self) -> tuple[tuple[str, ...], ...]:
        """Keys that all streams have: of each, its column in every stream."""
        return tuple(tuple(name for _, name in sorted(key)) for key in self.keys if len(key) == len(self.inputs))

    def meets_on(self, port: int = 0) -> tuple[str, ...]:
        """The keys that all streams have."""
        return () if self.rows is not None else tuple(key[port] for key in self.common)

    @property
    def travels(self) -> bool:
        """Do rows stay where they are kept, and what looks for them travel? So it is where nothing else spreads work.

        Rows of an anchor that are part of no combination are known in one place only, and windows of rows count all.
        """
        return self.rows is None and self.how == "inner" and not self.common and self.longest is not None

    @property
    def longest(self) -> int | None:
        """How long a row is kept at most, after all streams have come as far; None: for ever."""
        found = [self.apart.lasting(i) for i in range(len(self.inputs))]
        known = [one for one in found if one is not None]
        return max(known) if len(known) == len(found) else None

    # --- in words

    def words(self) -> list[str]:
        """What must hold of a combination, and how near its rows must be."""
        equal = [" = ".join(f"{self.names[i]}.{name}" for i, name in key) for key in self.keys]
        held = [*equal, *([] if self.condition is None else [str(self.condition)])]
        said = " and ".join(held) or ("rows alone" if self.rows is not None else "time alone")
        kind = f"left join of {self.names[0]} with {listed(self.names[1:])}"
        lines = [f"{kind if self.how == 'left' else f'join of {listed(self.names)}'} on {said}"]
        if self.rows is not None:
            last = zip(self.names, self.rows, strict=True)
            return [*lines, f"of the last rows: {listed(f'{name} {rows}' for name, rows in last)}"]
        return [*lines, f"times at most: {listed(self._lengths()) or 'any'} apart"]

    def _lengths(self) -> Iterator[str]:
        most = self.apart.most
        limits = {one for i, row in enumerate(most) for j, one in enumerate(row) if i != j}
        if len(limits) == 1 and None not in limits:
            yield show_length(max(one for one in limits if one is not None), self.domain)
            return
        for i, row in enumerate(most):
            for j, one in enumerate(row):
                if i != j and one is not None:
                    yield f"{self.names[j]} {show_length(one, self.domain)} after {self.names[i]}"

    def title(self) -> str:
        """What it joins."""
        return f"join of {listed(self.names)}"

    def kept(self) -> str:
        """Rows of every stream."""
        return "rows of every stream that may still be part of a combination"

    def evaluated(self, choice: object) -> Iterator[str]:
        """As one operator."""
        said = f"one operator: rows of {len(self.inputs)} streams kept once, nothing in between"
        yield f"{said}; {self.reason}" if self.reason else said

    def expressions(self) -> Iterator[Expression]:
        """The condition."""
        if self.condition is not None:
            yield self.condition

    # --- its contract

    def form(self, *, ends: bool = False) -> ManyForm:
        """Each stream's promises let the others' rows go."""
        most, streams = self.apart.most, range(len(self.inputs))
        bounded = (
            tuple(True for _ in streams)
            if self.rows is not None
            else tuple(all(most[i][j] is not None for i in streams if i != j) for j in streams)
        )
        counted = self.rows is not None
        return ManyForm(self.apart.names, bounded, self.common, self._shape().names, counted=counted)

    def _shape(self) -> ManyShape:
        kept = range(1) if self.how == "left" else range(len(self.inputs))
        leaving = set(self.schema.names)
        names = tuple(
            {one.column: one.name for one in self.columns if one.side == i and one.name in leaving and i in kept}
            for i in range(len(self.inputs))
        )
        return ManyShape(self.apart, self.common, names, counted=self.rows is not None)

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """What all streams' promises say of combinations to come."""
        return many.promised(self._shape(), inputs)

    def _lag(self) -> Lag:
        if self.rows is not None:
            return (Part("window", rows=sum(self.rows)),)
        return (Part.of("window", max(0, self.apart.farthest), self.domain),)

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """The longest lag, how far the rows of a combination are apart, and the inputs."""
        every = [lag for promises in incoming for lag in promises.values()]
        return {one: (*self._lag(), *longest(every), SKEW) for one in out}

    def horizon(self, incoming: Sequence[Promises]) -> Horizon:
        """By the lags of all streams."""
        found = used(self.form(), incoming)
        timed = [one for one, _ in found if one.up_to]
        if not timed:
            return Node.horizon(self, incoming)
        attribute = timed[0].up_to[0]
        domain = self.domain or self.inputs[0].domain_at(attribute)
        return Horizon.over(attribute, (*self._lag(), *longest([lag for _, lag in found]), SKEW), domain)

    def asks(self) -> Iterator[tuple[Node, str, bool]]:
        """Of each stream its time, by order, and the keys that all have, by value."""
        for port, at in enumerate(self.inputs):
            yield at, self.apart.names[port], True
            yield from ((at, name, False) for name in self.meets_on(port))

    def refuse(self, inputs: Sequence[Scheme], say: Hints) -> Refusal:
        """Some stream's rows are kept for ever, because another stream's promises do not let them go."""
        form = self.form()
        port = next(port for port, scheme in enumerate(inputs) if not form.uses(scheme, port))
        attribute, name = self.apart.names[port], self.names[port]
        if not form.bounded[port]:
            most = self.apart.most
            other = next(i for i in range(len(inputs)) if i != port and most[i][port] is None)
            fact = (
                f"{self.title()} keeps the rows of {self.names[other]} for ever: "
                f"nothing says how long after them rows of {name} may come"
            )
            hint = f"Bound the time between {self.names[other]} and {name}; {say.end}."
            return Refusal(self.title(), attribute, fact, hint)
        lack = f"no punctuation on {attribute} comes from {name}; {said_of(self.inputs[port])}"
        fact = f"{self.title()} keeps the rows of its other streams for ever: {lack}"
        hint = f"Declare {say.declared(self.inputs[port], attribute)}; {say.end}."
        return Refusal(self.title(), attribute, fact, hint)

    # --- for rewrites

    def needs(self, needed: set[str]) -> set[str]:
        """Keys, times, what the condition reads and what is asked for; but rows that it rejects leave whole."""
        times = self.apart.names
        if self.rows is not None or not all(at.never_null(name) for at, name in zip(self.inputs, times, strict=True)):
            return Node.needs(self, needed)
        keys = {name for key in self.keys for _, name in key}
        return {one.column for one in self._read(needed)} | keys | set(times)

    def narrowed(self, needed: set[str]) -> Node:
        """Without columns that nobody asks for."""
        kept = self._read(needed)
        if self.rows is not None or len(kept) == len(self.columns):
            return self
        return replace(self, columns=kept, schema=asked_fields(kept, self.schema, needed))

    def _read(self, needed: set[str]) -> tuple[JoinColumn, ...]:
        return read_columns(self.columns, self.schema, self.condition, needed)

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """The column of the stream that it is from."""
        return [(self.inputs[one.side], one.column) for one in self.columns if one.name == column]

    def progressing(self) -> tuple[str, ...]:
        """What progresses in its stream, and leaves."""
        below, leaving = [one.progressing() for one in self.inputs], self.schema.names
        return tuple(one.name for one in self.columns if one.column in below[one.side] and one.name in leaving)

    def responds(self, ignored: Pattern) -> Response:
        """By each stream that has all the columns; of an anchored join, by the anchor alone."""
        if self.rows is not None:
            return NOTHING
        streams = range(1) if self.how == "left" else range(len(self.inputs))
        found = {i: ignored.renamed(self._at(i)) for i in streams}
        inputs = {i: below for i, below in found.items() if below is not None}
        return Response(inputs=inputs, whole=bool(inputs))

    def _at(self, stream: int) -> dict[str, str]:
        own = [(one.name, one.column) for one in self.columns if one.side == stream]
        return alike(own, self.schema, self.inputs[stream].schema)

    def says(self) -> Iterator[Any]:
        """All but the inputs, the condition however it was spelled."""
        yield from (self.names, self.how, self.keys, self.apart, self.rows, self.columns, self.schema, self.domain)
        yield meaning(self.condition)
