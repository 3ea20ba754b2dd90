"""Sliding windows, and tumbling ones: a length, and how often one ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import gcd
from typing import ClassVar

from millstream.core.contract import form
from millstream.core.domain import Domain
from millstream.core.errors import WindowError
from millstream.core.pattern import ANY, Between, From, Pattern, UpTo, ValuePattern, ends_of
from millstream.core.window.base import WINDOW_COLUMNS, Length, Window, positive

_MOST = 10**9  # windows that a row can be in


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliding(Window):
    """A window of `size` ends every `slide`; window w is [start+(w+1)·slide−size, start+(w+1)·slide).

    >>> window = Sliding(size=10, slide=4, start=0)
    >>> list(window.wids(7)), window.extent(1), window.first_open(660)
    ([1, 2, 3], (-2, 8), 165)
    """

    strategies: ClassVar = ("auto", "wid", "paned", "differential", "buffered", "adaptive")
    kind: ClassVar = "a sliding window"

    size: int
    slide: int
    start: int | None = None

    def __post_init__(self) -> None:
        """Refuse windows without a length or that do not move."""
        positive("range", self.size)
        positive("slide", self.slide)
        if self.size // self.slide > _MOST:
            raise WindowError(
                f"range {self.size} and slide {self.slide} put every row in {self.size // self.slide} windows",
                hint="Give a longer slide.",
            )

    @property
    def base(self) -> int:
        """The tick that windows are counted from."""
        return self.start or 0

    @property
    def first(self) -> int | None:
        """The first window there is, if there is a first."""
        return None if self.start is None else 0

    @property
    def pane(self) -> int:
        """The greatest length that divides size and slide: windows are whole runs of panes."""
        return gcd(self.size, self.slide)

    def wids(self, value: int) -> range:
        """Ids of the windows that hold `value`, ascending."""
        offset = value - self.base
        low = offset // self.slide
        return range(low if self.start is None else max(0, low), (offset + self.size) // self.slide)

    def extent(self, wid: int) -> tuple[int, int]:
        """The half-open interval that window `wid` covers."""
        end = self.base + (wid + 1) * self.slide
        return end - self.size, end

    def first_open(self, bound: int) -> int:
        """The first window that a punctuation up to `bound` leaves open."""
        return (bound - self.base) // self.slide

    @property
    def reach(self) -> int:
        """A window and a slide, from where windows are counted from.

        >>> Sliding(size=10, slide=4, start=-100).reach
        115
        """
        return self.size + self.slide + abs(self.base) + 1

    def words(self, attribute: str, domain: Domain) -> str:
        """The windows in words.

        >>> from millstream.core.domain import Kind
        >>> Sliding(size=10, slide=5).words("a", Domain(kind=Kind.INTEGER))
        'range 10 slide 5 on a'
        """
        start = "" if self.start is None else f" from {domain.show(self.start)}"
        return f"range {domain.show_span(self.size)} slide {domain.show_span(self.slide)} on {attribute}{start}"

    def lasts(self, *, holistic: bool) -> tuple[Length, ...]:
        """As long as a window."""
        return (("range", self.size),)

    def form(self, attribute: str, groups: tuple[str, ...], *, forgets: bool) -> form.Form:
        """All columns of a window progress as the attribute does."""
        return form.WindowAggregate(attribute, WINDOW_COLUMNS, groups)

    def within(self, said: Pattern) -> ValuePattern | None:
        """A range: from where the first matching window is the first of a row, to where the last is the last.

        >>> from millstream.core.pattern import Equal
        >>> window = Sliding(size=10, slide=4)
        >>> window.within(Pattern({"window_id": UpTo(3)})), window.within(Pattern({"window_id": From(3)}))
        (UpTo(bound=6), From(bound=12))
        >>> (
        ...     window.within(Pattern({"window_id": Equal(3)})) is None,
        ...     Sliding(size=4, slide=4).within(Pattern({"window_end": Equal(8)})),
        ... )
        (True, Between(low=4, high=8))
        """
        low: int | None = None
        high: int | None = None
        for name, value in said.attributes.items():
            found = _wids(name, value, self)
            if found is None:
                return None
            low = max((one for one in (low, found[0]) if one is not None), default=None)
            high = min((one for one in (high, found[1]) if one is not None), default=None)
        if low is not None and self.first is not None and low <= self.first:
            low = None  # there are no windows before
        least = None if low is None else self.base + low * self.slide
        beyond = None if high is None else self.base + (high + 1) * self.slide - self.size
        if least is None or beyond is None:
            return ANY if least is beyond else From(least) if beyond is None else UpTo(beyond)
        return Between(least, beyond) if least < beyond else None

    def bounds(self, bound: int) -> dict[str, int]:
        """Those of the first window that is open."""
        wid = self.first_open(bound)
        low, high = self.extent(wid)
        return {"window_id": wid, "window_start": low, "window_end": high}


def _wids(name: str, value: ValuePattern, window: Sliding) -> tuple[int | None, int | None] | None:
    """The windows whose column is within a range, from the first to below the last; None if it is no range."""
    ends = ends_of(value)
    if ends is None:
        return None

    def first(tick: int | None) -> int | None:
        """The first window whose column is at or above a tick."""
        if tick is None or name == "window_id":
            return tick
        end = tick + (window.size if name == "window_start" else 0)
        return -((window.base - end) // window.slide) - 1

    return first(ends[0]), first(ends[1])


def common_pane(windows: Iterable[Sliding]) -> int:
    """The greatest length that all windows are whole runs of: the panes that they share.

    >>> common_pane([Sliding(size=10, slide=4), Sliding(size=6, slide=3)])
    1
    """
    return gcd(*(window.pane for window in windows))
