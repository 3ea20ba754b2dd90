"""Panes: one store of partials by group and pane, which the window aggregates of several queries are answered from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from millstream.core.contract import form
from millstream.core.domain import Domain
from millstream.core.expression import Expression
from millstream.core.feedback import Response
from millstream.core.pattern import Pattern
from millstream.core.window import Landmark, Sliding
from millstream.plan.cost import Choice
from millstream.plan.horizon import Horizon, Lag, Part
from millstream.plan.lag import Promises
from millstream.plan.nodes.aggregate import AggregateColumn
from millstream.plan.nodes.base import Passing, row_by_row
from millstream.plan.nodes.project import Project
from millstream.plan.words import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one aggregate asks of the store."""

    windows: tuple[Sliding | Landmark, ...]
    groups: tuple[str, ...]
    aggregates: tuple[int, ...]
    """The places of its aggregates among those of the store."""
    names: tuple[str, ...]
    """What its aggregates are called in the results."""
    part: int = 0
    """The part of the store that keeps its panes."""
    predicate: int | None = None
    """The place of its condition among those of the store; None if it reads every row."""
    since: int | None = None
    """The first tick from which the store has all its rows; None: from the beginning."""
    what: str = ""
    """What its part keeps, as text: the same in every run."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Panes(Passing):
    """Partials that several window aggregates share.

    A row is reduced once, into the partial of its group, its pane and the conditions that it satisfies. Rows do not
    leave it; results leave by outlets, one for each reading.
    """

    stateful: ClassVar[bool] = True
    selective: ClassVar[bool] = True

    name: str
    """Whose rows it is of, and by which attribute: the same whoever reads it."""
    attribute: str
    domain: Domain
    groups: tuple[str, ...]
    """The finest groups: each reading has some of them."""
    meets: tuple[str, ...]
    """The groups that all readings have."""
    predicates: tuple[str, ...]
    """Columns of its input: does the row satisfy a condition that some reading asks for?"""
    aggregates: tuple[AggregateColumn, ...]
    readings: tuple[Reading, ...]

    def meets_on(self, port: int = 0) -> tuple[str, ...]:
        """The groups that all readings have."""
        return self.meets

    def spans(self) -> tuple[Sliding | Landmark, ...]:
        """Those of all its readings."""
        return tuple(window for one in self.readings for window in one.windows)

    def words(self) -> list[str]:
        """Groups, calls and how many windows are answered from it."""
        groups = f" by {listed(self.groups)}" if self.groups else ""
        calls = ", ".join(dict.fromkeys(str(one.call) for one in self.aggregates))
        windows = dict.fromkeys(window for one in self.readings for window in one.windows)
        return [f"panes{groups}: {calls}", *(f"window {one.words(self.attribute, self.domain)}" for one in windows)]

    def title(self) -> str:
        """Groups."""
        groups = f" by {listed(self.groups)}" if self.groups else ""
        return f"panes{groups} on {self.attribute}"

    def kept(self) -> str:
        """Partials, for each group."""
        groups = f" for each {listed(self.groups)}" if self.groups else ""
        return f"partials of open windows{groups}, once for {len(self.readings)} aggregates"

    def evaluated(self, choice: Choice | None) -> Iterator[str]:
        """How it is shared."""
        yield f"strategy panes: {len(self.readings)} aggregates share one reduction of the rows"
        if self.predicates:
            number = len(self.predicates)
            yield f"{number} condition{'s are' if number > 1 else ' is'} computed once for each row, into a bitmap"

    def expressions(self) -> Iterator[Expression]:
        """Its arguments and conditions are computed by a projection that is not shown."""
        if isinstance(self.input, Project) and self.input.hidden:
            yield from self.input.expressions()

    def form(self, *, ends: bool = False) -> form.Form:
        """All that is promised goes on; whoever reads it says what lets partials go."""
        return form.Select()

    def outgoing(self, incoming: Sequence[Promises], out: Any, *, ends: bool) -> Promises:
        """As it comes in."""
        return {one: lag for one, lag in incoming[0].items() if one in out}

    def own(self) -> tuple[Lag, int]:
        """What the longest window reaches back."""
        sizes = [one.size for one in self.spans() if isinstance(one, Sliding)]
        slides = [one.slide for one in self.spans()]
        return (Part.of("range", max([*sizes, *slides]), self.domain),), 1

    def horizon(self, incoming: Sequence[Promises]) -> Horizon:
        """By the bound on its attribute."""
        for template, lag in incoming[0].items():
            if template.up_to == (self.attribute,) and not template.literals:
                own, entries = self.own()
                return Horizon.over(self.attribute, (*own, *lag), self.domain, entries=entries)
        return Passing.horizon(self, incoming)

    def responds(self, ignored: Pattern) -> Response:
        """Its readers say what rows they ignore; no row leaves it."""
        return row_by_row(ignored)

    def needs(self, needed: set[str]) -> set[str]:
        """What it groups by, and what its aggregates and conditions read."""
        arguments = {
            name for one in self.aggregates for name in (*one.arguments, *([one.filter] if one.filter else ()))
        }
        return {self.attribute, *self.groups, *self.predicates, *arguments}

    def says(self) -> Iterator[Any]:
        """All that decides the answers and the state."""
        yield from (self.name, self.attribute, self.domain, self.groups, self.meets, self.predicates, self.readings)
        yield tuple((one.name, one.call, one.arguments, one.filter) for one in self.aggregates)
