"""As-of join: each left row with the latest right row of its keys that is not after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa

from millstream.core.contract.as_of_form import AsOf as AsOfForm
from millstream.core.contract.scheme import Scheme
from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise import as_of
from millstream.core.promise.as_of import AsOfShape
from millstream.plan.horizon import Lag, Part, show_length
from millstream.plan.lacking import said_of
from millstream.plan.nodes.base import Node, alike, row_by_row
from millstream.plan.nodes.pair import JoinColumn, TwoSided, sided
from millstream.plan.refusal import Refusal
from millstream.plan.words import KEPT, all_of, either, listed

if TYPE_CHECKING:
    from millstream.plan.hints import Hints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AsOf(TwoSided):
    """Each left row with the latest right row of its keys that is not after it."""

    makes_rows: ClassVar[bool] = True

    how: str
    """inner, or left: then rows without a partner leave too."""
    time: tuple[str, str]
    columns: tuple[JoinColumn, ...]
    schema: pa.Schema
    strict: bool = False
    """Must the right row be before the left one?"""
    within: int | None = None
    """How many ticks the right row may be before the left one: what lets right rows be forgotten."""

    def words(self) -> list[str]:
        """What must be equal, and which row is chosen."""
        left, right = self.time
        within = "" if self.within is None else f", no more than {show_length(self.within, self.domain)} before"
        return [
            f"{KEPT[self.how]}as-of join on {all_of(self.keys, None) or 'time alone'}",
            f"the last {right} {'before' if self.strict else 'up to'} {left}{within}",
        ]

    def kept(self) -> str:
        """Left rows that wait, and right rows to choose from."""
        last = f"the last row of each {listed(key for _, key in self.keys)}" if self.keys else "the last row"
        return f"left rows that a nearer partner may come for, and of the right side {last} and what came after"

    def form(self, *, ends: bool = False) -> AsOfForm:
        """The right side's bound lets left rows go, the left side's right ones."""
        partner = next((one.name for one in self.columns if one.side and one.column == self.time[1]), None)
        return AsOfForm(
            equal=self.keys,
            time=self.time,
            bounded=self.within is not None,
            names={one.column: one.name for one in self.columns if not one.side},
            partner=partner if self._near() else None,
        )

    def near_lag(self) -> Lag:
        """As old as a partner may be."""
        return () if self.within is None else (Part.of("within", self.within, self.domain),)

    def times(self) -> tuple[str, str]:
        """The times that are compared."""
        return self.time

    def refuse(self, inputs: Sequence[Scheme], say: Hints) -> Refusal:
        """Left rows wait for ever, or right ones are kept for ever."""
        form, keys = self.form(), listed(self.meets_on())
        left, right = self.time
        if not form.uses(inputs[1], 1):
            fact = f"never lets a left row go: no punctuation on {right} comes from its right side"
            return self._silent(1, right, fact, say)
        if self.within is not None or not keys:
            fact = f"keeps the rows of its right side for ever: no punctuation on {left} comes from its left side"
            return self._silent(0, left, fact, say)
        return Refusal(
            self.title(),
            keys,
            f"{self.title()} keeps the last right row of every {keys} for ever: nothing says how old a partner may be, "
            "or that no more left rows will come for one",
            either(
                f"bound the distance: {say.as_of(self.inputs[0], left, right)}",
                *say.over(self.inputs[0], self.meets_on()),
                say.few,
            ),
        )

    def _silent(self, side: int, attribute: str, fact: str, say: Hints) -> Refusal:
        hint = f"Declare {say.declared(self.inputs[side], attribute)}; {say.end}."
        return Refusal(self.title(), attribute, f"{self.title()} {fact}; {said_of(self.inputs[side])}", hint)

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """What is promised of left rows that have not left."""
        shape = AsOfShape(
            keys=self.keys,
            time=self.time,
            leaving=as_of.named(sided(self.columns)),
            outer=self.how == "left",
            strict=self.strict,
            within=self.within,
        )
        return as_of.promised(shape, inputs)

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """The column of the side that it is from."""
        return [(self.inputs[one.side], one.column) for one in self.columns if one.name == column]

    def progressing(self) -> tuple[str, ...]:
        """What progresses on the left; and a partner's time, which is near, if every row has one."""
        below = self.inputs[0].progressing()
        found = [one.name for one in self.columns if not one.side and one.column in below]
        partner = [one.name for one in self.columns if one.side and one.column == self.time[1]]
        return tuple([*found, *partner] if self._near() and self.time[0] in below else found)

    def responds(self, ignored: Pattern) -> Response:
        """By the left side's columns. A right row that did not come would give its left rows an older partner."""
        names = [(one.name, one.column) for one in self.columns if not one.side]
        below = ignored.renamed(alike(names, self.schema, self.inputs[0].schema))
        return NOTHING if below is None else row_by_row(below)

    def never_null(self, column: str) -> bool:
        """As on the left."""
        own = next((one.column for one in self.columns if one.name == column and not one.side), None)
        return own is not None and self.inputs[0].never_null(own)

    def _near(self) -> bool:
        """Has every row that leaves a partner that is not too old?"""
        return self.how == "inner" and self.within is not None
