"""User-defined windows: the user says which windows hold a value, and what each window covers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import END
from millstream.core.local_days import LocalDays
from millstream.core.progress import Progress
from millstream.core.window import WHOLE, UserDefined
from millstream.kernels.partials import Lowered, Merged, Partials
from millstream.kernels.sliding import expand
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.wid import ByWindow

_NEVER = "__never"
"""A condition that holds of no row."""


class CustomWindows(ByWindow):
    """One partial a (group, open window); a window closes when the bound reaches the end of its extent."""

    def __init__(self, spec: Spec, window: UserDefined) -> None:
        """Windows by two functions."""
        super().__init__(spec)
        self.window = window
        self.answers_nothing = window == WHOLE and not spec.groups
        """As in SQL, an aggregate of all rows has an answer even if there were none."""

    def _take_ticks(self, rows: pa.Table, ticks: np.ndarray) -> list[pa.Table]:
        maker = getattr(self.window.extent_of, "__self__", None)
        if isinstance(maker, LocalDays):
            return self._take_days(rows, ticks, maker)
        values, inverse = np.unique(ticks, return_inverse=True)
        wids: list[np.ndarray] = [np.array(self.window.wids(int(v)), dtype=np.int64) for v in values]
        length = np.array([len(one) for one in wids])[inverse]
        self.meter.outside += int((length == 0).sum())
        row = np.repeat(np.arange(len(ticks)), length)
        if len(row):
            each: list[np.ndarray] = [wids[int(i)] for i in inverse]
            self.absorb(self.partials.lift(rows.take(pa.array(row)), np.concatenate(each)))
            self.meter.accepted += len(np.unique(row))
        return []

    def _take_days(self, rows: pa.Table, ticks: np.ndarray, windows: LocalDays) -> list[pa.Table]:
        """The same for local days, by columns: every microsecond would be asked for by itself."""
        seconds = pa.array(ticks // windows.second).view(pa.timestamp("s", windows.zone))
        day = pc.local_timestamp(seconds).view(pa.int64()).to_numpy() // 86400
        row, wid = expand(np.arange(len(ticks)), day // windows.every, (day + windows.days) // windows.every)
        inside = len(np.unique(row))
        if inside:
            self.absorb(self.partials.lift(rows.take(pa.array(row)), wid))
            self.meter.accepted += inside
        self.meter.outside += len(ticks) - inside
        return []

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        if self.answers_nothing and now.ended and not before.ended and not self.store.segments:
            self.meter.punctuations += 1
            return [self._of_nothing()]
        return super()._advance(port, before, now)

    def _of_nothing(self) -> pa.Table:
        """The answer to no rows: what each aggregate says of a row that its filter leaves out."""
        row = pa.table({field.name: pa.nulls(1, field.type) for field in self.spec.row_schema})
        row = row.append_column(_NEVER, pa.array([False]))
        partials = Partials([replace(one, filter=_NEVER) for one in self.spec.aggregates], ())
        merged = partials.merge([partials.lift(row, np.zeros(1, dtype=np.int64))])
        return self.results(partials.lower(merged), merged.groups)

    def _extents(self, wids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values, inverse = np.unique(wids, return_inverse=True)
        extents = np.array([self.window.extent(int(wid)) for wid in values], dtype=np.int64).reshape(-1, 2)
        return extents[inverse, 0], extents[inverse, 1]

    def closed(self, merged: Merged, bounds: np.ndarray) -> np.ndarray:
        """Windows whose extent lies below the bound."""
        limit = bounds[merged.group]
        return (limit == END) | (self._extents(merged.key)[1] <= limit)

    def results(self, answers: Lowered, groups: pa.Table) -> pa.Table:
        """With the user's own extents."""
        start, end = self._extents(answers.window)
        return self.spec.table(answers, groups, start, end)
