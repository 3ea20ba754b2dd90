"""Slices: where the state of a join is cut by time. The boundaries are decided here and nowhere else.

Boundaries are multiples of a width, and widths are one base times a power of two: the boundaries of a wide cut are
boundaries of every finer one. So segments that were cut at different times, for different queries, fit each other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_MOST = 16
# A slice with fewer rows is not worth the trouble of opening it.
_FEW = 4096


@dataclass(frozen=True, slots=True)
class Slices:
    """Cuts of an axis, the finest `base` wide.

    >>> Slices.across(160).base, Slices.across(None).base
    (10, 1)
    """

    base: int

    @classmethod
    def across(cls, length: int | None) -> Slices:
        """Slices for rows that are kept about `length`: a sixteenth of it is what may overstay."""
        return cls(1 if length is None else max(1, length // _MOST))

    def width(self, span: int, rows: int) -> int:
        """The finest width that cuts a span into no more slices than are good for so many rows.

        >>> [Slices(10).width(span, 100_000) for span in (0, 160, 161, 1000)], Slices(10).width(160, 500)
        ([10, 10, 20, 80], 160)
        """
        most = min(_MOST, max(1, rows // _FEW))
        width = self.base
        while width * most < span:
            width *= 2
        return width

    @staticmethod
    def number(at: int, width: int) -> int:
        """The slice that a coordinate is in."""
        return at // width

    @staticmethod
    def numbers(at: np.ndarray, width: int) -> np.ndarray:
        """The slices that coordinates are in."""
        return at // width
