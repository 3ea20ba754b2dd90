"""Landmark windows: everything since the beginning, reported each slide.

The state is one partial a (group, first window not yet closed) and, once closed, one total a group. A group
once seen has a row in every later window, and its total never expires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.domain import END
from millstream.core.progress import Progress
from millstream.core.window import Landmark
from millstream.kernels.partials import KEY, Bundle
from millstream.kernels.sliding import GrowingShape
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.base import WindowOperator
from millstream.state.store import Segment


class GrowingWindows(WindowOperator):
    """`RANGE ALL`: windows without a beginning."""

    reducible = True

    def __init__(self, spec: Spec, window: Landmark) -> None:
        """Windows that end each slide."""
        super().__init__(spec)
        self.window = window

    def _take_ticks(self, rows: pa.Table, ticks: np.ndarray) -> list[pa.Table]:
        wid = (ticks - self.window.base) // self.window.slide
        if self.window.start is not None:
            wid = np.maximum(wid, 0)
        self.store.facts["last"] = max(self.store.facts.get("last", int(wid.max())), int(wid.max()))
        self.absorb(self.partials.lift(rows, wid))
        self.meter.accepted += rows.num_rows
        return []

    def receive(self, segments: Sequence[Segment], facts: Mapping[str, Any]) -> None:
        """The last window that has a row is the last of either's."""
        super().receive(segments, facts)
        if "last" in facts:
            self.store.facts["last"] = max(self.store.facts.get("last", facts["last"]), facts["last"])

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        if not self.store.segments or not self.moved(before, now):
            return []
        merged = self.partials.merge(self.bundles())
        # What was closed has been raised to the first window not yet reported, so a group's least key is that.
        low = np.full(merged.groups.num_rows, END)
        np.minimum.at(low, merged.group, merged.key)
        high = self._first_open(self.bounds(now, merged.groups), int(merged.key.min()))
        if (high <= low).all():
            self._keep(merged.bundle)
            return []
        answers = self.partials.slide(merged, GrowingShape(), low, high)
        self.meter.punctuations += 1
        # What is closed counts from the first open window on: one partial per group.
        raised = Bundle(
            _raise(merged.bundle.fixed, high[merged.group]),
            {i: _raise(bag, high[self.partials.group_of(merged, bag)]) for i, bag in merged.bundle.bags.items()},
        )
        self._keep(self.partials.merge([raised]).bundle)
        end = self.window.base + (answers.window + 1) * self.window.slide
        return [self.spec.table(answers, merged.groups, None, end)]

    def _first_open(self, bounds: np.ndarray, least: int) -> np.ndarray:
        """The first open window of each group. The end of the stream closes no window after the last row's."""
        safe = np.clip(bounds, self.window.base - 2**62, self.window.base + 2**62)
        opened = (safe - self.window.base) // self.window.slide
        opened = np.where(bounds == END, self.store.facts["last"] + 1, opened)
        return np.maximum(opened, least)

    def measure(self) -> None:
        """One window is open for each slide from the first open to the last seen."""
        bound = self.progress[0].bound(self.spec.attribute)
        last = self.store.facts.get("last")
        lows = [segment.low for segment in self.store.segments]
        opened = max([self.window.first_open(bound), *(min(lows, default=0),)])
        self.meter.open_windows = 0 if last is None else max(0, last + 1 - opened)


def _raise(table: pa.Table, least: np.ndarray) -> pa.Table:
    key = np.maximum(table[KEY].to_numpy(), least)
    return table.set_column(table.schema.get_field_index(KEY), KEY, pa.array(key))
