"""CUMULATE: windows that begin together and end a step apart, as the two functions of a user-defined window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cumulate:
    """Window w is part w mod n of period w div n: all of it up to that step, in ticks.

    >>> windows = Cumulate(step=2, size=6)
    >>> [windows.extent(w) for w in range(4)], windows.wids(3), windows.wids(-1)
    ([(0, 2), (0, 4), (0, 6), (6, 8)], [1, 2], [-1])
    """

    step: int
    size: int

    def label(self, span: Callable[[int], str]) -> str:
        """The windows in words."""
        return f"cumulate step {span(self.step)} size {span(self.size)}"

    def extent(self, wid: int) -> tuple[int, int]:
        """From the begin of the period to the end of the step."""
        period, part = divmod(wid, self.size // self.step)
        return period * self.size, period * self.size + (part + 1) * self.step

    def wids(self, value: int) -> list[int]:
        """The step that holds the value, and all later ones of its period."""
        parts = self.size // self.step
        period, offset = divmod(value, self.size)
        return [period * parts + part for part in range(offset // self.step, parts)]
