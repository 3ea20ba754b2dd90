"""The shared join: each row is kept once and meets the other side once, for all joins that read it.

It does what the order-agnostic join does (see `join.py`), with the widest reach. A row has a bitmap of the conditions
that it satisfies, and is kept while a reading of its bitmap may still find it a partner, no longer. Which rows have
had a partner is marked for each reading that must know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM, END
from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.core.promise.near import Near, Reach
from millstream.kernels.key_hash import any_null, key_hash
from millstream.kernels.pairs import pairs
from millstream.kernels.same import same
from millstream.kernels.ticks import ordered_columns, to_ticks, too_far
from millstream.ops.join.begun import meet_kept
from millstream.ops.join.brought import LONE, brought, packed, take_over
from millstream.ops.join.held import SIDES, Held, of_side, opened, tidy, without
from millstream.ops.join.route_pairs import BITS, Router, satisfying
from millstream.ops.join.ruled_out import by_keys, says_of_keys
from millstream.ops.join.shared_spec import JoinReader, SharedSpec
from millstream.ops.operator import Operator, Rejected
from millstream.state.store import Segment

_ANYWHERE = Reach(None, None)
_NOTHING = Segment({}, 0, -1)
_PURGED = "purged"
"""A fact: by side, the readings for which it was last found out which rows are to be kept."""
_MET = "met"
"""A fact: the readings that have met the rows which were there before them."""
_BLOCK = 1 << 17
"""So many pairs are put in order at a time: they should fit the processor's caches."""


