"""A shared join: the rows of two inputs, kept once, from which the joins of several queries are answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Self

import pyarrow as pa

from millstream.core.contract.join_form import Join as JoinForm
from millstream.core.contract.scheme import Scheme
from millstream.core.domain import Domain
from millstream.core.expression import Expression
from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise.near import Near, Reach
from millstream.plan.cost import Choice
from millstream.plan.horizon import Lag, Part, show_length
from millstream.plan.lag import Promises
from millstream.plan.nodes.base import Node, Unary
from millstream.plan.nodes.join import Join, near_of
from millstream.plan.nodes.pair import TwoSided
from millstream.plan.nodes.project import Project
from millstream.plan.nodes.select import Select
from millstream.plan.sharing import AUTO, Sharing
from millstream.plan.words import all_of

_SIDES = ("left", "right")
_SHOWN = 6
"""Slices that are shown one by one."""

View = tuple[tuple[str, str], ...]
"""The columns of a side as a join knows them, each with the column of the store that it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinReading:
    """What one join asks of the store."""

    number: int
    """Names its marks in the state, whatever other joins come and go."""
    join: Join
    """The join over the columns of the store."""
    predicates: tuple[int | None, int | None]
    """By side: the place of its condition among those of the store; None if it reads every row."""
    views: tuple[View, View]
    since: int | None = None
    """Results whose latest row has this coordinate or a later one leave; None: all."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedJoin(TwoSided):
    """Rows of two inputs that several joins on the same keys share.

    A row is kept once, with a bitmap of the conditions that it satisfies, and meets the rows of the other side once.
    Rows do not leave it; pairs, and rows without a partner, leave by outlets, one for each reading.
    """

    name: str
    """Whose rows it is of, and by which keys and attributes: the same whoever reads it."""
    predicates: tuple[tuple[str, ...], tuple[str, ...]]
    """Columns of each input: does the row satisfy a condition that some reading asks for?"""
    readings: tuple[JoinReading, ...]
    sharing: Sharing = field(default_factory=Sharing)
    schema: ClassVar[pa.Schema] = pa.schema([])

    def over(self, below: tuple[Node, ...]) -> Self:
        """The same over others, for all readings."""
        moved = tuple(replace(one, join=one.join.over(below)) for one in self.readings)
        return replace(self, inputs=(below[0], below[1]), readings=moved)

    def near(self) -> Near | None:
        """The widest reach."""
        first = near_of(self.readings[0].join)
        if first is None:
            return None
        reaches = [near.reach for one in self.readings if (near := near_of(one.join)) is not None]
        lows, highs = [one.low for one in reaches], [one.high for one in reaches]
        low = None if None in lows else min(one for one in lows if one is not None)
        high = None if None in highs else max(one for one in highs if one is not None)
        return replace(first, reach=Reach(low, high))

    def home(self) -> int | None:
        """That of its readings, which must agree where rows meet by time alone."""
        found = {one.join.home() for one in self.readings}
        return found.pop() if len(found) == 1 else None

    def words(self) -> list[str]:
        """What must be equal, for how many joins."""
        return [f"rows of both sides on {all_of(self.keys, None) or 'time alone'}, for {self._joins()}"]

    def _joins(self) -> str:
        return "1 join" if len(self.readings) == 1 else f"{len(self.readings)} joins"

    def kept(self) -> str:
        """Rows of both sides, once."""
        return f"rows of both sides that may still find a partner, once for {self._joins()}"

    def evaluated(self, choice: Choice | None) -> Iterator[str]:
        """How it is shared."""
        slices = self.slices()
        if self.sharing.strategy != AUTO:
            ends = [self.ends(side) for side in (0, 1)]
            most = max(len(one) for one in ends)
            windows = max(len({last for last, _ in self.lasts(side)}) for side in (0, 1))
            yield f"strategy {self.sharing.strategy}, {self.sharing.why(most, windows)}"
        elif slices:
            shown = ", ".join(slices[:_SHOWN]) + (f" and {len(slices) - _SHOWN} more" if len(slices) > _SHOWN else "")
            yield f"strategy slices: one store, one probe; pairs go to readers by slice: {shown}"
        else:
            yield "strategy slices: one store, one probe"
        for side, names in zip(_SIDES, self.predicates, strict=True):
            if names:
                what = "condition is" if len(names) == 1 else "conditions are"
                yield f"{len(names)} {what} computed once for each {side} row, into a bitmap"

    def lasts(self, side: int) -> list[tuple[int, bool]]:
        """Of readings whose reach ends: how far above a row its last partner lies, and if all rows are asked for."""
        out: list[tuple[int, bool]] = []
        for one in self.readings:
            near = near_of(one.join)
            last = None if near is None else near.reach_of(side).high
            if last is not None:
                out.append((last, one.predicates[side] is None))
        return out

    def ends(self, side: int) -> tuple[int, ...]:
        """Where slices of a side's rows end: rows stay to the end of the slice in which a reading's reach ends."""
        lasts = self.lasts(side)
        return self.sharing.ends(lasts, self.domain) if lasts and self.domain is not None else ()

    def slices(self) -> list[str]:
        """Where the distance of a pair is cut, so that each reading has whole slices."""
        reaches = [near.reach for one in self.readings if (near := near_of(one.join)) is not None]
        ends = {one.low for one in reaches} | {None if one.high is None else one.high + 1 for one in reaches}
        known = sorted(end for end in ends if end is not None)
        if None in ends or len(known) <= len(_SIDES):
            return []
        shown = [show_length(end, self.domain) for end in known]
        return [f"[{low}, {high})" for low, high in pairwise(shown)]

    def expressions(self) -> Iterator[Expression]:
        """Its columns and conditions are computed by projections that are not shown."""
        for below in self.inputs:
            if isinstance(below, Project) and below.hidden:
                yield from below.expressions()
        for one in self.readings:
            yield from one.join.expressions()

    def form(self, *, ends: bool = False) -> JoinForm:
        """Each side's promises let the other side's rows go, when they do for all readings."""
        forms = [one.join.form(ends=ends) for one in self.readings]
        bounded = all(one.bounded[0] for one in forms), all(one.bounded[1] for one in forms)
        return replace(forms[0], bounded=bounded, names=({}, {}))

    def near_lag(self) -> Lag:
        """The widest reach."""
        near = self.near()
        if near is None or near.size is not None:
            return self.readings[0].join.near_lag()
        low, high = near.reach.low or 0, near.reach.high or 0
        return (Part.of("band", max(high, -low, 0), self.domain),)

    def times(self) -> tuple[str, str] | None:
        """The attributes that must be near."""
        return self.readings[0].join.times()

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """No rows leave by themselves."""
        return []

    def progressing(self) -> tuple[str, ...]:
        """No rows leave by themselves."""
        return ()

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """Nothing: each reading promises for itself."""
        return Progress()

    def responds(self, ignored: Pattern) -> Response:
        """What all readings say of the rows of a side, in the names that `Matches` gives to columns; no row leaves."""
        kinds = {name.partition(":")[0] for name in ignored.attributes}
        sides = [side for side in (0, 1) if _SIDES[1 - side] not in kinds]
        found = {side: ignored.renamed(self._columns(side)) for side in sides}
        return Response(inputs={side: below for side, below in found.items() if below is not None}, whole=True)

    def _columns(self, side: int) -> dict[str, str]:
        """By name of a column among all readings: what it is on a side."""
        own = {f"{_SIDES[side]}:{name}": name for name in self.inputs[side].schema.names}
        return own | {name: pair[side] for name, pair in self.shared().items()}

    def shared(self) -> dict[str, tuple[str, str]]:
        """Columns that may be equal in every pair, keys and times, by their name among all readings."""
        times = self.times()
        pairs = [*self.keys, *([times] if times is not None else [])]
        return {f"both:{i}": (left, right) for i, (left, right) in enumerate(pairs)}

    def says(self) -> Iterator[Any]:
        """All that decides the answers and the state."""
        yield from (self.name, self.keys, self.domain, self.predicates, self.sharing)
        yield tuple((one.number, one.predicates, one.views, one.since, tuple(one.join.says())) for one in self.readings)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Matches(Unary):
    """What a join would give, with its state in the store that it reads. All that it says, the join says."""

    makes_rows: ClassVar[bool] = True

    of: Join
    """As it would be computed by itself."""
    outlet: int

    @property
    def schema(self) -> pa.Schema:
        """That of the join."""
        return self.of.schema

    @property
    def reading(self) -> JoinReading:
        """Its own, of the store."""
        assert isinstance(self.input, SharedJoin)
        return self.input.readings[self.outlet]

    def heard(self) -> tuple[Node, ...]:
        """Both sides of the store: what their promises let go depends on the reading."""
        return self.input.reads()

    def reads_outlet(self) -> int:
        """Its own."""
        return self.outlet

    def words(self) -> list[str]:
        """The join's, and the conditions that the store has seen to."""
        found = [
            f"of {_SIDES[side]} rows where {one.condition}"
            for side, below in enumerate(self.of.inputs)
            for one in _leading(below)
            if isinstance(one, Select)
        ]
        return [*self.of.words(), *found]

    def title(self) -> str:
        """The join's."""
        return self.of.title()

    def evaluated(self, choice: Choice | None) -> Iterator[str]:
        """From the store."""
        yield "answered from a shared join"

    def form(self, *, ends: bool = False) -> JoinForm:
        """The join's."""
        return self.reading.join.form(ends=ends)

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """The join's."""
        return self.reading.join.outgoing(incoming, out, ends=ends)

    def responds(self, ignored: Pattern) -> Response:
        """As the join, of the rows that reach the store; the store leaves out what all its readings ignore.

        Columns are named by their side, and those that both sides have by their place.
        """
        store = self.input
        assert isinstance(store, SharedJoin)
        found = self.reading.join.at_sides(ignored)
        if len(found) == len(_SIDES):
            names = {pair[0]: name for name, pair in store.shared().items()}
            below = found[0].renamed(names)
            return NOTHING if below is None else Response(inputs={0: below})
        for side, said in found.items():
            named = said.renamed({name: f"{_SIDES[side]}:{name}" for name in said.attributes})
            return NOTHING if named is None else Response(inputs={0: named})
        return NOTHING

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """The join's, from both sides."""
        return self.reading.join.promised(inputs)

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """As in the join, from the rows that reach the store."""
        return self.reading.join.copied(column)

    def progressing(self) -> tuple[str, ...]:
        """What progresses on its side, and leaves."""
        return self.reading.join.progressing()

    def domain_at(self, column: str) -> Domain | None:
        """The join's."""
        return self.of.domain_at(column)

    def says(self) -> Iterator[Any]:
        """Which reading of the store it is."""
        yield self.outlet


def _leading(node: Node) -> Iterator[Node]:
    """The conditions and columns that lead to a join, nearest first, up to what is neither."""
    while isinstance(node, Select | Project):
        yield node
        (node,) = node.reads()
