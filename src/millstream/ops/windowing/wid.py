"""WID: every row updates every window it is in; a closed window is read off and deleted.

The state is one partial a (group, open window). A row of a window ratio of n costs n updates, which is
right when n is one (tumbling) and wasteful when it is sixty.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.core.window import Sliding
from millstream.kernels.partials import KEY, Bundle, Lowered, Merged
from millstream.kernels.sliding import expand
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.base import WindowOperator, select


class ByWindow(WindowOperator):
    """State by window id: lowered, emitted and deleted as windows close."""

    reducible = True

    def closed(self, merged: Merged, bounds: np.ndarray) -> np.ndarray:
        """Which cells are closed by the bounds, one per group."""
        raise NotImplementedError

    def results(self, answers: Lowered, groups: pa.Table) -> pa.Table:
        """Closed cells as rows of the output."""
        raise NotImplementedError

    def merged(self) -> Merged:
        """All that is kept, each cell once."""
        return self.partials.merge(self.bundles())

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        if not self.store.segments or not self.moved(before, now):
            return []
        merged = self.merged()
        bounds = self.bounds(now, merged.groups)
        done = self.closed(merged, bounds)
        if not done.any():
            self._keep(merged.bundle)
            return []
        leaving, staying = self.split(merged, done)
        self._keep(staying)
        out = self.partials.merge([leaving])
        self.meter.punctuations += 1
        return [self.results(self.partials.lower(out), out.groups)]

    def split(self, merged: Merged, done: np.ndarray) -> tuple[Bundle, Bundle]:
        """The cells that are done, and the others."""
        of_bag = {i: done[self.partials.cells_of(merged, bag)] for i, bag in merged.bundle.bags.items()}
        left = {i: ~mask for i, mask in of_bag.items()}
        return select(merged, done, of_bag), select(merged, ~done, left)

    def measure(self) -> None:
        """Count the windows that hold rows and are not closed."""
        keys = [segment.tables["fixed"][KEY] for segment in self.store.segments if "fixed" in segment.tables]
        self.meter.open_windows = len(pa.chunked_array(keys).unique()) if keys else 0


class Wid(ByWindow):
    """Sliding windows, one partial per window."""

    def __init__(self, spec: Spec, window: Sliding) -> None:
        """Windows of one size and slide."""
        super().__init__(spec)
        self.window = window

    def bounds_of(self, ticks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The half-open range of window ids of each tick."""
        offset = ticks - self.window.base
        low, high = offset // self.window.slide, (offset + self.window.size) // self.window.slide
        if self.window.first is not None:
            low = np.maximum(low, self.window.first)
        return low, high

    def _take_ticks(self, rows: pa.Table, ticks: np.ndarray) -> list[pa.Table]:
        low, high = self.bounds_of(ticks)
        needed = rows.select(self.spec.columns or [self.spec.attribute])
        if self.window.size == self.window.slide and self.window.first is None:
            row, wid = None, low  # tumbling: each row is in one window
        else:
            self.meter.outside += int((low >= high).sum())
            row, wid = expand(np.arange(len(ticks)), low, high)
        self.meter.combines += len(wid)
        if len(wid):
            self.absorb(self.partials.lift(needed if row is None else needed.take(pa.array(row)), wid))
            self.meter.accepted += needed.num_rows if row is None else 1 + int(np.count_nonzero(np.diff(row)))
        return []

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Groups and windows that nobody asks for; a subclass may keep them in other forms, too."""
        if type(self) is Wid:
            self.forget(ignored)

    def reaches(self, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The extent of a window."""
        end = self.window.base + (key + 1) * self.window.slide
        return end - self.window.size, end

    def closed(self, merged: Merged, bounds: np.ndarray) -> np.ndarray:
        """Windows below the first that the bound leaves open."""
        # −∞ and ∞ less the base would wrap: bring them within reach first.
        safe = np.clip(bounds, self.window.base - 2**62, self.window.base + 2**62)
        return merged.key < ((safe - self.window.base) // self.window.slide)[merged.group]

    def results(self, answers: Lowered, groups: pa.Table) -> pa.Table:
        """With the extent of each window."""
        end = self.window.base + (answers.window + 1) * self.window.slide
        return self.spec.table(answers, groups, end - self.window.size, end)
