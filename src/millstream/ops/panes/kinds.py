"""The kinds of sliding window that a part answers, as arrays: what is reckoned for one is reckoned for all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from millstream.core.window import Grid, Sliding
from millstream.kernels.sliding import PanedShape

NEVER = -(2**62)
"""Before any window."""


class Kinds:
    """Windows of different lengths and slides over the panes of one grid; `since` as their readers have it."""

    def __init__(self, windows: Sequence[tuple[Sliding, int | None]], grid: Grid) -> None:
        """In order; each once."""
        self.windows = tuple(windows)
        self.grid = grid
        self.place = {window: i for i, window in enumerate(self.windows)}
        self.size, self.slide, self.base = (
            np.array([getattr(window, name) for window, _ in windows]) for name in ("size", "slide", "base")
        )
        self.offset = (self.base - grid.base) // grid.pane
        self.length, self.step = self.size // grid.pane, self.slide // grid.pane
        self.first = np.array([first_window(window, since) for window, since in windows])
        self.gapless = bool(((self.length >= self.step) & (self.first <= NEVER)).any())

    def __len__(self) -> int:
        return len(self.windows)

    @property
    def longest(self) -> int:
        """The most ticks that the reckoning of a window can lead away from a pane."""
        return int((self.size + self.slide).max())

    def shape(self, i: int) -> PanedShape:
        """One kind, in panes."""
        return PanedShape(int(self.length[i]), int(self.step[i]), int(self.offset[i]))

    def inside(self, panes: np.ndarray) -> np.ndarray:
        """Which panes belong to some window."""
        if self.gapless:
            return np.ones(len(panes), dtype=np.bool_)
        out = np.zeros(len(panes), dtype=np.bool_)
        for i in range(len(self)):
            shape = self.shape(i)
            out |= np.maximum(shape.entry(panes), self.first[i]) < shape.leave(panes)
        return out

    def open_at(self, bound: np.ndarray) -> np.ndarray:
        """The first window that each bound leaves open: a row for each bound, a column for each kind."""
        return np.maximum((bound[:, None] - self.base) // self.slide, self.first)

    def crossed(self, old: int, new: int) -> bool:
        """Does a bound that moves from `old` to `new` reach the end of some window?"""
        if abs(old) < -NEVER and abs(new) < -NEVER:
            return bool(((new - self.base) // self.slide > (old - self.base) // self.slide).any())
        return any(window.first_open(new) > window.first_open(old) for window, _ in self.windows)

    def needed(self, bound: np.ndarray) -> np.ndarray:
        """The first pane that an open window still reaches, for each bound."""
        known, inverse = np.unique(bound, return_inverse=True)
        first = self.open_at(known) * self.step + self.step - self.length + self.offset
        return first.min(axis=1)[inverse]

    def open_windows(self, low: int, high: int, bound: int) -> np.ndarray:
        """By kind: how many windows hold some pane from `low` to `high` and are not closed by `bound`."""
        leave = (high - self.offset + self.length) // self.step
        entry = (low - self.offset) // self.step
        if abs(bound) < -NEVER:
            entry = np.maximum(entry, (bound - self.base) // self.slide)
        elif bound > 0:
            return np.zeros(len(self), dtype=np.int64)
        return np.maximum(leave - entry, 0)


def first_window(window: Sliding, since: int | None) -> int:
    """The first window that is answered: the first there is, or the first of which all rows came at `since` or later.

    >>> first_window(Sliding(size=10, slide=5), 7), Sliding(size=10, slide=5).extent(3)
    (3, (10, 20))
    """
    first = NEVER if window.first is None else window.first
    if since is None:
        return first
    # Window w begins at base + (w + 1) · slide − size.
    return max(first, -((window.base - window.size - since) // window.slide) - 1)
