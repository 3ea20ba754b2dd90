"""Slide-by-tuple: a window ends at each row (or each n-th) and reaches back a range.

Which windows there are is known only when punctuation has fixed the rows below it. Two strategies, the
same answers: `OnePass` keeps bins and no rows, `Listed` keeps the values and works for every aggregate.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.core.domain import END
from millstream.core.progress import Progress
from millstream.core.window import SlideByTuple
from millstream.kernels.partials import Lowered
from millstream.kernels.sliding import Listed
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.base import WindowOperator
from millstream.state.store import Segment

_ENDS = "ends"
_VALUE = "value"


class RowEnds(WindowOperator):
    """What both strategies share: the values at which windows will end."""

    def __init__(self, spec: Spec, window: SlideByTuple) -> None:
        """Windows of one size, at rows."""
        super().__init__(spec)
        self.window = window

    def _take_ticks(self, rows: pa.Table, ticks: np.ndarray) -> list[pa.Table]:
        self._note_ends(ticks)
        self._note_rows(rows, ticks)
        self.meter.accepted += rows.num_rows
        return []

    def _note_rows(self, rows: pa.Table, ticks: np.ndarray) -> None:
        raise NotImplementedError

    def _answers(self, ends: np.ndarray, bound: int) -> tuple[Lowered, pa.Table] | None:
        """The answers of the windows that end at `ends`, all below `bound`; window is an index into `ends`."""
        raise NotImplementedError

    def _note_ends(self, ticks: np.ndarray) -> None:
        """Remember the values that may end a window: all for rank, each n-th to arrive otherwise."""
        facts, every = self.store.facts, self.window.every
        if self.window.by == "arrival":
            seen = facts.get("arrived", 0)
            facts["arrived"] = seen + len(ticks)
            ticks = ticks[(every - 1 - seen) % every :: every]
        if len(ticks):
            table = pa.table({_VALUE: ticks})
            self.store.add(Segment({_ENDS: table}, int(ticks.min()), int(ticks.max())))

    def _take_ends(self, bound: int) -> np.ndarray:
        """The windows that `bound` closes, ascending; their ends are forgotten."""
        held = [s.tables[_ENDS][_VALUE].to_numpy() for s in self.store.segments if _ENDS in s.tables]
        values = np.sort(np.concatenate(held)) if held else np.empty(0, dtype=np.int64)
        closed = values if bound == END else values[: np.searchsorted(values, bound)]
        left = values[len(closed) :]
        others = [segment for segment in self.store.segments if _ENDS not in segment.tables]
        kept = [Segment({_ENDS: pa.table({_VALUE: left})}, int(left[0]), int(left[-1]))] if len(left) else []
        self.store.replace([*others, *kept])
        if self.window.by == "rank":
            base = self.store.facts.get("ranked", 0)
            self.store.facts["ranked"] = base + len(closed)
            rank = base + 1 + np.arange(len(closed))
            closed = closed[rank % self.window.every == 0]
        return np.unique(closed)

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        name = self.spec.attribute
        # Windows are made of everybody's rows, so only a bound for the whole stream closes them.
        bound = now.bound(name)
        if bound <= before.bound(name):
            return []
        ends = self._take_ends(bound)
        found = self._answers(ends, bound)
        if found is None:
            return []
        answers, groups = found
        at = ends[answers.window]
        self.meter.punctuations += 1
        named = Lowered(answers.group, at, answers.rows, answers.columns)
        return [self.spec.table(named, groups, at - self.window.size, at)]

    def measure(self) -> None:
        """Count the values that may end a window and have not."""
        self.meter.open_windows = sum(s.tables[_ENDS].num_rows for s in self.store.segments if _ENDS in s.tables)


class ListedWindows(RowEnds):
    """Keeps a partial a (group, value), for a range behind the bound. Any aggregate."""

    def _note_rows(self, rows: pa.Table, ticks: np.ndarray) -> None:
        self.absorb(self.partials.lift(rows, ticks))

    def _mergeable(self) -> bool:
        return False

    def _answers(self, ends: np.ndarray, bound: int) -> tuple[Lowered, pa.Table] | None:
        bundles = self.bundles()
        if not bundles:
            return None
        merged = self.partials.merge(bundles)
        low = np.zeros(merged.groups.num_rows, dtype=np.int64)
        answers = self.partials.slide(merged, Listed(ends, self.window.size), low, low + len(ends))
        # A window to come ends at `bound` or later, and reaches back less than a range.
        keep = merged.bundle.keep(END if bound == END else bound - self.window.size + 1)
        others = [segment for segment in self.store.segments if "fixed" not in segment.tables]
        self._keep(keep, *others)
        return answers, merged.groups
