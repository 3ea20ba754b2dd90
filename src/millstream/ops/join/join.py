"""The order-agnostic join: a row meets the rows that the other side keeps, and is kept while a partner may come.

Nothing depends on the order of arrival. A row whose partners have all come is joined and never kept; a row is dropped
when the other side's bound has passed its last partner; and a row without a partner, where such rows leave, leaves at
that moment and not before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM
from millstream.core.feedback import Records
from millstream.core.pattern import Equal, Pattern
from millstream.core.progress import Progress
from millstream.core.promise.join import promised
from millstream.core.promise.near import Reach
from millstream.kernels.expressions.evaluate import evaluate
from millstream.kernels.key_hash import any_null, key_hash
from millstream.kernels.pairs import pairs
from millstream.kernels.same import same
from millstream.kernels.ticks import ordered_columns, to_ticks, too_far
from millstream.ops.join.held import SIDES, Held, of_side, opened, tidy, without
from millstream.ops.join.join_spec import JoinSpec
from millstream.ops.join.leaving import Leaving, gathered
from millstream.ops.join.ruled_out import by_keys, says_of_keys
from millstream.ops.join.thrifty import gaps
from millstream.ops.operator import Operator
from millstream.state.store import Segment

_ANYWHERE = Reach(None, None)
_NOTHING = Segment({}, 0, -1)
_FEW = 64
"""Keys that are told apart; of more, a side is not sparse."""


class Join(Operator):
    """Pairs of rows of two inputs, or rows with or without a partner."""

    in_order = False

    def __init__(self, spec: JoinSpec) -> None:
        """Compute what `spec` says."""
        super().__init__(ports=2)
        self.spec = spec
        self.leaving = Leaving(spec)
        self.speaks = spec.thrifty or spec.impatient
        self._ordered = tuple(ordered_columns(schema) for schema in spec.schemas)

    def promises(self) -> Progress:
        """Bounds on the attributes of both sides, alone and together, and on what must be equal."""
        return promised(self.spec.shape, self.progress)

    def ignores(self) -> Mapping[int, Records]:
        """Where one side is complete and empty, rows of the other."""
        near = self.spec.near
        if near is None or not self.spec.thrifty:
            return {}
        bounds = [self.progress[side].bound(near.names[side]) for side in (0, 1)]
        held = [[opened(one, side, self.spec.layout).run.at for _, one in of_side(self.store, side)] for side in (0, 1)]
        found = {side: gaps(near, side, bounds, held[1 - side]) for side in (0, 1)}
        return {side: records for side, records in found.items() if records}

    def desires(self) -> Mapping[int, Records]:
        """Rows of a side whose partners wait on the other, by their keys, if these are few."""
        if not self.spec.impatient:
            return {}
        found: dict[int, Records] = {}
        for side in (0, 1):
            theirs, own = self.spec.key_columns(1 - side), self.spec.key_columns(side)
            held = [one.tables[SIDES[1 - side]].select(theirs) for _, one in of_side(self.store, 1 - side)]
            keys = pa.concat_tables(held).group_by(theirs).aggregate([]).drop_null() if held else None
            if keys is not None and 0 < keys.num_rows <= _FEW:
                rows = [[row[name] for name in theirs] for row in keys.to_pylist()]
                found[side] = tuple(Pattern(dict(zip(own, map(Equal, row), strict=True))) for row in rows)
        return found

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Rows of each side that it keeps."""
        self.store.replace(list(without(self.store, ignored, self.spec.layout)))

    # --- rows --------------------------------------------------------------------------------------

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        rows, at = self._readable(port, rows)
        if not rows.num_rows:
            return []
        keys = [rows[name] for name in self.spec.key_columns(port)]
        out: list[pa.Table] = []
        nulls = any_null(keys, rows.num_rows)
        if nulls.any() and not self.spec.nulls_equal:  # a null is equal to nothing
            out += self.leaving.alone(port, rows.filter(pa.array(nulls)))
            self.meter.accepted += int(nulls.sum())
            rows, at = rows.filter(pa.array(~nulls)), at[~nulls]
            keys = [rows[name] for name in self.spec.key_columns(port)]
        if not rows.num_rows:
            return out
        kept = self.spec.preserved(port)
        matched = np.zeros(rows.num_rows, dtype=np.bool_) if kept else None
        mine = Held.of_rows(rows, key_hash(keys, rows.num_rows), at, matched)
        found = np.zeros(rows.num_rows, dtype=np.bool_)
        out += self._meet(port, mine, found)
        if not self.spec.pairs_leave and port == 0:
            out += self.leaving.matched(mine.rows, found)
        gone = self._complete(port, mine)
        if kept:
            mine = mine.marked(np.flatnonzero(found))
            out += self.leaving.alone(port, mine.rows.filter(pa.array(gone & ~found)))
        stays = ~gone if self.spec.pairs_leave or port else ~gone & ~found
        if stays.any():
            self.store.add((mine if stays.all() else mine.where(stays)).segment(port, self.spec.layout))
        self.meter.accepted += mine.rows.num_rows
        return gathered(out)

    def _readable(self, port: int, rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """The rows that have a coordinate, and their coordinates; the others are rejected."""
        near = self.spec.near
        nowhere = np.zeros(len(rows), dtype=np.int64)
        if near is None:
            return rows, nowhere
        name = near.names[port]
        if rows[name].null_count:
            self.reject(rows.filter(pc.is_null(rows[name])), f"{name} is null")
            rows = rows.filter(pc.is_valid(rows[name]))
        if not rows.num_rows:
            return rows, nowhere[:0]
        ticks = to_ticks(rows[name])
        far = too_far(ticks, near.farthest)
        if far is not None:
            self.reject(rows.filter(pa.array(far)), f"{name} is too far out for the join")
            rows, ticks = rows.filter(pa.array(~far)), to_ticks(rows.filter(pa.array(~far))[name])
        return rows, near.coordinates(ticks)

    def _meet(self, port: int, mine: Held, found: np.ndarray) -> Iterator[pa.Table]:
        """The pairs that new rows make with those that the other side keeps; both are marked."""
        other = 1 - port
        reach = _ANYWHERE if self.spec.near is None else self.spec.near.reach_of(port)
        hashes = mine.hashes
        for place, segment in list(of_side(self.store, other)):
            if not reach.touches((mine.run.low, mine.run.high), (segment.low, segment.high)):
                continue
            held = opened(segment, other, self.spec.layout)
            hit = np.zeros(held.rows.num_rows, dtype=np.bool_)
            for own, theirs in pairs(hashes, mine.run.at, held.run, reach):
                own, theirs = self._agreeing(port, mine.rows, held.rows, own, theirs)
                found[own] = True
                hit[theirs] = True
                if self.spec.pairs_leave and len(own):
                    yield self.leaving.pairs(port, mine.rows, held.rows, own, theirs)
            if held.matched is not None and hit.any():
                fresh = hit & ~held.matched
                if not self.spec.pairs_leave:
                    yield from self.leaving.matched(held.rows, fresh)
                    # What has had a partner is settled, whether it left or never will.
                    self.store.segments[place] = (
                        _NOTHING if hit.all() else held.where(~hit).segment(other, self.spec.layout)
                    )
                elif fresh.any():
                    self.store.segments[place] = held.marked(np.flatnonzero(fresh)).segment(other, self.spec.layout)
        self.store.replace(self.store.segments)

    def _agreeing(
        self, port: int, mine: pa.Table, other: pa.Table, own: np.ndarray, theirs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The pairs whose keys are really equal and that satisfy the condition."""
        for pair in self.spec.keys:
            agree = same(mine[pair[port]], own, other[pair[1 - port]], theirs)
            if not agree.all():
                own, theirs = own[agree], theirs[agree]
        condition = self.spec.condition
        if condition is None or not len(own):
            return own, theirs
        table = self.leaving.pairs(port, mine, other, own, theirs, columns=condition.columns)
        made = evaluate([condition], table)
        holds = pc.fill_null(made.values[0], pa.scalar(value=False)).to_numpy(zero_copy_only=False)
        if made.failed is not None:
            bad = made.failed.rows
            pairs = self.leaving.pairs(
                port, mine, other, own, theirs, columns=[name for name, _, _ in self.spec.columns]
            )
            for reason, which in made.bad():
                self.reject_made(pairs.filter(pa.array(which)), reason)
            holds = holds & ~bad
        return own[holds], theirs[holds]

    # --- progress ----------------------------------------------------------------------------------

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        """A side's progress lets rows of the other side go."""
        side = 1 - port
        out: list[pa.Table] = []
        kept: list[Segment] = []
        reached: list[Segment] = []
        moved = False
        done = self._done(side)
        for _, segment in of_side(self.store, side):
            if segment.low >= done and not now.ended and not says_of_keys(self.spec, side, now):
                kept.append(segment)
                continue
            held = opened(segment, side, self.spec.layout)
            gone = self._complete(side, held)
            if gone.all():
                moved = True
                out += self._alone(side, held, gone)
                continue
            if not gone.any():
                kept.append(segment)
                continue
            moved = True
            out += self._alone(side, held, gone)
            kept.append(self._without(side, segment, held, gone))
            reached.append(kept[-1])
        self.meter.punctuations += int(moved)
        own = tidy(kept, reached, side, self.spec.slices, self.spec.layout)
        self.store.replace([*own, *(segment for _, segment in of_side(self.store, port))])
        return out

    def _alone(self, side: int, held: Held, gone: np.ndarray) -> list[pa.Table]:
        """The rows that go and never had a partner, where such rows leave."""
        if held.matched is None:
            return []
        return self.leaving.alone(side, held.rows.filter(pa.array(gone & ~held.matched)))

    def _without(self, side: int, segment: Segment, held: Held, gone: np.ndarray) -> Segment:
        """A segment of which some rows go. The few of one slice stay until all of it goes: they are only marked."""
        wide = segment.high - segment.low >= self.spec.slices.base
        if wide or says_of_keys(self.spec, side, self.progress[1 - side]) or 2 * int(gone.sum()) > len(gone):
            return held.where(~gone).segment(side, self.spec.layout)
        return segment if held.matched is None else held.marked(np.flatnonzero(gone)).segment(side, self.spec.layout)

    def _done(self, side: int) -> int:
        near = self.spec.near
        return BOTTOM if near is None else near.complete(side, self.progress[1 - side].bound(near.names[1 - side]))

    def _complete(self, side: int, held: Held) -> np.ndarray:
        """Which rows of a side can have no later partner."""
        other = self.progress[1 - side]
        if other.ended:
            return np.ones(len(held.run.at), dtype=np.bool_)
        gone = np.less(held.run.at, self._done(side))
        if says_of_keys(self.spec, side, other):
            gone |= by_keys(self.spec, side, other, held.rows, held.run.at, self._ordered[side])
        return gone
