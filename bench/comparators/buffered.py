"""Buffered aggregation: the rows themselves are kept in order, and a window is computed when it closes.

The first row beyond a window closes it, so the input must be ordered. Plain: each window is computed anew from its
rows. Differential: one running partial, to which rows are added as windows reach them and from which they are
subtracted as windows leave them; only for functions that can subtract.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from comparators.comparator import END, Comparator, Held, values

Function = Callable[[np.ndarray], float]

FUNCTIONS: dict[str, Function] = {"count": len, "sum": np.sum, "max": np.max, "min": np.min, "average": np.mean}
DIFFERENTIAL = ("count", "sum", "average")


class Buffered(Comparator):
    """`function` of `value` over windows [(w+1)·slide−size, (w+1)·slide) of `attribute`, in order."""

    def __init__(self, attribute: str, value: str, function: str, *, size: int, slide: int) -> None:
        """An empty buffer."""
        super().__init__()
        self.attribute, self.value, self.function = attribute, value, function
        self.size, self.slide = size, slide
        self._at = np.zeros(0, dtype=np.int64)
        self._values = np.zeros(0, dtype=np.int64)
        self._next: int | None = None

    def held(self) -> Held:
        """Rows that an open window may need."""
        return Held(len(self._at), self._at.nbytes + self._values.nbytes)

    def _take(self, port: int, rows: pa.Table) -> pa.Table:
        at = values(rows, self.attribute)
        if np.any(at[1:] < at[:-1]) or (len(at) and len(self._at) and at[0] < self._at[-1]):
            raise ValueError(f"the input is not ordered by {self.attribute}: sort it first")
        if self._next is None and len(at):
            self._next = int(at[0]) // self.slide
        self._at = np.concatenate([self._at, at])
        self._values = np.concatenate([self._values, values(rows, self.value)])
        return self._close(int(at[-1]) if len(at) else -END)

    def _advance(self, port: int, bound: int) -> pa.Table:
        """Nothing below the bound is left, as if a row had shown it."""
        newest = int(self._at[-1]) if len(self._at) else -END
        return self._close(min(bound, newest + self.size + self.slide))

    def _close(self, reached: int) -> pa.Table:
        """Every window that ends by `reached` and holds a row leaves; rows that no open window reaches go."""
        if self._next is None or reached // self.slide <= self._next:
            return self._answer(np.zeros(0, dtype=np.int64), [])
        wids = np.arange(self._next, reached // self.slide)
        ends = (wids + 1) * self.slide
        low, high = np.searchsorted(self._at, ends - self.size), np.searchsorted(self._at, ends)
        there = high > low
        results = self._compute(low[there].tolist(), high[there].tolist())
        self._next = reached // self.slide
        gone = int(np.searchsorted(self._at, (self._next + 1) * self.slide - self.size))
        self._forget(gone)
        return self._answer(wids[there], results)

    def _compute(self, low: list[int], high: list[int]) -> list[float]:
        function, kept = FUNCTIONS[self.function], self._values
        return [function(kept[a:b]) for a, b in zip(low, high, strict=True)]

    def _forget(self, rows: int) -> None:
        self._at, self._values = self._at[rows:], self._values[rows:]

    def _answer(self, wids: np.ndarray, results: list[float]) -> pa.Table:
        return pa.table({"window_id": wids, "result": np.array(results, dtype=np.float64)})


class DifferentialBuffered(Buffered):
    """The same, with one partial to which rows are added and from which they are subtracted."""

    def __init__(self, attribute: str, value: str, function: str, *, size: int, slide: int) -> None:
        """Refuse a function that cannot subtract."""
        if function not in DIFFERENTIAL:
            raise ValueError(f"{function} cannot subtract: one of {', '.join(DIFFERENTIAL)} can")
        super().__init__(attribute, value, function, size=size, slide=slide)
        self._low = self._high = 0
        self._sum = 0

    def _compute(self, low: list[int], high: list[int]) -> list[float]:
        out: list[float] = []
        for a, b in zip(low, high, strict=True):
            if a >= self._high:  # nothing in common with the last window
                self._low, self._high, self._sum = a, a, 0
            self._sum += int(self._values[self._high : b].sum()) - int(self._values[self._low : a].sum())
            self._low, self._high = a, b
            n = b - a
            out.append({"count": n, "sum": self._sum, "average": self._sum / n}[self.function])
        return out

    def _forget(self, rows: int) -> None:
        # Rows that go before a window has left them are below every later window: subtract them while they are here.
        gone = min(rows, self._high)
        if gone > self._low:
            self._sum -= int(self._values[self._low : gone].sum())
            self._low = gone
        super()._forget(rows)
        self._low, self._high = max(0, self._low - rows), max(0, self._high - rows)
