"""Landmark windows: all that came so far, each slide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.core.contract import form
from millstream.core.domain import Domain
from millstream.core.window.base import Length, Window, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark(Window):
    """Every window begins at the beginning; one ends each `slide`.

    >>> [Landmark(slide=60, start=0).first_wid(a) for a in (0, 59, 60, 125)]
    [0, 0, 1, 2]
    """

    kind: ClassVar = "a landmark window"

    slide: int
    start: int | None = None

    def __post_init__(self) -> None:
        """Refuse windows that do not move."""
        positive("slide", self.slide)

    @property
    def base(self) -> int:
        """The tick that windows are counted from."""
        return self.start or 0

    def first_wid(self, value: int) -> int:
        """The first window that holds `value`; all later ones do too."""
        wid = (value - self.base) // self.slide
        return wid if self.start is None else max(0, wid)

    def extent(self, wid: int) -> tuple[None, int]:
        """No lower end, so a value before the start is in every window; below `start + (wid+1)·slide`."""
        return None, self.base + (wid + 1) * self.slide

    def first_open(self, bound: int) -> int:
        """The first window that a punctuation up to `bound` leaves open."""
        return (bound - self.base) // self.slide

    @property
    def reach(self) -> int:
        """A slide, from where windows are counted from."""
        return self.slide + abs(self.base) + 1

    @property
    def keeps(self) -> str:
        """All windows are parts of one sum."""
        return "one total"

    @property
    def grows(self) -> bool:
        """A total is of all rows there were."""
        return True

    def words(self, attribute: str, domain: Domain) -> str:
        """The windows in words."""
        start = "" if self.start is None else f" from {domain.show(self.start)}"
        return f"range all slide {domain.show_span(self.slide)} on {attribute}{start}"

    def lasts(self, *, holistic: bool) -> tuple[Length, ...]:
        """What came since the last window ended."""
        return (("slide", self.slide),)

    def form(self, attribute: str, groups: tuple[str, ...], *, forgets: bool) -> form.Form:
        """Windows have no start."""
        return form.WindowAggregate(attribute, ("window_id", "window_end"), groups, forgets=forgets)

    def bounds(self, bound: int) -> dict[str, int]:
        """Those of the first window that is open."""
        wid = self.first_open(bound)
        return {"window_id": wid, "window_end": self.extent(wid)[1]}
