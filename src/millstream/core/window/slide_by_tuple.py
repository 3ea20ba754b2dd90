"""Slide-by-tuple windows: one ends at a row."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Literal

from millstream.core.contract import form
from millstream.core.domain import BOTTOM, Domain
from millstream.core.progress import Progress
from millstream.core.window.base import WINDOW_COLUMNS, Length, Window, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class SlideByTuple(Window):
    """A window ends at rows and reaches back `size`: (w−size, w], w a value of the attribute.

    Which rows: every one, each `every`-th to arrive, or each `every`-th in the attribute's own order.

    >>> window = SlideByTuple(size=10)
    >>> window.windows([0, 4, 7, 12, 1]), window.extent(12), window.holds(12, 4)
    ([0, 1, 4, 7, 12], (2, 12), True)
    >>> SlideByTuple(size=10, every=2).windows([0, 4, 7, 12, 1])
    [4, 12]
    >>> SlideByTuple(size=10, every=2, by="rank").windows([0, 4, 7, 12, 1])
    [1, 7]
    """

    strategies: ClassVar = ("auto", "bins", "buffered")
    kind: ClassVar = "a window that ends at a row"
    # A row makes two bins and one end, and a group has an anchor.
    entries: ClassVar = 4

    size: int
    every: int = 1
    by: Literal["arrival", "rank"] = "arrival"

    def __post_init__(self) -> None:
        """Refuse what no window can be."""
        positive("range", self.size)
        positive("slide", self.every)

    def windows(self, arrivals: Iterable[int]) -> list[int]:
        """The windows there are, given all values in order of arrival: this is why it needs the future."""
        values = list(arrivals)
        ordered = sorted(values) if self.by == "rank" else values
        return sorted(set(ordered[self.every - 1 :: self.every]))

    def extent(self, wid: int) -> tuple[int, int]:
        """The open-closed interval that window `wid` covers."""
        return wid - self.size, wid

    def holds(self, wid: int, value: int) -> bool:
        """Is `value` in window `wid`?"""
        return wid - self.size < value <= wid

    @property
    def reach(self) -> int:
        """A window."""
        return self.size + 1

    def words(self, attribute: str, domain: Domain) -> str:
        """The windows in words."""
        which = "row" if self.every == 1 else f"{self.every} rows by {self.by}"
        return f"range {domain.show_span(self.size)} on {attribute}, one a {which}"

    def meets_on(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """A window is made of everybody's rows."""
        return ()

    def lasts(self, *, holistic: bool) -> tuple[Length, ...]:
        """As long as a window."""
        return (("range", self.size),)

    def form(self, attribute: str, groups: tuple[str, ...], *, forgets: bool) -> form.Form:
        """Only a bound for everybody closes a window."""
        return form.WindowAggregate(attribute, WINDOW_COLUMNS, groups, linear=True)

    def bounds(self, bound: int) -> dict[str, int]:
        """A window's id is its end."""
        return {"window_id": bound, "window_start": bound - self.size, "window_end": bound}

    def promised(self, attribute: str, groups: tuple[str, ...], now: Progress, rows: int) -> Progress:
        """Only what holds for everybody: a group that is done still has answers in windows that others' rows end."""
        bound = now.bound(attribute)
        if now.ended or bound <= BOTTOM:
            return Progress(ended=now.ended)
        return Progress(self.bounds(bound))
