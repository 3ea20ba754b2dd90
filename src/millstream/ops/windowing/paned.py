"""Panes: rows are reduced once, to the pane they fall in; windows are combined from panes as they close.

The state is one partial a (group, pane), whatever the ratio of range to slide. Several windows can share
the panes: the pane is then the greatest common divisor of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.core.window import Sliding, common_pane
from millstream.kernels.partials import KEY, Merged
from millstream.kernels.sliding import PanedShape, expand
from millstream.ops.operator import says_of_groups
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.base import WindowOperator, clip, select

_EMPTY = 4
"""Windows for each pane that has rows, beyond which they are mostly empty."""
GroupBounds = Callable[[pa.Table], np.ndarray]
"""The bound of each group, for a table of groups."""


class Paned(WindowOperator):
    """Sliding windows over one attribute, by panes."""

    reducible = True

    def __init__(self, spec: Spec, windows: Sequence[Sliding]) -> None:
        """All `windows` have the same start."""
        super().__init__(spec)
        self.windows = tuple(windows)
        self.base = windows[0].base
        self.first = windows[0].first
        self.pane = common_pane(windows)
        self.shapes = tuple(PanedShape(w.size // self.pane, w.slide // self.pane) for w in windows)

    def _take_ticks(self, rows: pa.Table, ticks: np.ndarray) -> list[pa.Table]:
        panes = (ticks - self.base) // self.pane
        inside = self.inside(panes)
        if not inside.all():
            self.meter.outside += int(len(inside) - inside.sum())
            rows, panes = rows.filter(pa.array(inside)), panes[inside]
        if len(panes):
            self.absorb(self.partials.lift(rows, panes))
            self.meter.accepted += rows.num_rows
        return []

    def inside(self, panes: np.ndarray) -> np.ndarray:
        """Which panes belong to some window."""
        if self.first is None and any(shape.length >= shape.step for shape in self.shapes):
            return np.ones(len(panes), dtype=np.bool_)  # no gaps and no beginning
        inside = np.zeros(len(panes), dtype=np.bool_)
        for shape in self.shapes:
            entry = shape.entry(panes)
            if self.first is not None:
                entry = np.maximum(entry, self.first)
            inside |= entry < shape.leave(panes)
        return inside

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        if not self.store.segments or not self._crosses(before, now):
            return []
        return self._close(lambda groups: self.bounds(before, groups), lambda groups: self.bounds(now, groups))

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Groups that nobody asks for; not where totals are carried on that have their panes in them."""
        if type(self) is Paned:
            self.forget(ignored)

    def reaches(self, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The extent of a pane."""
        low = self.base + key * self.pane
        return low, low + self.pane

    def _close(self, before: GroupBounds, now: GroupBounds) -> list[pa.Table]:
        """Answer the windows that end between two bounds, and forget the panes no open window reaches."""
        merged = self._merged()
        ends = self._ends(merged)
        was, bound = clip(before(merged.groups), *ends), clip(now(merged.groups), *ends)
        together = self._together(merged, was, bound)
        out = [together] if together is not None else [
            self._answer(merged, window, shape, was, bound)
            for window, shape in zip(self.windows, self.shapes, strict=True)
        ]  # fmt: skip
        self._forget(merged, bound)
        self.meter.punctuations += any(table.num_rows for table in out)
        return out

    def _crosses(self, before: Progress, now: Progress) -> bool:
        """Does the new bound reach the end of some window? Anything less is of no use here."""
        if now.ended or says_of_groups(now, self.spec.attribute, self.spec.groups):
            return True
        old, new = before.bound(self.spec.attribute), now.bound(self.spec.attribute)
        return any(window.first_open(new) > window.first_open(old) for window in self.windows)

    def _merged(self) -> Merged:
        return self.partials.merge(self.bundles())

    def _ends(self, merged: Merged) -> tuple[int, int]:
        """The least and greatest bounds that can make a difference to these panes."""
        longest = max(window.size + window.slide for window in self.windows)
        low = self.base + int(merged.key.min()) * self.pane
        return low, self.base + (int(merged.key.max()) + 1) * self.pane + longest

    def _answer(
        self, merged: Merged, window: Sliding, shape: PanedShape, was: np.ndarray, bound: np.ndarray
    ) -> pa.Table:
        low = (was - window.base) // window.slide
        if window.first is not None:
            low = np.maximum(low, window.first)
        answers = self.partials.slide(merged, shape, low, (bound - window.base) // window.slide)
        self.meter.combines += len(merged.key) + 2 * len(answers.window)
        end = window.base + (answers.window + 1) * window.slide
        return self.spec.table(answers, merged.groups, end - window.size, end)

    def _together(self, merged: Merged, was: np.ndarray, bound: np.ndarray) -> pa.Table | None:
        """The answers of many windows at once: what each costs is its own answers, not a look at every pane.

        None where looking at every pane is better: for one window, for aggregates of every value, and where so many
        windows have ended that most must be empty.
        """
        if len(self.windows) == 1 or not self.partials.bounded:
            return None
        slides = np.array([window.slide for window in self.windows])
        low, high = (was[:, None] - self.base) // slides, (bound[:, None] - self.base) // slides
        if self.first is not None:
            low = np.maximum(low, self.first)
        if np.maximum(high - low, 0).sum() > _EMPTY * (len(merged.key) + len(self.windows)):
            return None
        cell, wid = expand(np.arange(low.size), low.ravel(), high.ravel())
        if not len(cell):
            return self.spec.schema.empty_table()
        group, which = np.divmod(cell, len(self.windows))
        steps, lengths = (np.array([getattr(s, name) for s in self.shapes]) for name in ("step", "length"))
        last = (wid + 1) * steps[which]
        answers, there = self.partials.span(merged, group, wid, last - lengths[which], last)
        self.meter.combines += len(merged.key) + 2 * len(there)
        end = self.base + (wid[there] + 1) * slides[which[there]]
        sizes = np.array([window.size for window in self.windows])
        return self.spec.table(answers, merged.groups, end - sizes[which[there]], end)

    def _needed(self, bound: np.ndarray) -> np.ndarray:
        """The first pane of each group that an open window still reaches."""
        needed = [
            ((b - w.base) // w.slide) * s.step + s.step - s.length
            for b, w, s in ((bound, w, s) for w, s in zip(self.windows, self.shapes, strict=True))
        ]
        return np.minimum.reduce(needed)

    def _forget(self, merged: Merged, bound: np.ndarray) -> None:
        needed = self._needed(bound)
        bag_masks = {
            i: bag[KEY].to_numpy() >= needed[self.partials.group_of(merged, bag)]
            for i, bag in merged.bundle.bags.items()
        }
        self._keep(select(merged, merged.key >= needed[merged.group], bag_masks))

    def measure(self) -> None:
        """Count the windows that hold rows and are not closed."""
        spans = [(s.low, s.high) for s in self.store.segments if "carried" not in s.tables]
        if not spans:
            self.meter.open_windows = 0
            return
        low, high = (np.array([f(x)]) for f, x in ((min, [s[0] for s in spans]), (max, [s[1] for s in spans])))
        bound = self.progress[0].bound(self.spec.attribute)
        self.meter.open_windows = sum(
            max(0, int(shape.leave(high)[0]) - max(int(shape.entry(low)[0]), window.first_open(bound)))
            for window, shape in zip(self.windows, self.shapes, strict=True)
        )
