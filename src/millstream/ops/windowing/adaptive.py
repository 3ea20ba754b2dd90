"""AdaptWID: for each group whichever costs less memory, partials (eager) or the rows themselves (lazy).

Every group starts lazy. One whose open windows come to hold more rows than the memory model allows turns
eager: its rows become partials. One that thins out turns lazy again; partials it still has stay until their
windows close, and results merge both. The two thresholds lie apart, so that a group does not go to and fro.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM, END
from millstream.core.progress import Progress
from millstream.core.window import Sliding
from millstream.kernels.aggregates.count import Count
from millstream.kernels.partials import KEY, ROWS, Bound, Bundle
from millstream.kernels.sliding import expand
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.base import as_segment
from millstream.ops.windowing.wid import Wid
from millstream.state.store import Segment

_LAZY = "rows"
_THINNED = "thinned"
_LAST = "__ms_last"


def threshold(*, partial: float, row: float, duration: float, slide: float, lagging: float = 0.0) -> float:
    """The number of rows in a group's open windows above which partials are the smaller state.

    `duration` is how long a window stays open, from its first row to the punctuation that covers it;
    `lagging` is the rows of later sources that the earliest is ahead of.

    >>> threshold(partial=20, row=40, duration=10, slide=1)
    5.0
    >>> threshold(partial=20, row=40, duration=10, slide=1, lagging=2)
    7.0
    """
    return partial * duration / (row * slide) + lagging


class Adaptive(Wid):
    """Sliding windows, eager or lazy by group."""

    reducible = False  # whether a row becomes a partial depends on what is there already

    def __init__(self, spec: Spec, window: Sliding, hysteresis: float = 0.25) -> None:
        """A group turns lazy when its rows fall `hysteresis` below what made it eager."""
        # A row leaves its group's volume when its last window closes: with partials, that must be counted.
        # In tumbling windows the first is the last, and the number of rows says it already.
        self.single = window.size == window.slide
        last = () if self.single else (Bound(_LAST, Count(), (), _LAST),)
        super().__init__(dataclasses.replace(spec, aggregates=(*spec.aggregates, *last)), window)
        self.visible = spec
        self.hysteresis = hysteresis
        self.switches = {"eager": 0, "lazy": 0}

    def _take_ticks(self, rows: pa.Table, ticks: np.ndarray) -> list[pa.Table]:
        low, high = self.bounds_of(ticks)
        inside = high > low
        self.meter.outside += int(len(inside) - inside.sum())
        kept = rows.select(self.visible.columns).append_column(KEY, pa.array(ticks)).filter(pa.array(inside))
        if kept.num_rows:
            self._note(ticks, low[inside], high[inside])
            self._reshape(pa.concat_tables([*self._tables(_LAZY), kept]).combine_chunks(), self._eager())
            self.meter.accepted += kept.num_rows
        return []

    def _reshape(self, lazy: pa.Table, eager: Bundle | None, *, thin: bool = False) -> None:
        """Give every group the form that its volume asks for; groups thin out only when windows close."""
        fixed = lazy.slice(0, 0) if eager is None else eager.fixed
        row_group, cell_group, groups = self.partials.align(lazy, fixed)
        volume = np.bincount(row_group, minlength=groups.num_rows)
        was_eager = np.zeros(groups.num_rows, dtype=np.bool_)
        if eager is not None:
            np.add.at(volume, cell_group, eager.fixed[self._leaving].to_numpy())
            was_eager[cell_group] = True
            was_eager[self._thinned(groups)] = False
        limit = self._limit(lazy, eager)
        floor = limit * (1 - self.hysteresis) if thin else 0
        is_eager = np.where(was_eager, volume >= floor, volume > limit)
        self.switches["eager"] += int((is_eager & ~was_eager).sum())
        self.switches["lazy"] += int((was_eager & ~is_eager).sum())
        moving = is_eager[row_group]
        if moving.any():
            lifted = self._lift(lazy.filter(pa.array(moving)), None)
            bundles = [lifted] if eager is None else [eager, lifted]
            eager = self.partials.merge([b for b in bundles if b.fixed.num_rows]).bundle
        has_partials = np.zeros(groups.num_rows, dtype=np.bool_)
        has_partials[cell_group] = True
        thinned = groups.filter(pa.array(has_partials & ~is_eager))
        self._save(lazy.filter(pa.array(~moving)).combine_chunks(), eager, thinned)

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        if not self.store.segments or not self.moved(before, now):
            return []
        lazy = pa.concat_tables(self._tables(_LAZY)) if self._tables(_LAZY) else None
        eager = self._eager()
        leaving: list[Bundle] = []
        if lazy is not None:
            leaving.append(self._lift(lazy, now, before))
            lazy = lazy.filter(pa.array(self._last_open(lazy, now))).combine_chunks()
        if eager is not None:
            merged = self.partials.merge([eager])
            done = self.closed(merged, self.bounds(now, merged.groups))
            out_bundle, eager = self.split(merged, done)
            leaving.append(out_bundle)
            eager = eager if eager.fixed.num_rows else None
        leaving = [bundle for bundle in leaving if bundle.fixed.num_rows]
        if not leaving:
            return []
        self._refresh(now)
        self._reshape(self._no_rows() if lazy is None else lazy, eager, thin=True)
        self._forget_opened()
        out = self.partials.merge(leaving)
        answers = self.partials.lower(out)
        visible = dataclasses.replace(answers, columns=answers.columns[: len(self.visible.aggregates)])
        self.meter.punctuations += 1
        end = self.window.base + (answers.window + 1) * self.window.slide
        return [self.visible.table(visible, out.groups, end - self.window.size, end)]

    def _lift(self, rows: pa.Table, now: Progress | None, before: Progress | None = None) -> Bundle:
        """Partials of kept rows for windows still open at `before` (now: closed by it; None: all open ones)."""
        group, _, groups = self.partials.align(rows, rows.slice(0, 0))
        low, high = self.bounds_of(rows[KEY].to_numpy())
        last = high - 1
        low = np.maximum(low, self._opened(before or self.progress[0], groups)[group])
        if now is not None:
            high = np.minimum(high, self._opened(now, groups)[group])
        row, wid = expand(np.arange(len(low)), low, high)
        taken = rows.take(pa.array(row))
        if not self.single:
            taken = taken.append_column(_LAST, pa.array(wid == last[row]))
        return self.partials.lift(taken, wid)

    def _opened(self, progress: Progress, groups: pa.Table) -> np.ndarray:
        """The first open window of each group."""
        bounds = self.bounds(progress, groups)
        safe = np.clip(bounds, self.window.base - 2**62, self.window.base + 2**62)
        return (safe - self.window.base) // self.window.slide

    def _last_open(self, rows: pa.Table, now: Progress) -> np.ndarray:
        """Which kept rows an open window still holds."""
        group, _, groups = self.partials.align(rows, rows.slice(0, 0))
        _, high = self.bounds_of(rows[KEY].to_numpy())
        return high > self._opened(now, groups)[group]

    def _limit(self, lazy: pa.Table, eager: Bundle | None) -> float:
        """The memory model's threshold, with the sizes as they are."""
        row = lazy.nbytes / lazy.num_rows if lazy.num_rows else 8.0 * lazy.num_columns
        partial = eager.nbytes / eager.fixed.num_rows if eager is not None else self._partial_bytes(lazy)
        duration = self.store.facts.get("duration", self.window.size)
        return threshold(partial=partial, row=row, duration=duration, slide=self.window.slide)

    def _partial_bytes(self, lazy: pa.Table) -> float:
        sample = self._lift(lazy.slice(0, 64), None)
        return sample.nbytes / max(1, sample.fixed.num_rows)

    def _note(self, ticks: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Remember how far the stream has come, and when each window got its first row."""
        facts = self.store.facts
        facts["high"] = max(facts.get("high", BOTTOM), int(ticks.max()))
        bound = self.progress[0].bound(self.spec.attribute)
        opened = facts.setdefault("opened", {})
        # Each window once, and none of those between rows that lie far apart.
        order = np.argsort(low, kind="stable")
        low, high = low[order], high[order]
        begin = np.maximum(low, np.append(low[:1], np.maximum.accumulate(high)[:-1]))
        for wid in expand(order, begin, high)[1].tolist():
            opened.setdefault(wid, max(bound, int(ticks.min())))

    def _refresh(self, now: Progress) -> None:
        """How long windows stay open, from those that just closed."""
        facts, bound = self.store.facts, now.bound(self.spec.attribute)
        if bound in (BOTTOM, END):
            return
        first = self.window.first_open(bound)
        closing = [lwm for wid, lwm in facts["opened"].items() if wid < first]
        facts["opened"] = {wid: lwm for wid, lwm in facts["opened"].items() if wid >= first}
        if closing:
            facts["duration"] = max(self.window.slide, facts["high"] - closing[-1])

    def _forget_opened(self) -> None:
        """Windows below everything that is kept are over for every group, whichever punctuation closed them."""
        lows = [as_wid for segment in self.store.segments if (as_wid := self._least_window(segment)) is not None]
        least = min(lows, default=None)
        opened = self.store.facts.get("opened", {})
        self.store.facts["opened"] = {w: lwm for w, lwm in opened.items() if least is not None and w >= least}

    def _least_window(self, segment: Segment) -> int | None:
        """The first window that a segment's rows or partials are in."""
        if "fixed" in segment.tables:
            return segment.low
        return int(self.bounds_of(np.array([segment.low]))[0][0]) if _LAZY in segment.tables else None

    @property
    def _leaving(self) -> str:
        """The column that counts the rows for which a window is the last."""
        return ROWS if self.single else f"__ms_a{len(self.spec.aggregates) - 1}.0"

    def _tables(self, name: str) -> list[pa.Table]:
        return [segment.tables[name] for segment in self.store.segments if name in segment.tables]

    def _eager(self) -> Bundle | None:
        bundles = self.bundles()
        return bundles[0] if bundles else None

    def _thinned(self, groups: pa.Table) -> np.ndarray:
        """Which groups have partials left over from when they were eager."""
        tables = self._tables(_THINNED)
        mask = np.zeros(groups.num_rows, dtype=np.bool_)
        if tables:
            known, some, _ = self.partials.align(groups, tables[0])
            mask = np.isin(known, some)
        return mask

    def _no_rows(self) -> pa.Table:
        """No kept rows, with the columns that kept rows have."""
        fields = [self.visible.row_schema.field(name) for name in self.visible.columns]
        return pa.schema([*fields, pa.field(KEY, pa.int64())]).empty_table()

    def _save(self, lazy: pa.Table, eager: Bundle | None, thinned: pa.Table) -> None:
        segments: list[Segment] = []
        if lazy.num_rows:
            ends = pc.min_max(lazy[KEY])
            segments.append(Segment({_LAZY: lazy}, ends["min"].as_py(), ends["max"].as_py()))
        if eager is not None:
            segments.append(as_segment(eager))
        segments.append(Segment({_THINNED: thinned}, 0, 0))
        self.store.replace(segments)

    def measure(self) -> None:
        """Windows that have had a row and are not closed."""
        self.meter.open_windows = len(self.store.facts.get("opened", {})) if self.store.segments else 0
