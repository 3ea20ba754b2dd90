"""Smoothed: the results of closed windows are held back, and leave a few at a time.

A window operator computes the results as ever; what closes becomes part of this operator's state, and leaves by the
rules of a `Flush`. Readers are told no more than what is out: a promise about a window waits until no row of it, nor of
an earlier one, is held (see `behind`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.domain import BOTTOM, END
from millstream.core.feedback import Records
from millstream.core.flush import Flush
from millstream.core.progress import Progress
from millstream.core.window import Landmark, Sliding
from millstream.kernels.group import encode
from millstream.kernels.ticks import to_ticks
from millstream.ops.operator import Operator, group_bounds, says_of_groups
from millstream.ops.turn import Turn
from millstream.ops.windowing.base import WindowOperator
from millstream.ops.windowing.behind import behind
from millstream.ops.windowing.several import Several
from millstream.state.store import Segment, Store

HELD = "held"
"""The table of a segment that has rows held back; its `low` is the least end of a window among them."""
# A host writes the segments that have changed: held rows are cut so that letting some go changes few.
_CUT = 16_384
_MANY = 32


class Smoothed(Operator):
    """A window operator whose results leave as `flush` says; the bag of results is the same."""

    holds_back = True

    def __init__(self, inner: WindowOperator | Several, flush: Flush, windows: Sequence[Sliding | Landmark]) -> None:
        """`windows` are those of `inner`."""
        super().__init__()
        self.inner = inner
        self.flush = flush
        self.spec = inner.parts[0].spec if isinstance(inner, Several) else inner.spec
        self.reducible = inner.reducible
        self.in_order = inner.in_order
        self.reach = flush.windows * max(window.slide for window in windows)
        """The most ticks by which the bound passes the end of a window whose rows are held."""
        self._held = Store()
        self._going: list[pa.Table] = []
        slides = {window.size: window.slide for window in windows if isinstance(window, Sliding)}
        self._slides = slides if len(set(slides.values())) > 1 else {}

    @property
    def stores(self) -> list[Store]:
        """Those of the operator that computes, then what is held back."""
        return [*self.inner.stores, self._held]

    @property
    def holds(self) -> bool:
        """Are there rows that could leave?"""
        return bool(self._held.segments or self._going)

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """What is not complete; what is held back is looked at when it leaves."""
        self.inner.purge(ignored)
        self._reflect()

    def receive(self, segments: Sequence[Segment], facts: Mapping[str, Any]) -> None:
        """Partials are as good as rows: the groups they are of have got another row."""
        self.inner.receive(segments, facts)
        for segment in segments:
            if "fixed" in segment.tables:
                self._collide(segment.tables["fixed"])
        self._reflect()

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        self.inner.resume(self.progress)
        self._collide(rows)
        self._hold(self.inner.take(port, rows))
        self._reflect()
        return self._gone()

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        self.inner.resume([before])
        self._hold(self.inner.advance(port, now))
        if now.ended:
            self._let_go(np.ones(self._held.rows, dtype=np.bool_))
        self._reflect()
        return self._gone()

    def _end(self, turn: Turn) -> list[pa.Table]:
        if self._held.segments:
            self._let_go(self._chosen(turn))
            self._reflect()
        return self._gone()

    def promises(self) -> Progress:
        """What the operator that computes would promise if punctuation had come only as far as nothing is held."""
        now = self.progress[0]
        held = self._tables()
        return self.inner.promised(behind(now, held, self.spec.attribute, self.spec.groups) if held else now)

    def measure(self) -> None:
        """The windows that are open, not those that are held."""
        self.inner.resume(self.progress)
        self.inner.measure()
        self.meter.open_windows = self.inner.meter.open_windows

    def _chosen(self, turn: Turn) -> np.ndarray:
        """Which of the held rows leave: all, or those that are due and, in a slow flush, the oldest besides."""
        if turn.let == "all":
            return np.ones(self._held.rows, dtype=np.bool_)
        ends = np.concatenate([to_ticks(table["window_end"]) for table in self._tables()])
        leaving = self._due(ends)
        room = 0 if self.flush.rows is None else turn.share(self.flush.rows) - int(leaving.sum())
        if room > 0:
            waiting = np.flatnonzero(~leaving)
            leaving[waiting[np.argsort(ends[waiting], kind="stable")[:room]]] = True
        return leaving

    def _due(self, ends: np.ndarray) -> np.ndarray:
        """Which rows must leave now: so many windows have closed after theirs, or their group is over."""
        now, attribute = self.progress[0], self.spec.attribute
        if says_of_groups(now, attribute, self.spec.groups):
            held = pa.concat_tables(self._tables())
            found = encode([held[name] for name in self.spec.groups], held.num_rows)
            bounds = group_bounds(now, attribute, held.take(pa.array(found.first)), self.spec.groups)[found.codes]
        else:
            bounds = np.full(len(ends), now.bound(attribute))
        late = self._late()
        return (bounds == END) | (ends <= np.maximum(bounds, BOTTOM + late) - late)

    def _late(self) -> np.ndarray | int:
        """By how many ticks each held row may be late: so many slides of its own window."""
        if not self._slides:
            return self.reach
        edges = [[to_ticks(table[name]) for table in self._tables()] for name in ("window_start", "window_end")]
        sizes = np.concatenate(edges[1]) - np.concatenate(edges[0])
        known = np.array(sorted(self._slides))
        slides = np.array([self._slides[int(size)] for size in known])
        return self.flush.windows * slides[np.searchsorted(known, sizes)]

    def _collide(self, rows: pa.Table) -> None:
        """In a lazy flush the held rows of groups that have got another row leave."""
        if not self.flush.lazy or not self._held.segments or not rows.num_rows:
            return
        names, held = list(self.spec.groups), pa.concat_tables(self._tables())
        codes = np.zeros(held.num_rows + rows.num_rows)  # without groups all rows are of one
        if names:
            both = pa.concat_tables([held.select(names), rows.select(names)])
            codes = encode([both[name] for name in names], both.num_rows).codes
        self._let_go(np.isin(codes[: held.num_rows], codes[held.num_rows :]))

    def _hold(self, tables: Sequence[pa.Table]) -> None:
        """Keep rows, the oldest windows first, in pieces."""
        for table in tables:
            ends = to_ticks(table["window_end"])
            order = np.argsort(ends, kind="stable")
            table, ends = table.take(pa.array(order)), ends[order]
            for begin in range(0, len(order), _CUT):
                piece = table.slice(begin, _CUT).combine_chunks()
                last = begin + piece.num_rows - 1
                self._held.add(Segment({HELD: piece}, int(ends[begin]), int(ends[last])))
        if len(self._held.segments) > _MANY and self._held.rows < len(self._held.segments) * _CUT // 4:
            together = pa.concat_tables(self._tables())
            self._held.replace([])
            self._hold([together])

    def _let_go(self, leaving: np.ndarray) -> None:
        """The rows that are chosen, numbered through all segments, are on their way; segments without any stay."""
        kept: list[Segment] = []
        begin = 0
        for segment in self._held.segments:
            table = segment.tables[HELD]
            mine = leaving[begin : begin + table.num_rows]
            begin += table.num_rows
            if not mine.any():
                kept.append(segment)
                continue
            self._going.append(table.filter(pa.array(mine)))
            if not mine.all():
                left = table.filter(pa.array(~mine)).combine_chunks()
                ends = to_ticks(left["window_end"])
                kept.append(Segment({HELD: left}, int(ends.min()), int(ends.max())))
        self._held.replace(kept)

    def _gone(self) -> list[pa.Table]:
        going, self._going = self._going, []
        return going

    def _tables(self) -> list[pa.Table]:
        return [segment.tables[HELD] for segment in self._held.segments]

    def _reflect(self) -> None:
        """Show the state and the rejections of the operator that computes as one's own, and what is held beside."""
        inner = self.inner
        self.store.replace([*inner.store.segments, *self._held.segments])
        self.store.facts = inner.store.facts
        self.rejected += inner.rejected
        inner.rejected.clear()
        for name in ("rejected", "outside", "accepted", "punctuations", "combines"):
            setattr(self.meter, name, getattr(inner.meter, name))


def computing(operator: Operator) -> Operator:
    """The operator that computes, where another one holds back what it gives."""
    return operator.inner if isinstance(operator, Smoothed) else operator
