"""The join of many streams: a new row probes the others in an order of its own, and is kept once, while it is needed.

Nothing depends on the order of arrival. Each combination is found by the one of its rows that came last; rows of one
epoch meet, too, as ports are taken one after another. A row is dropped when no stream can bring a partner any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.core.promise.many import promised
from millstream.kernels.expressions.evaluate import evaluate
from millstream.kernels.key_hash import any_null
from millstream.kernels.ticks import ordered_columns, to_ticks, too_far
from millstream.ops.guard import wanted
from millstream.ops.join.leaving import gathered
from millstream.ops.join.ruled_out import by_keys, says_of_keys
from millstream.ops.many import join_order
from millstream.ops.many.join_order import Fans
from millstream.ops.many.keyed_runs import KeyedRun, hashed, name_of, opened, tidy
from millstream.ops.many.many_spec import ManySpec
from millstream.ops.many.probe import Bound, Probe
from millstream.ops.many.views import View
from millstream.ops.operator import Operator
from millstream.ops.turn import Turn
from millstream.state.store import Segment

FANS = "fans"
"""A fact: what steps have shown."""


class ManyJoin(Operator):
    """Combinations of rows of many inputs; with an anchor, also rows of the first that are in none."""

    in_order = False

    def __init__(self, spec: ManySpec) -> None:
        """Compute what `spec` says."""
        super().__init__(ports=spec.streams)
        self.spec = spec
        self._ordered = tuple(ordered_columns(schema) for schema in spec.schemas)
        self._runs: dict[int, tuple[Segment, KeyedRun]] = {}
        self._orders: dict[int, Sequence[int]] = {}
        self._known: Fans | None = None
        self.elsewhere: Fans | None = None
        """What earlier epochs have shown at all places, where these must agree on an order; None: this place alone."""
        self.fans = Fans()
        """What this epoch has shown."""

    def promises(self) -> Progress:
        """Bounds on the times of all streams, alone and together."""
        return promised(self.spec.shape, self.progress)

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Rows of each stream that it keeps."""
        kept: list[Segment] = []
        for stream, segment in self._every():
            keep = wanted(ignored.get(stream, ()), segment.tables[name_of(stream)])
            if keep is None:
                kept.append(segment)
            elif keep.any():
                kept.append(self.run(stream, segment).where(keep).segment(self.spec, stream))
        self.store.replace(kept)

    # --- rows --------------------------------------------------------------------------------------

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        rows, at, out = self.entering(port, rows)
        if not rows.num_rows:
            return out
        anchor = self.spec.anchored and port == 0
        marks = np.zeros(rows.num_rows, dtype=np.bool_) if anchor else None
        mine = KeyedRun.of(rows, hashed(self.spec, port, rows), at, marks)
        views = [View([mine]) if i == port else self.view(i) for i in range(self.spec.streams)]
        probe = Probe(self.spec, views, self.fans)
        begin = {port: np.arange(len(mine.at))}
        for found in probe.combinations(begin, self.order_of(port)):
            out += self.leaving(probe, found)
        gone = self._complete(port, mine)
        if mine.matched is not None:
            out += self._alone(mine.rows.filter(pa.array(gone & ~mine.matched)))
        elif self.spec.anchored:
            self._remember(views[0])
        self.keep(port, mine, ~gone)
        self.meter.accepted += len(mine.at)
        return gathered(out)

    def entering(self, port: int, rows: pa.Table) -> tuple[pa.Table, np.ndarray, list[pa.Table]]:
        """The rows that can be part of a combination, their coordinates, and what leaves of the others."""
        rows, at = self._readable(port, rows)
        if not rows.num_rows:
            return rows, at, []
        keys = [rows[name] for name in self.spec.key_columns(port)]
        never = any_null(keys, rows.num_rows)  # a null is equal to nothing
        conditions = self.spec.at_entry[port]
        if conditions:
            known = {column: name for name, stream, column in self.spec.columns if stream == port}
            named = rows.select(list(known)).rename_columns(list(known.values()))
            for value in evaluate(conditions, named).values:
                never |= ~pc.fill_null(value, pa.scalar(value=False)).to_numpy(zero_copy_only=False)
        if not never.any():
            return rows, at, []
        out = self._alone(rows.filter(pa.array(never))) if self.spec.anchored and port == 0 else []
        self.meter.accepted += int(never.sum())
        return rows.filter(pa.array(~never)), at[~never], out

    def _readable(self, port: int, rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """The rows that have a time, and their ticks; the others are rejected."""
        name = self.spec.spans.names[port]
        if rows[name].null_count:
            self.reject(rows.filter(pc.is_null(rows[name])), f"{name} is null")
            rows = rows.filter(pc.is_valid(rows[name]))
        if not rows.num_rows:
            return rows, np.zeros(0, dtype=np.int64)
        ticks = self.ticks(port, rows)
        far = too_far(ticks, self.spec.spans.farthest)
        if far is not None:
            self.reject(rows.filter(pa.array(far)), f"{name} is too far out for the join")
            rows, ticks = rows.filter(pa.array(~far)), ticks[~far]
        return rows, ticks

    def ticks(self, stream: int, rows: pa.Table) -> np.ndarray:
        """The times of a stream's rows."""
        return to_ticks(rows[self.spec.spans.names[stream]])

    def order_of(self, port: int) -> Sequence[int]:
        """In which order rows of a port probe the other streams in this epoch."""
        if port not in self._orders:
            self._orders[port] = join_order.choose(self.spec, self.elsewhere or self.known(), port)
        return self._orders[port]

    def known(self) -> Fans:
        """What earlier epochs have shown."""
        if self._known is None:
            self._known = Fans.of([self.store.facts.get(FANS, {})])
        return self._known

    def leaving(self, probe: Probe, found: Bound) -> list[pa.Table]:
        """Combinations as they leave, if all of their condition holds; rows of the anchor are marked."""
        last = self.spec.last
        if last is not None:
            made = evaluate([last], probe.table(found, last.columns))
            holds = pc.fill_null(made.values[0], pa.scalar(value=False)).to_numpy(zero_copy_only=False)
            if made.failed is not None:
                every = probe.table(found, [name for name, _, _ in self.spec.columns])
                for reason, which in made.bad():
                    self.reject_made(every.filter(pa.array(which)), reason)
                holds = holds & ~made.failed.rows
            found = {stream: numbers[holds] for stream, numbers in found.items()}
        if self.spec.anchored:
            _mark(probe.views[0], found[0])
        return [probe.table(found, self.spec.schema.names)] if len(found[0]) else []

    def settle(self, port: int, mine: KeyedRun) -> None:
        """Keep new rows that have met all that are there."""
        if len(mine.at):
            self.fans.pace += len(mine.at) / (mine.high - mine.low + 1)
        self.keep(port, mine, ~self._complete(port, mine))
        self.meter.accepted += len(mine.at)

    def keep(self, stream: int, run: KeyedRun, stays: np.ndarray) -> None:
        """Keep those rows of a run that a partner may still come for."""
        if stays.any():
            self.store.add((run if stays.all() else run.where(stays)).segment(self.spec, stream))

    def _remember(self, view: View) -> None:
        """Write down which rows of the anchor have been marked."""
        places = {id(one): place for place, one in enumerate(self.store.segments)}
        for segment, run in zip(self._of(0), view.runs, strict=True):
            made = run.marked(segment)
            if made is not segment:
                self.store.segments[places[id(segment)]] = made
                self._runs[id(made)] = (made, run)

    # --- what is kept ------------------------------------------------------------------------------

    def view(self, stream: int) -> View:
        """All rows that are kept of a stream."""
        return View([self.run(stream, segment) for segment in self._of(stream)])

    def run(self, stream: int, segment: Segment) -> KeyedRun:
        """What a segment holds; opened once."""
        if id(segment) not in self._runs:
            self._runs[id(segment)] = (segment, opened(segment, self.spec, stream))
        return self._runs[id(segment)][1]

    def _of(self, stream: int) -> list[Segment]:
        return [segment for i, segment in self._every() if i == stream]

    def _every(self) -> Iterator[tuple[int, Segment]]:
        for segment in self.store.segments:
            for i in range(self.spec.streams):
                if name_of(i) in segment.tables:
                    yield i, segment

    # --- progress ----------------------------------------------------------------------------------

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        """A stream's progress lets rows of the others go."""
        self._learn()
        out: list[pa.Table] = []
        every: list[Segment] = []
        moved = False
        for stream in range(self.spec.streams):
            mine = self._of(stream)
            if stream == port:
                every += mine
                continue
            kept: list[Segment] = []
            reached: list[Segment] = []
            for segment in mine:
                if not self._may_go(stream, segment):
                    kept.append(segment)
                    continue
                run = self.run(stream, segment)
                gone = self._complete(stream, run)
                moved |= bool(gone.any())
                if run.matched is not None:
                    out += self._alone(run.rows.filter(pa.array(gone & ~run.matched)))
                if gone.all():
                    continue
                kept.append(self._without(stream, segment, run, gone))
                if gone.any():
                    reached.append(kept[-1])
            every += tidy(kept, reached, self.spec, stream, self.spec.slices[stream])
        self.meter.punctuations += int(moved)
        self.store.replace(every)
        self._runs = {id(one): self._runs[id(one)] for one in self.store.segments if id(one) in self._runs}
        return out

    def _without(self, stream: int, segment: Segment, run: KeyedRun, gone: np.ndarray) -> Segment:
        """A segment of which some rows go. The few of one slice stay until all of it goes: they are only marked."""
        if not gone.any():
            return segment
        wide = segment.high - segment.low >= self.spec.slices[stream].base
        if run.matched is not None or wide or self._says_of_keys(stream) or 2 * int(gone.sum()) > len(gone):
            return run.where(~gone).segment(self.spec, stream)
        return segment

    def _may_go(self, stream: int, segment: Segment) -> bool:
        """Can any row of a segment go, by what is promised now?"""
        if self._says_of_keys(stream):
            return True
        bounds = [one.bound(name) for one, name in zip(self.progress, self.spec.spans.names, strict=True)]
        return segment.low < self.spec.spans.complete(stream, bounds)

    def _says_of_keys(self, stream: int) -> bool:
        others = (j for j in range(self.spec.streams) if j != stream)
        return any(says_of_keys(self.spec.pairs[stream, j], 0, self.progress[j]) for j in others)

    def _complete(self, stream: int, run: KeyedRun) -> np.ndarray:
        """Which rows no later row of any stream can be beside."""
        gone = np.ones(len(run.at), dtype=np.bool_)
        for j in range(self.spec.streams):
            other = self.progress[j]
            if j == stream or other.ended:
                continue
            done = run.at < self.spec.spans.after(stream, j, other.bound(self.spec.spans.names[j]))
            pair = self.spec.pairs[stream, j]
            if says_of_keys(pair, 0, other):
                done |= by_keys(pair, 0, other, run.rows, run.at, self._ordered[stream])
            gone &= done
        return gone

    def _alone(self, rows: pa.Table) -> list[pa.Table]:
        """Rows of the anchor beside nulls."""
        if not rows.num_rows:
            return []
        arrays = [
            rows[self.spec.source[field.name][1]]
            if self.spec.source[field.name][0] == 0
            else pa.nulls(rows.num_rows, field.type)
            for field in self.spec.schema
        ]
        return [pa.Table.from_arrays(arrays, names=self.spec.schema.names)]

    def _end(self, turn: Turn) -> list[pa.Table]:
        self._learn()
        return []

    def _learn(self) -> None:
        """What an epoch has shown decides the orders of the next."""
        if self.fans.counts:
            known = Fans.of([self.known().faded().plain(), self.fans.plain()])
            known.pace = self.fans.pace
            for i in range(self.spec.streams):
                self._size_up(i, known)
            self.store.facts[FANS] = known.plain()
            self.fans, self._known = Fans(), None
            self._orders = {}

    def _size_up(self, stream: int, known: Fans) -> None:
        """Note how many rows a stream keeps, and how often a key comes in them."""
        segments = self._of(stream)
        known.rows[stream] = rows = float(sum(one.tables[name_of(stream)].num_rows for one in segments))
        if not segments or not self.spec.links_of[stream]:
            return
        run = self.run(stream, max(segments, key=lambda one: one.rows))
        for n, link in enumerate(self.spec.links_of[stream]):
            known.often[f"{stream}:{link}"] = run.often(n) * rows / max(1, len(run.at))


def _mark(view: View, numbers: np.ndarray) -> None:
    """Note which rows of a view have been part of a combination."""
    for start, run in zip(view.starts, view.runs, strict=False):
        mine = numbers[(numbers >= start) & (numbers < start + len(run.at))] - start
        if run.matched is not None:
            run.matched[mine] = True
