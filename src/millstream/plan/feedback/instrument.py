"""An instrument for experiments: rows go on as they come, and after so many their source is told what is ignored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from millstream.core.contract import form
from millstream.core.contract.feedback import shape_of
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.telling import Telling
from millstream.core.contract.template import Sign, Template
from millstream.core.feedback import Records, Response
from millstream.core.pattern import Pattern
from millstream.plan.hints import Hints
from millstream.plan.horizon import Horizon, Part
from millstream.plan.lag import Promises
from millstream.plan.nodes.base import Passing, row_by_row
from millstream.plan.refusal import Refusal
from millstream.plan.words import listed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Instrument(Passing):
    """Rows as they come, but those that it has said to ignore."""

    stateful: ClassVar[bool] = True

    every: int
    """It speaks after so many rows, and again after so many more."""
    once: bool
    told: Records = ()
    """What it says each time."""
    on: tuple[str, ...] = ()
    """Or columns: it ignores rows that have the values of the row after which it speaks."""

    def words(self) -> list[str]:
        """What it says, and when."""
        what = " or ".join(map(str, self.told)) or f"rows with the same {listed(self.on)}"
        return [f"instrument: ignores {what}, {'once, after' if self.once else 'after every'} {self.every} rows"]

    def title(self) -> str:
        """What it is for."""
        return "instrument"

    def kept(self) -> str:
        """A number, and what it has said."""
        return "how many rows have come, and what it has said"

    def shapes(self) -> tuple[Template, ...]:
        """The shapes of what it tells its input."""
        if self.on:
            return (Template(dict.fromkeys(self.on, Sign.LITERAL)),)
        return tuple(dict.fromkeys(shape_of(one) for one in self.told))

    def form(self, *, ends: bool = False) -> form.Form:
        """What is told must be over some day."""
        return Telling(form.Select(), self.shapes())

    def refuse(self, inputs: Sequence[Scheme], say: Hints) -> Refusal:
        """No punctuation passes what it says."""
        form = Telling(self.form(), self.shapes())
        promised = " or ".join(sorted(str(one) for one in inputs)) or "nothing"
        names = listed(sorted({name for one in form.told for name in one.signs})) or "no column that ends"
        fact = (
            f"{self.title()} tells its input to leave rows out by {names}, and that would stay for ever: "
            f"its input promises {promised}, and none of that can pass it"
        )
        return Refusal(self.title(), names, fact, f"Ignore rows up to a bound of a column that progresses; {say.end}.")

    def horizon(self, incoming: Sequence[Promises]) -> Horizon:
        """It keeps no row."""
        return Horizon(parts=(Part("a number of rows", rows=1),))

    def responds(self, ignored: Pattern) -> Response:
        """It has no use for them either."""
        return row_by_row(ignored)

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """Rows are not held."""
        return {one: lag for one, lag in incoming[0].items() if one in out}
