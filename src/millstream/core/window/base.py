"""What a window kind is: one class that says everything about its windows but how they are computed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import ClassVar, TypeAlias

from millstream.core.contract import form
from millstream.core.domain import BOTTOM, LONGEST, Domain
from millstream.core.errors import WindowError
from millstream.core.pattern import Pattern, ValuePattern
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation

WINDOW_COLUMNS = ("window_id", "window_start", "window_end")
"""The columns that every result of a window has."""

Length: TypeAlias = tuple[str, int | None]
"""A reason for rows to stay: its name, and how many ticks; None if nobody can know."""


class Context(Enum):
    """What must be known besides the row itself before its windows are known."""

    FREE = "CF"
    """Nothing: the windows follow from the value."""
    BACKWARD = "FCF"
    """Rows that came before: forward-context free."""
    FORWARD = "FCA"
    """Rows that are still to come: forward-context aware."""


class Window(ABC):
    """Which rows belong together.

    A new kind says its `words`. Everything else has a default, which is right for windows whose rows are known once the
    bound on the attribute has passed their end.
    """

    __slots__ = ()

    strategies: ClassVar[tuple[str, ...]] = ("auto",)
    """How an aggregate over such windows may be computed."""
    kind: ClassVar[str] = "a window of another kind"
    """What such a window is called."""
    entries: ClassVar[int] = 1
    """How many entries of state a row makes at most."""

    @abstractmethod
    def words(self, attribute: str, domain: Domain) -> str:
        """The windows in words; equal for equal windows."""

    @property
    def reach(self) -> int:
        """How far from a value the reckoning of its windows can lead."""
        return 1

    @property
    def keeps(self) -> str | None:
        """What an operator keeps of the rows, in words; None for partials, or rows, of open windows."""
        return None

    @property
    def grows(self) -> bool:
        """Do windows never let go of what they have seen?"""
        return False

    @property
    def by_rows(self) -> bool:
        """Are rows counted, whatever their attribute says?"""
        return False

    def meets_on(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """The columns whose values must meet in one partition; none: all rows must meet."""
        return groups

    def lasts(self, *, holistic: bool) -> tuple[Length, ...]:
        """How far an operator remembers behind the bound; `holistic` if it keeps every value."""
        return (("the extent of a window", None),)

    def form(self, attribute: str, groups: tuple[str, ...], *, forgets: bool) -> form.Form:
        """The contract of an aggregate by groups; `forgets` unless totals grow for ever."""
        return form.WindowAggregate(attribute, ("window_end",), groups)

    def bounds(self, bound: int) -> dict[str, int]:
        """For a bound on the attribute: for each window column, the least value that a later result can have.

        Nothing is known of the ids of windows to come; but one that ends at or below the bound is out.
        """
        return {"window_end": bound + 1}

    def within(self, said: Pattern) -> ValuePattern | None:
        """The values all of whose windows match what is said of the window columns; None if that cannot be said."""
        return None

    def promised(self, attribute: str, groups: tuple[str, ...], now: Progress, rows: int) -> Progress:
        """What follows for the results from what is promised of the rows; `rows` have come."""
        if now.ended:
            return Progress(ended=True)
        out = Progress()
        if now.bound(attribute) > BOTTOM:
            for name, bound in self.bounds(now.bound(attribute)).items():
                out.accept(Punctuation.linear(name, bound))
        for (name, keys), found in now.grouped.items():
            if name == attribute and set(keys) <= set(groups):
                for key, bound in found.items():
                    group = dict(zip(keys, key, strict=True))
                    for column, value in self.bounds(bound).items():
                        out.accept(Punctuation.group_wise(column, value, group))
        for keys, over in now.over.items():
            if set(keys) <= set(groups):
                out.over[keys] = set(over)
        return out


def context(window: Window) -> Context:
    """The context class, derived from what the window has to ask for.

    A window with `wids` or `first_wid` answers from the value alone; one that numbers rows within
    partitions must have counted them; one with neither must wait for the rows to come.

    >>> from millstream.core.window import Rows, Sliding
    >>> context(Sliding(size=2, slide=1)), context(Rows(size=2, slide=1, partition_by=("k",)))
    (<Context.FREE: 'CF'>, <Context.BACKWARD: 'FCF'>)
    """
    if hasattr(window, "wids") or hasattr(window, "first_wid"):
        return Context.FREE
    if hasattr(window, "by_number"):
        return Context.BACKWARD if getattr(window, "partition_by", ()) else Context.FREE
    return Context.FORWARD


def positive(what: str, value: int) -> None:
    """Refuse a length that is no length."""
    if value <= 0:
        raise WindowError(f"{what} {value} is not positive", hint=f"Give a {what} above zero.")
    if value >= LONGEST:
        raise WindowError(f"{what} {value} is too long", hint=f"Give a {what} below {LONGEST}.")
