"""Join: pairs of rows of two inputs that belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from millstream.core.contract.join_form import Join as JoinForm
from millstream.core.contract.scheme import Scheme
from millstream.core.expression import Expression
from millstream.core.feedback import Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise import join
from millstream.core.promise.join import JoinShape
from millstream.core.promise.near import Near, Reach
from millstream.plan.horizon import Lag, Part, show_length
from millstream.plan.lacking import likely, said_of
from millstream.plan.nodes.base import Node, alike, meaning
from millstream.plan.nodes.pair import JoinColumn, TwoSided, asked_fields, read_columns, sided
from millstream.plan.refusal import Refusal
from millstream.plan.words import all_of, listed

if TYPE_CHECKING:
    from millstream.plan.hints import Hints

JOINS = ("inner", "left", "right", "full", "semi", "anti")
"""Which rows leave: pairs; pairs and the left, right or all rows without a partner; left rows with, or without, one."""
_WHOLE_ROWS = {"anti": "difference", "semi": "intersection"}
_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """`left + low <= right <= left + high` on an attribute of each side, in ticks; None is no bound at that end."""

    left: str
    right: str
    low: int | None
    high: int | None
    low_strict: bool = False
    high_strict: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SameWindow:
    """Both attributes lie in the same tumbling window of `size` ticks."""

    left: str
    right: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Join(TwoSided):
    """Pairs of rows of two inputs that belong together."""

    makes_rows: ClassVar[bool] = True

    how: str
    time: Band | SameWindow | None
    """How near the rows of a pair must be: what lets a row be forgotten."""
    condition: Expression | None
    """What else must hold, over the columns of a pair."""
    columns: tuple[JoinColumn, ...]
    """The columns of a pair. Those that leave are the ones that `schema` has."""
    schema: pa.Schema
    nulls_equal: bool = False
    """Is a null key equal to a null key, as in set operations?"""
    thrifty: bool = False
    """Does it tell a side what finds no partner, because the other side is complete and has nothing there?"""
    impatient: bool = False
    """Does it tell a side what has partners that wait, so that these rows come first?"""

    def words(self) -> list[str]:
        """What must hold of a pair, and how near its rows must be."""
        if self.nulls_equal:
            lines = [f"{_WHOLE_ROWS[self.how]} on {listed(left for left, _ in self.keys) or 'time alone'}"]
        else:
            lines = [f"{self.how} join on {all_of(self.keys, self.condition) or 'time alone'}"]
        match self.time:
            case Band(left=left, right=right, low=0, high=0) if left == right:
                lines.append(f"of the same {left}")
            case Band(left=left, right=right, low=low, high=high):
                lines.append(f"{right} less {left} from {self._shown(low)} to {self._shown(high)}")
            case SameWindow(left=left, right=right, size=size):
                lines.append(f"{left} and {right} in the same window of {self._shown(size)}")
            case None:
                lines.append("no bound on time: rows are kept until the end of the stream")
        return lines

    def kept(self) -> str:
        """Rows of both sides."""
        return "rows of both sides that may still find a partner"

    def expressions(self) -> Iterator[Expression]:
        """The condition."""
        if self.condition is not None:
            yield self.condition

    def form(self, *, ends: bool = False) -> JoinForm:
        """Each side's promises let the other side's rows go."""
        near = None if self.time is None else (self.time.left, self.time.right)
        bounded = (True, True)
        if isinstance(self.time, Band):
            bounded = (self.time.high is not None, self.time.low is not None)
        # Where a partner is missing its columns are null, whatever its stream promised.
        padded = {"left": (1,), "right": (0,), "full": (0, 1)}.get(self.how, ())
        left, right = (
            {
                one.column: one.name
                for one in self.columns
                if one.side == side and side not in padded and one.name in self.schema.names
            }
            for side in (0, 1)
        )
        return JoinForm(equal=self.keys, near=near, bounded=bounded, names=(left, right))

    def near_lag(self) -> Lag:
        """As far apart as the rows of a pair may be."""
        match self.time:
            case Band() as band:
                return (Part.of("band", max(band.high or 0, -(band.low or 0), 0), self.domain),)
            case SameWindow() as same:
                return (Part.of("window", same.size, self.domain),)
            case None:
                return ()

    def times(self) -> tuple[str, str] | None:
        """The attributes that must be near."""
        return None if self.time is None else (self.time.left, self.time.right)

    def near(self) -> Near | None:
        """Its band or window, in ticks."""
        return near_of(self)

    def home(self) -> int | None:
        """The side of which rows without a partner leave; either, if none do."""
        return {"full": None, "left": 0, "semi": 0, "anti": 0}.get(self.how, 1)

    def needs(self, needed: set[str]) -> set[str]:
        """Keys, times, what the condition reads and what is asked for; but rows that it rejects leave whole."""
        times = self.times() or ()
        never_null = all(at.never_null(name) for at, name in zip(self.inputs, times, strict=False))
        if self.nulls_equal or not never_null:
            return Node.needs(self, needed)
        keys = {name for pair in self.keys for name in pair}
        return {one.column for one in self._paired(needed)} | keys | set(times)

    def narrowed(self, needed: set[str]) -> Node:
        """Without columns that nobody asks for."""
        kept = self._paired(needed)
        if self.nulls_equal or len(kept) == len(self.columns):
            return self
        return replace(self, columns=kept, schema=asked_fields(kept, self.schema, needed))

    def _paired(self, needed: set[str]) -> tuple[JoinColumn, ...]:
        return read_columns(self.columns, self.schema, self.condition, needed)

    def refuse(self, inputs: Sequence[Scheme], say: Hints) -> Refusal:
        """A side's rows are kept for ever, because the other side's promises do not let them go."""
        form = self.form()
        lacking = [side for side in (0, 1) if not form.uses(inputs[side], side)]
        kept = " and ".join(f"its {_SIDES[1 - side]} side" for side in reversed(lacking))
        keeps = f"{self.title()} keeps the rows of {kept} for ever"
        time = self.time
        if time is None:
            return self._refuse_whole_rows(keeps, say) if self.nulls_equal else self._refuse_timeless(keeps, say)
        side = lacking[0]
        attribute = (time.left, time.right)[side]
        if isinstance(time, Band) and (time.low if side == 0 else time.high) is None:
            fact = f"{keeps}: the time between the rows of a pair is bounded at one end only"
            bound = say.other_end(self.inputs[0], time.left, time.right)
            return Refusal(self.title(), attribute, fact, f"Bound it at the other end too: {bound}; {say.end}.")
        lack = f"no punctuation on {attribute} comes from its {_SIDES[side]} side; {said_of(self.inputs[side])}"
        hint = f"Declare {say.declared(self.inputs[side], attribute)}; {say.end}."
        return Refusal(self.title(), attribute, f"{keeps}: {lack}", hint)

    def _refuse_timeless(self, keeps: str, say: Hints) -> Refusal:
        left, right = (likely(one) for one in self.inputs)
        keys = listed(dict.fromkeys(name for pair in self.keys for name in pair)) or "anything"
        return Refusal(
            self.title(),
            f"{left}, {right}" if left != right else left,
            f"{keeps}: nothing bounds the time between the rows of a pair, and no punctuation speaks of {keys}",
            f"Bound the time: {say.pair(self.inputs[0], left, right)}; {say.end}.",
        )

    def _refuse_whole_rows(self, keeps: str, say: Hints) -> Refusal:
        """Of difference and intersection, whose rows are compared in all columns."""
        names, ordered = [left for left, _ in self.keys], likely(self.inputs[0])
        columns = listed(names)
        method = "difference" if self.how == "anti" else "intersect"
        fact = f"{keeps}: no column of {columns} makes progress on both sides"
        return Refusal(self.title(), columns, fact, f"{say.both(names, ordered, method)}; {say.end}.")

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """What both sides' promises say of pairs to come."""
        names = join.leaving(self.how, sided(self.columns), self.schema.names)
        return join.promised(JoinShape(self.keys, near_of(self), names), inputs)

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """The column of the side that it is from."""
        return [(self.inputs[one.side], one.column) for one in self.columns if one.name == column]

    def progressing(self) -> tuple[str, ...]:
        """What progresses on its side, and leaves."""
        below, leaving = [one.progressing() for one in self.inputs], self.schema.names
        return tuple(one.name for one in self.columns if one.column in below[one.side] and one.name in leaving)

    def responds(self, ignored: Pattern) -> Response:
        """By each side that has all the columns, keys of the other side being its own keys.

        A conjunction over columns of both sides cannot be taken apart. Where rows without a partner leave, only those
        of their own side may be missing: a partner that did not come would make others look as if they had none.
        """
        inputs = self.at_sides(ignored)
        return Response(inputs=inputs, whole=bool(inputs))

    def at_sides(self, ignored: Pattern) -> dict[int, Pattern]:
        """What is said of pairs in the columns of each side that may lose the rows of which they are made."""
        sides = {"inner": (0, 1), "right": (1,), "full": ()}.get(self.how, (0,))
        found = {side: ignored.renamed(self._at_side(side)) for side in sides}
        return {side: below for side, below in found.items() if below is not None}

    def _at_side(self, side: int) -> dict[str, str]:
        """By column that leaves: what it is on a side, or is equal to there in every pair."""
        own = [(one.name, one.column) for one in self.columns if one.side == side]
        if self.how == "inner":
            time = self.time
            same = [(time.left, time.right)] if isinstance(time, Band) and near_of(self) == _same(time) else []
            equal = {pair[1 - side]: pair[side] for pair in (*self.keys, *same) if self._one_type(*pair)}
            own += [(one.name, equal[one.column]) for one in self.columns if one.side != side and one.column in equal]
        return alike(own, self.schema, self.inputs[side].schema)

    def _one_type(self, left: str, right: str) -> bool:
        return self.inputs[0].schema.field(left).type == self.inputs[1].schema.field(right).type

    def says(self) -> Iterator[Any]:
        """All but the inputs, the condition however it was spelled."""
        yield from (
            self.how,
            self.keys,
            self.time,
            self.columns,
            self.schema,
            self.domain,
            self.nulls_equal,
            self.thrifty,
            self.impatient,
        )
        yield meaning(self.condition)

    def _shown(self, ticks: int | None) -> str:
        return "no bound" if ticks is None else show_length(ticks, self.domain)


def _same(time: Band) -> Near:
    """Partners that have the same time."""
    return Near((time.left, time.right), Reach(0, 0))


def near_of(node: Join) -> Near | None:
    """How near partners must be, if they must. Ticks are whole numbers, so `< 5` is `<= 4`."""
    time = node.time
    match time:
        case Band():
            low = None if time.low is None else time.low + int(time.low_strict)
            high = None if time.high is None else time.high - int(time.high_strict)
            return Near((time.left, time.right), Reach(low, high))
        case SameWindow():
            return Near((time.left, time.right), Reach(0, 0), time.size)
        case None:
            return None
