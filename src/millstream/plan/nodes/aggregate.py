"""Aggregate: aggregates over windows, by group. What depends on the kind of window is asked of the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from millstream.core.aggregate import AggregateCall
from millstream.core.contract import form
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Sign, Template
from millstream.core.domain import Domain, Kind
from millstream.core.expression import Expression
from millstream.core.feedback import Response
from millstream.core.flush import Flush
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise import windows as promise
from millstream.core.promise.windows import WindowShape
from millstream.core.window import WHOLE, WINDOW_COLUMNS, Landmark, Rows, Sliding, Window, context
from millstream.plan.cost import Choice
from millstream.plan.feedback import behind_windows
from millstream.plan.horizon import Horizon, Lag, Part
from millstream.plan.lacking import likely, said_of, unpunctuated
from millstream.plan.lag import Promises
from millstream.plan.nodes.base import HoldsBack, Node, Unary
from millstream.plan.nodes.project import Project
from millstream.plan.refusal import Refusal
from millstream.plan.words import either, listed

if TYPE_CHECKING:
    from millstream.plan.hints import Hints
    from millstream.plan.nodes.source import Source

STRATEGIES = ("auto", "wid", "paned", "differential", "buffered", "adaptive", "bins")
"""How a window aggregate may be computed; the answers are the same."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AggregateColumn:
    """One aggregate: its name, the call as written, and the input columns that hold its arguments."""

    name: str
    call: AggregateCall
    arguments: tuple[str, ...]
    filter: str | None = None
    holistic: bool = False
    """Is its exact partial as large as its input?"""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Aggregate(Unary):
    """Aggregates over windows, by group."""

    stateful: ClassVar[bool] = True
    makes_rows: ClassVar[bool] = True
    selective: ClassVar[bool] = True

    attribute: str
    domain: Domain
    windows: tuple[Window, ...]
    groups: tuple[str, ...]
    aggregates: tuple[AggregateColumn, ...]
    strategy: str
    schema: pa.Schema
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    choice: Choice | None = None
    """The strategy, if it could be chosen before there are rows; `strategy` is what was asked for."""
    pane: int | None = None
    """The length in ticks of the panes that its sliding windows are made of."""
    flush: Flush | None = None
    """How the results of closed windows leave; None: at once."""

    @property
    def holistic(self) -> bool:
        """Does it keep every value?"""
        return any(one.holistic for one in self.aggregates)

    @property
    def grows(self) -> bool:
        """Has it totals that are never let go, and not of one size: by group, or of every value?"""
        return self.windows[0].grows and (bool(self.groups) or self.holistic)

    def meets_on(self, port: int = 0) -> tuple[str, ...]:
        """Its groups, or what its windows say."""
        return self.windows[0].meets_on(self.groups)

    def spans(self) -> tuple[Window, ...]:
        """Those of its results."""
        return self.windows

    def holds_back(self) -> HoldsBack | None:
        """As its flush says."""
        return None if self.flush is None else HoldsBack(self.attribute, _flush_reach(self), self.flush.lazy)

    def settled(self) -> Node:
        """By panes: partials by pane suit every reduction."""
        return replace(self, strategy="paned") if self.strategy == "auto" and is_sliding(self) else self

    def words(self) -> list[str]:
        """Groups, calls and windows."""
        groups = f" by {listed(self.groups)}" if self.groups else ""
        calls = ", ".join(f"{one.name} = {one.call}" for one in self.aggregates)
        windows = [f"window {one.words(self.attribute, self.domain)} [{context(one).value}]" for one in self.windows]
        return [f"aggregate{groups}: {calls}", *windows, *([] if self.flush is None else [str(self.flush)])]

    def title(self) -> str:
        """Groups and windows."""
        groups = f" by {listed(self.groups)}" if self.groups else ""
        if self.windows[0] == WHOLE:
            return f"aggregate{groups} without a window"
        return f"aggregate{groups} over {' and '.join(one.words(self.attribute, self.domain) for one in self.windows)}"

    def kept(self) -> str:
        """What its windows keep, for each group."""
        groups = f" for each {listed(self.groups)}" if self.groups else ""
        open_windows = f"{'the rows' if self.strategy == 'buffered' else 'partials'} of open windows"
        held = "" if self.flush is None else ", and results that are held back"
        return f"{self.windows[0].keeps or open_windows}{groups}{held}"

    def asked(self) -> list[str]:
        """Its strategy."""
        return [f"strategy {self.strategy}"]

    def evaluated(self, choice: Choice | None) -> Iterator[str]:
        """Its panes and its strategy, and why."""
        chosen = self.choice or choice
        if self.pane is not None and (chosen is None or chosen.strategy in ("paned", "differential")):
            counts = [window.size // self.pane for window in self.windows if isinstance(window, Sliding)]
            yield f"panes of {self.domain.show_span(self.pane)}, {' and '.join(map(str, counts))} per window"
        if chosen is not None:
            yield f"strategy {chosen.strategy} (auto: {chosen.reason})"
        elif self.strategy != "auto":
            yield f"strategy {self.strategy} (asked for)"
        elif is_sliding(self):
            yield "strategy auto: chosen by the cost model when the first rows show what they are like"

    def expressions(self) -> Iterator[Expression]:
        """Its arguments are computed by a projection that is not shown."""
        if isinstance(self.input, Project) and self.input.hidden:
            yield from self.input.expressions()

    def form(self, *, ends: bool = False) -> form.Form:
        """That of its windows."""
        return self.windows[0].form(self.attribute, self.groups, forgets=not self.grows)

    def held_back(self, column: str) -> Lag:
        """A flush holds results of so many windows."""
        if self.flush is None:
            return ()
        if column == "window_id":
            return (Part.of("flush", self.flush.windows, None),)
        return (Part.of("flush", _flush_reach(self), self.domain),)

    def own(self) -> tuple[Lag, int]:
        """What its windows reach back, and what is held back."""
        first = self.windows[0]
        if is_sliding(self):
            return self._own_sliding()
        lag = tuple(_part(one, self.domain) for one in first.lasts(holistic=self.holistic))
        held = () if self.flush is None else (Part("flush", rows=self.flush.windows),)
        return (*lag, *held), first.entries

    def _own_sliding(self) -> tuple[Lag, int]:
        windows = [one for one in self.windows if isinstance(one, Sliding)]
        each = sum(ceil(one.size / one.slide) for one in windows)
        # By pane a row is in one partial, whatever its windows; by window it is in one for each of them. What is
        # carried from window to window is one a group. A result of each of its windows may be held back besides.
        entries = {"paned": 1, "buffered": 1, "differential": 2 * len(windows)}.get(self.strategy, each)
        lag = (Part.of("range", max(one.size for one in windows), self.domain), *self.held_back(self.attribute))
        return lag, entries + (0 if self.flush is None else each)

    def horizon(self, incoming: Sequence[Promises]) -> Horizon:
        """Windows of rows are as long as they are, whatever is promised."""
        first = self.windows[0]
        if isinstance(first, Rows):
            return Horizon(parts=(Part("range", rows=first.size),), entries=1)
        return Unary.horizon(self, incoming)

    def refuse(self, inputs: Sequence[Scheme], say: Hints) -> Refusal:
        """Windows never close, groups never end, or totals only grow."""
        first = self.windows[0]
        if first == WHOLE:
            return self._refuse_whole(say)
        if isinstance(first, Rows):
            keys = listed(first.partition_by)
            fact = f"{self.title()} keeps the last {first.size} rows of every {keys} for ever"
            hint = either(*say.over(self, first.partition_by), say.few)
            return Refusal(self.title(), keys, fact, hint)
        if self.grows:
            what = f"a total of every {listed(self.groups)}" if self.groups else "every value"
            fact = f"{self.title()} keeps {what} for ever, because its windows never let go"
            hint = f"Give the window {say.range}; {say.few if self.groups else say.end}."
            return Refusal(self.title(), listed(self.groups) or self.attribute, fact, hint)
        return unpunctuated(self, self.input, self.attribute, "never closes a window", say, self.groups)

    def _refuse_whole(self, say: Hints) -> Refusal:
        ordered = likely(self.input)
        window = f"give it a window: {say.window(self.input, ordered)}"
        if not self.groups:
            fact = f"{self.title()} is complete only at the end of the stream"
            return Refusal(self.title(), ordered, fact, either(window, say.end))
        keys, promised = listed(self.groups), said_of(self.input)
        fact = f"{self.title()} keeps every {keys} for ever: {promised}, and nothing says that a group is over"
        return Refusal(self.title(), keys, fact, either(window, *say.over(self, self.groups), say.end))

    def asks(self) -> Iterator[tuple[Node, str, bool]]:
        """Its attribute, by order, and its groups, by value."""
        if self.windows[0] != WHOLE:
            yield self.input, self.attribute, True
        yield from ((self.input, name, False) for name in self.groups)

    def window_hint(self, column: str, say: Hints) -> str | None:
        """As where sessions start: they leave in the order of their ends."""
        offers = self.form().offers([Scheme.of(Template({self.attribute: Sign.UP_TO}))])
        ordered = not offers or Template({column: Sign.UP_TO}) in offers[0].out.templates
        if column not in WINDOW_COLUMNS or ordered:
            return None
        if self.windows[0].by_rows:
            return f"No punctuation speaks of windows of rows: give those that it reads a range of time; {say.end}."
        return f"The windows it reads leave in the order of their ends, and {column} is not one: use window_end."

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """Bounds on the columns of its windows."""
        return promise.promised(WindowShape(self.attribute, self.groups, self.windows), inputs[0])

    def responds(self, ignored: Pattern) -> Response:
        """By groups and windows, as `behind_windows` says. Results are always looked at, too."""
        argument = behind_windows.argument_of({one.name: one.arguments for one in self.aggregates})
        return behind_windows.responds(self, ignored, self.input, argument)

    def dooms(self, ignored: Pattern) -> bool:
        """If its aggregates only move one way."""
        kinds = {one.name: self._argument(one) for one in self.aggregates}
        return behind_windows.dooms(self, ignored, kinds)

    def _argument(self, one: AggregateColumn) -> pa.DataType | None:
        return self.input.schema.field(one.arguments[0]).type if one.arguments else None

    def ahead(self, column: str, high: Callable[[Source], int]) -> int | None:
        """A window begins no later than its rows, and ends no later than its length after them."""
        return self.ahead_of(self.input, column, high)

    def ahead_of(self, rows: Node, column: str, high: Callable[[Source], int]) -> int | None:
        """As `ahead`, where the rows come from another node."""
        if column in self.groups:
            return rows.ahead(column, high)
        if column not in ("window_start", "window_end") or not is_sliding(self):
            return None
        found = rows.ahead(self.attribute, high)
        longest = max(one.size for one in self.windows if isinstance(one, Sliding))
        return found if found is None or column == "window_start" else found + longest

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """A group is copied; all else takes over the bound of the attribute."""
        return [(self.input, column if column in self.groups else self.attribute)]

    def progressing(self) -> tuple[str, ...]:
        """The columns of a window."""
        return ("window_end", "window_start", "window_id")

    def domain_at(self, column: str) -> Domain | None:
        """A window begins and ends at values of the attribute."""
        if column == "window_id":
            return Domain(kind=Kind.INTEGER)
        return self.domain if column in WINDOW_COLUMNS else Unary.domain_at(self, column)

    def says(self) -> Iterator[Any]:
        """All that decides the answers and the state."""
        yield from (self.attribute, self.domain, self.windows, self.groups, self.strategy, self.schema)
        yield from (dict(self.options), self.choice, self.pane, self.flush)
        yield tuple((one.name, one.call, one.arguments, one.filter) for one in self.aggregates)


def is_sliding(node: Aggregate) -> bool:
    """Are its windows of a kind that strategies differ on?"""
    return isinstance(node.windows[0], Sliding)


def _flush_reach(node: Aggregate) -> int:
    """The most ticks by which the bound passes the end of a window whose rows are held back; 0 if none are."""
    slides = [window.slide for window in node.windows if isinstance(window, Sliding | Landmark)]
    return 0 if node.flush is None else node.flush.windows * max(slides)


def _part(length: tuple[str, int | None], domain: Domain) -> Part:
    label, ticks = length
    return Part(label) if ticks is None else Part.of(label, ticks, domain)