class SharedJoin(Operator):
    """Rows of two inputs that several joins read. What leaves is in `sent`, by outlet."""

    in_order = False

    def __init__(self, spec: SharedSpec) -> None:
        """Compute what `spec` says."""
        super().__init__(ports=2)
        self.spec = spec
        self.layout = spec.layout
        self.router = Router(spec.readings, self._set_apart)
        self._ordered = tuple(ordered_columns(schema) for schema in spec.schemas)
        self._numbers = spec.numbers
        self._everybody = tuple(
            spec.pulled_up or any(one.predicates[side] is None for one in spec.readings) for side in (0, 1)
        )
        self.opened()

    def promises(self) -> Progress:
        """Nothing: each reading promises for itself."""
        return Progress()

    # --- whose state it is -------------------------------------------------------------------------

    def adopt(self, before: Operator) -> None:
        """Go on from a store that had other readings."""
        super().adopt(before)
        self.store.segments, self.store.facts = list(before.store.segments), dict(before.store.facts)
        self.opened()

    def go_on_from(self, alone: Operator, facts: Mapping[str, Any]) -> None:
        """Go on from a join that was computed by itself; `facts` are of `lone_facts`."""
        self.store.segments = list(alone.store.segments)
        self.store.facts = {**facts}
        self.opened()

    def opened(self) -> None:
        """Bring what was kept for other readings into the form that these read."""
        facts = self.store.facts
        known = [facts[LONE]["number"]] if LONE in facts else self._all
        take_over(self.store, self.layout)
        for side, name in enumerate(SIDES):
            mine = list(self.spec.predicates[side])
            for place, segment in list(of_side(self.store, side)):
                self.store.segments[place] = brought(segment, side, self.spec, facts.get(name, mine))
            facts[name] = mine
        facts.setdefault(_PURGED, dict.fromkeys(SIDES, known))
        facts.setdefault(_MET, known)

    @property
    def _all(self) -> list[int]:
        return [one.number for one in self.spec.readings]

    def _begin(self) -> None:
        """Readings that are new meet the rows that are there."""
        new = [one for one in self.spec.readings if one.number not in self.store.facts[_MET]]
        self.store.facts[_MET] = self._all
        if not new or not self.store.segments:
            return
        router = Router(new, self._set_apart)
        meet_kept(self.store, self.spec, new, router, self._marks)
        self.sent += router.ready()
        for side in (0, 1):
            for place, segment in list(of_side(self.store, side)):
                held = opened(segment, side, self.layout)
                if self._release(side, held):
                    self.store.segments[place] = held.segment(side, self.layout)

    # --- rows --------------------------------------------------------------------------------------

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        self._begin()
        self.meter.rows_out += rows.num_rows
        rows = self._with_bits(port, rows)
        self._count(port, rows, 1)
        if not self._everybody[port]:
            rows = rows.filter(pc.not_equal(rows[BITS], 0))
        rows, at = self._readable(port, rows)
        nulls = any_null([rows[pair[port]] for pair in self.spec.keys], rows.num_rows)
        if nulls.any() and not self.spec.nulls_equal:  # a null is equal to nothing
            lonely = rows.filter(pa.array(nulls))
            for reading in self.spec.marked[port]:
                own = satisfying(lonely, reading.predicates[port])
                said = reading.says_of(at[nulls])
                self._leave_alone(reading, port, lonely, said if own is None else own & said)
            rows, at = rows.filter(pa.array(~nulls)), at[~nulls]
        if rows.num_rows:
            self._keep(port, rows, at)
        self.sent += self.router.ready()
        return []

    def copied(self, port: int, rows: pa.Table) -> None:
        """Rows that were taken here as copies do not count."""
        self.meter.rows_out -= rows.num_rows
        self._count(port, self._with_bits(port, rows), -1)

    def _with_bits(self, port: int, rows: pa.Table) -> pa.Table:
        """Rows with their bitmap in place of the conditions."""
        names = self.spec.predicates[port]
        if not names:
            return rows
        held = [rows[name].fill_null(False).combine_chunks().to_numpy(zero_copy_only=False) for name in names]  # noqa: FBT003 - a value, not a flag
        return rows.drop_columns(list(names)).append_column(BITS, pa.array(packed(held, rows.num_rows)))

    def _count(self, port: int, rows: pa.Table, times: int) -> None:
        """What becomes of rows for each reading: taken, or stopped by its condition."""
        taken: dict[int | None, int] = {None: rows.num_rows}
        for reading in self.spec.readings:
            predicate = reading.predicates[port]
            if predicate not in taken and (held := satisfying(rows, predicate)) is not None:
                taken[predicate] = int(held.sum())
            own = taken[predicate]
            self.count(reading.outlet, filtered=times * (rows.num_rows - own), accepted=times * own)

    def _readable(self, port: int, rows: pa.Table) -> tuple[pa.Table, np.ndarray]:
        """The rows that have a coordinate, and their coordinates; the others are rejected.

        What is too far out for one reading is so for all.
        """
        near = self.spec.near
        if near is None or not rows.num_rows:
            return rows, np.zeros(len(rows), dtype=np.int64)
        column = rows[near.names[port]]
        if column.null_count:
            self._reject(port, rows.filter(pc.is_null(column)), "is null")
            rows = rows.filter(pc.is_valid(column))
        if not rows.num_rows:
            return rows, np.zeros(0, dtype=np.int64)
        ticks: np.ndarray = to_ticks(rows[near.names[port]])
        far = too_far(ticks, near.farthest)
        if far is not None:
            self._reject(port, rows.filter(pa.array(far)), "is too far out for the join")
            rows, ticks = rows.filter(pa.array(~far)), ticks[~far]
        at: np.ndarray = near.coordinates(ticks)
        return rows, at

    def _reject(self, port: int, rows: pa.Table, why: str) -> None:
        for reading in self.spec.readings:
            held = satisfying(rows, reading.predicates[port])
            own = rows if held is None else rows.filter(pa.array(held))
            if own.num_rows:
                shown = reading.own_rows(port, own)
                self._set_apart(reading.outlet, Rejected(shown, f"{reading.time(port)} {why}"))
                self.count(reading.outlet, accepted=-own.num_rows)

    def _set_apart(self, outlet: int, rejected: Rejected) -> None:
        self.apart.append((outlet, rejected))
        rows = rejected.rows.num_rows
        self.count(outlet, **({"failed": rows} if rejected.made else {"rejected": rows}))

    def _keep(self, port: int, rows: pa.Table, at: np.ndarray) -> None:
        """Rows meet the other side, and stay while some reading waits for their partners."""
        marks = self._numbers[port]
        matched = np.zeros((rows.num_rows, len(marks)), dtype=np.bool_) if marks else None
        hashes = key_hash([rows[pair[port]] for pair in self.spec.keys], rows.num_rows)
        mine = Held.of_rows(rows, hashes, at, matched, marks or None)
        self._meet(port, mine)
        for reading in self.spec.marked[port]:
            if reading.spec.how == "semi":
                met = self._marks(port, mine, reading) & reading.says_of(mine.run.at)
                for table in reading.leaving.matched(mine.rows, met):
                    self.router.send(reading, table)
        self._release(port, mine)
        stays = self._wanted(port, mine)
        if stays.any():
            self.store.add((mine if stays.all() else mine.where(stays)).segment(port, self.layout))

    def _marks(self, side: int, held: Held, reading: JoinReader) -> np.ndarray:
        """Which rows have had a partner, for one reading; a view, to mark more."""
        assert held.matched is not None
        return held.matched[:, self._numbers[side].index(reading.number)]

    def _meet(self, port: int, mine: Held) -> None:
        """The pairs that new rows make with those that the other side keeps; both are marked."""
        other = 1 - port
        reach = _ANYWHERE if self.spec.near is None else self.spec.near.reach_of(port)
        preserved = [{one.number for one in some} for some in self.spec.marked]
        for place, segment in list(of_side(self.store, other)):
            if not reach.touches((mine.run.low, mine.run.high), (segment.low, segment.high)):
                continue
            held = opened(segment, other, self.layout)
            before = None if held.matched is None else held.matched.copy()

            def found(reading: JoinReader, own: np.ndarray, theirs: np.ndarray, held: Held = held) -> None:
                if reading.number in preserved[port]:
                    self._marks(port, mine, reading)[own] = True
                if reading.number in preserved[other]:
                    self._marks(other, held, reading)[theirs] = True

            for own, theirs in pairs(mine.hashes, mine.run.at, held.run, reach, _BLOCK):
                for pair in self.spec.keys:
                    agree = same(mine.rows[pair[port]], own, held.rows[pair[other]], theirs)
                    if not agree.all():
                        own, theirs = own[agree], theirs[agree]
                if len(own):
                    self.router.share(port, mine, held, own, theirs, found)
            if before is not None:
                self._met(place, other, held, before)
        self.store.replace(self.store.segments)

    def _met(self, place: int, side: int, held: Held, before: np.ndarray) -> None:
        """Rows that were kept have met partners: those of semi-joins leave, and what nobody waits for goes."""
        assert held.matched is not None
        fresh = held.matched & ~before
        if not fresh.any():
            return
        settled = False
        for i, reading in enumerate(self.spec.marked[side]):
            settled |= reading.settles(side) and bool(fresh[:, i].any())
            if reading.spec.how == "semi":
                for table in reading.leaving.matched(held.rows, fresh[:, i] & reading.says_of(held.run.at)):
                    self.router.send(reading, table)
        wanted = self._wanted(side, held) if settled else None
        if wanted is not None and not wanted.any():
            self.store.segments[place] = _NOTHING
        else:
            left = held if wanted is None or wanted.all() else held.where(wanted)
            self.store.segments[place] = left.segment(side, self.layout)

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Rows of each side that it keeps."""
        self.store.replace(list(without(self.store, ignored, self.layout)))

    # --- progress ----------------------------------------------------------------------------------

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        """A side's progress lets rows of the other side go."""
        self._begin()
        side = 1 - port
        everything = self.store.facts[_PURGED][SIDES[side]] != self._all
        keyed = says_of_keys(self.spec.readings[0].spec, side, now)
        steps = self._steps(side, before, now)
        kept: list[Segment] = []
        reached: list[Segment] = []
        moved = False
        for _, segment in of_side(self.store, side):
            passing = [step for step in steps if segment.low < step[1] and segment.high >= step[0]]
            if not (passing or now.ended or keyed or everything):
                kept.append(segment)
                continue
            held = opened(segment, side, self.layout)
            released = self._release(side, held)
            wanted = self._wanted(side, held)
            moved |= released or not wanted.all()
            # A slice that a bound has passed as a whole is written once without the rows that nobody waits for; of
            # one that is only reached, the few that could go stay until then.
            whole = everything or keyed or any(segment.high < step[1] for step in passing)
            wide = segment.high - segment.low >= self.spec.slices.base
            if not wanted.any():
                continue
            if not wanted.all() and (whole or wide or 2 * int(wanted.sum()) < len(wanted)):
                kept.append(held.where(wanted).segment(side, self.layout))
                reached.append(kept[-1])
            else:
                kept.append(held.segment(side, self.layout) if released else segment)
        self.meter.punctuations += int(moved)
        own = tidy(kept, reached, side, self.spec.slices, self.layout)
        self.store.replace([*own, *(segment for _, segment in of_side(self.store, port))])
        self.store.facts[_PURGED] = {**self.store.facts[_PURGED], SIDES[side]: self._all}
        self.sent += self.router.ready()
        return []

    def _steps(self, side: int, before: Progress, now: Progress) -> list[tuple[int, int]]:
        """From where to where the bounds move below which a reading has all partners of a side's rows."""
        nears = {one.spec.near for one in (*self.spec.waiting[side], *self.spec.marked[side])}
        longest = max((self.spec.longer(side, one) for one in self.spec.waiting[side]), default=0)
        return [
            (max(_done(near, side, before) - longest, BOTTOM), _done(near, side, now))
            for near in nears
            if near is not None and _done(near, side, now) > BOTTOM
        ]

    def _release(self, side: int, held: Held) -> bool:
        """Rows that can have no later partner leave the readings that let such rows leave; were there any?"""
        any_left = False
        for reading in self.spec.marked[side]:
            marks = self._marks(side, held, reading)
            gone = self._complete(side, held, reading) & ~marks & reading.says_of(held.run.at)
            own = satisfying(held.rows, reading.predicates[side])
            if own is not None:
                gone &= own
            if gone.any():
                self._leave_alone(reading, side, held.rows, gone)
                marks[gone] = True
                any_left = True
        return any_left

    def _leave_alone(self, reading: JoinReader, side: int, rows: pa.Table, which: np.ndarray | None) -> None:
        own = rows if which is None else rows.filter(pa.array(which))
        for table in reading.leaving.alone(side, own):
            self.router.send(reading, table)

    def _wanted(self, side: int, held: Held) -> np.ndarray:
        """Which rows some reading still waits for partners of."""
        wanted = np.zeros(held.rows.num_rows, dtype=np.bool_)
        for reading in self.spec.waiting[side]:
            mine = ~self._complete(side, held, reading, self.spec.longer(side, reading))
            own = None if self.spec.pulled_up else satisfying(held.rows, reading.predicates[side])
            if own is not None:
                mine &= own
            if reading.settles(side) and not self.spec.pulled_up:
                mine &= ~self._marks(side, held, reading)
            wanted |= mine
        return wanted

    def _complete(self, side: int, held: Held, reading: JoinReader, longer: int = 0) -> np.ndarray:
        """Which rows of a side can have no later partner, for a reading that reaches so much `longer`."""
        other = self.progress[1 - side]
        if other.ended:
            return np.ones(len(held.run.at), dtype=np.bool_)
        done = _done(reading.spec.near, side, other)
        gone = np.less(held.run.at, done if done in (BOTTOM, END) else done - longer)
        if says_of_keys(reading.spec, side, other):
            gone |= by_keys(reading.spec, side, other, held.rows, held.run.at, self._ordered[side])
        return gone


def _done(near: Near | None, side: int, other: Progress) -> int:
    """The coordinate below which a side's rows have all their partners."""
    if other.ended:
        return END
    return BOTTOM if near is None else near.complete(side, other.bound(near.names[1 - side]))
