"""Sessions: rows with no long silence between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from millstream.core.domain import Domain
from millstream.core.window.base import Length, Window, positive


@dataclass(frozen=True, slots=True, kw_only=True)
class Session(Window):
    """Rows no more than `gap` apart belong together; a longer silence ends the session.

    >>> Session(gap=5).sessions([1, 14, 6, 20, 19])
    [(1, 11), (14, 25)]
    """

    kind: ClassVar = "a session window"

    gap: int

    def __post_init__(self) -> None:
        """Refuse a gap that nothing can exceed or that everything does."""
        positive("gap", self.gap)

    def sessions(self, values: Iterable[int]) -> list[tuple[int, int]]:
        """The sessions of a set of values as [first, last + gap)."""
        out: list[tuple[int, int]] = []
        for value in sorted(values):
            if out and value <= out[-1][1]:
                out[-1] = (out[-1][0], value + self.gap)
            else:
                out.append((value, value + self.gap))
        return out

    @property
    def reach(self) -> int:
        """A gap.

        >>> Session(gap=5).reach
        6
        """
        return self.gap + 1

    @property
    def keeps(self) -> str:
        """Sessions that may go on."""
        return "one partial an open session"

    def words(self, attribute: str, domain: Domain) -> str:
        """The windows in words."""
        return f"sessions on {attribute} with gap {domain.show_span(self.gap)}"

    def lasts(self, *, holistic: bool) -> tuple[Length, ...]:
        """A gap; but partials of every value are as long as the session, which goes on while rows come."""
        gap: Length = ("gap", self.gap)
        return (gap, ("length of a session", None)) if holistic else (gap,)

    def bounds(self, bound: int) -> dict[str, int]:
        """An open session's last row is at or after bound − gap; where it began is not known."""
        return {"window_end": bound}
