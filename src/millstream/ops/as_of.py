"""As-of join: each left row with the latest right row of its keys that is not after it.

A left row waits until the right side's bound proves that no later right row could be nearer; a right row goes as soon
as no left row, waiting or to come, could still choose it. Neither looks at the order of arrival.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM, END
from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.core.promise.as_of import AsOfShape, named, promised
from millstream.kernels.as_of import awaited, in_order, latest
from millstream.kernels.group import encode
from millstream.kernels.ticks import to_ticks
from millstream.ops.guard import wanted
from millstream.ops.operator import Operator, group_bounds
from millstream.ops.runs import filtered, merged
from millstream.state.store import Segment

LEFT, RIGHT = 0, 1
SIDES = ("left", "right")
# So many segments of the right side are one again: each epoch adds one.
_MOST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOfSpec:
    """What an as-of join computes, bound to the columns of its sides."""

    keys: tuple[tuple[str, str], ...]
    """Columns that must be equal, left and right."""
    time: tuple[str, str]
    columns: tuple[tuple[str, int, str], ...]
    """Of the result: the name, the side, and the name there."""
    schemas: tuple[pa.Schema, pa.Schema]
    schema: pa.Schema
    outer: bool = False
    """Do left rows without a partner leave too?"""
    strict: bool = False
    """Must the right row be before the left one, and not at the same time?"""
    within: int | None = None
    """How many ticks the right row may be away."""

    def key_columns(self, side: int) -> list[str]:
        """The columns of one side that must be equal to the other's."""
        return [pair[side] for pair in self.keys]

    @property
    def shape(self) -> AsOfShape:
        """As much of it as its promise depends on."""
        return AsOfShape(
            keys=self.keys,
            time=self.time,
            leaving=named(self.columns),
            outer=self.outer,
            strict=self.strict,
            within=self.within,
        )


class AsOf(Operator):
    """Left rows leave once each, with the right row that a look at all rows would have given them.

    Of right rows with the same keys and time the greatest by the other columns is the one. A null key has no partner.
    """

    in_order = False

    def __init__(self, spec: AsOfSpec) -> None:
        """Two ports: the left side is 0."""
        super().__init__(2)
        self.spec = spec

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        rows = self._timed(port, rows)
        rows, lonely = self._keyed(port, rows)
        if port == RIGHT:
            self.meter.filtered += lonely.num_rows
            self._keep(RIGHT, rows)
            self.meter.accepted += rows.num_rows
            return []
        ready = self._ready(rows)
        self._keep(LEFT, rows.filter(pa.array(~ready)))
        self.meter.accepted += rows.num_rows
        return [*self._unpaired(lonely), *self._answered(rows.filter(pa.array(ready)))]

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        out: list[pa.Table] = []
        if port == RIGHT:
            out = self._release()
        self._purge()
        return out

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Left rows that wait."""
        held = self._held(LEFT)
        keep = wanted(ignored.get(LEFT, ()), self._rows(LEFT)) if held else None
        if keep is not None:
            runs = filtered(held, SIDES[LEFT], keep, lambda rows: self._segment(LEFT, rows))
            gone = int((~keep).sum())
            self.meter.accepted -= gone
            self.meter.guarded += gone
            self.store.replace([*self._held(RIGHT), *runs])

    def promises(self) -> Progress:
        """The left side's promises, as far as the right side lets left rows go."""
        return promised(self.spec.shape, self.progress)

    # --- what comes in ---

    def _timed(self, port: int, rows: pa.Table) -> pa.Table:
        """The rows that have a time; the others are rejected."""
        name = self.spec.time[port]
        if not rows[name].null_count:
            return rows
        self.reject(rows.filter(pc.is_null(rows[name])), f"{name} is null")
        return rows.filter(pc.is_valid(rows[name]))

    def _keyed(self, port: int, rows: pa.Table) -> tuple[pa.Table, pa.Table]:
        """The rows that may have a partner, and those that a null key keeps from it."""
        null = np.zeros(rows.num_rows, dtype=np.bool_)
        for name in self.spec.key_columns(port):
            if rows[name].null_count:
                null |= pc.is_null(rows[name]).to_numpy()
        if not null.any():
            return rows, rows.slice(0, 0)
        return rows.filter(pa.array(~null)), rows.filter(pa.array(null))

    def _ready(self, rows: pa.Table) -> np.ndarray:
        """Which left rows no later right row could be nearer to."""
        ticks, bounds = to_ticks(rows[self.spec.time[LEFT]]), self._bounds(RIGHT, rows, LEFT)
        ready = ticks <= bounds if self.spec.strict else ticks < bounds
        # The end lets every row go, and where nothing is promised none.
        ready[bounds == END], ready[bounds == BOTTOM] = True, False
        return ready

    def _bounds(self, port: int, rows: pa.Table, side: int) -> np.ndarray:
        """The bound on a port's time for the keys of each row of a side."""
        progress, names = self.progress[port], self.spec.key_columns(port)
        if not names or not (progress.grouped or progress.over) or not rows.num_rows:
            return np.full(int(rows.num_rows), progress.bound(self.spec.time[port]), dtype=np.int64)
        found = encode([rows[name] for name in self.spec.key_columns(side)], rows.num_rows)
        groups = rows.select(self.spec.key_columns(side)).take(pa.array(found.first)).rename_columns(names)
        return group_bounds(progress, self.spec.time[port], groups, tuple(names))[found.codes]

    # --- what is kept ---

    def _held(self, side: int) -> list[Segment]:
        return [segment for segment in self.store.segments if SIDES[side] in segment.tables]

    def _rows(self, side: int) -> pa.Table:
        held = [segment.tables[SIDES[side]] for segment in self._held(side)]
        return pa.concat_tables(held) if held else self.spec.schemas[side].empty_table()

    def _keep(self, side: int, rows: pa.Table) -> None:
        if rows.num_rows:
            self.store.add(self._segment(side, rows))

    def _segment(self, side: int, rows: pa.Table) -> Segment:
        ticks = to_ticks(rows[self.spec.time[side]])
        return Segment({SIDES[side]: rows.combine_chunks()}, int(ticks.min()), int(ticks.max()))

    def _codes(self, left: pa.Table, right: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        """The groups of the rows of both sides, equal where their keys are."""
        columns = [
            pa.chunked_array([*left[a].chunks, *right[b].cast(left[a].type).chunks], type=left[a].type)
            for a, b in self.spec.keys
        ]
        both = encode(columns, left.num_rows + right.num_rows).codes
        return both[: left.num_rows], both[left.num_rows :]

    def _in_order(self, groups: np.ndarray, right: pa.Table) -> np.ndarray:
        own = {self.spec.time[RIGHT], *self.spec.key_columns(RIGHT)}
        others = right.select([name for name in right.column_names if name not in own])
        return in_order(groups, to_ticks(right[self.spec.time[RIGHT]]), others)

    def _purge(self) -> None:
        """Forget the right rows that are partner to no left row that waits, and can be to none that is to come."""
        held = self._held(RIGHT)
        if not held:
            return
        left, right = self._rows(LEFT), self._rows(RIGHT)
        own, groups = self._codes(left, right)
        order = self._in_order(groups, right)
        groups, ticks = groups[order], to_ticks(right[self.spec.time[RIGHT]])[order]
        bounds = self._bounds(LEFT, right, RIGHT)[order]
        needed = awaited(groups, ticks, bounds, strict=self.spec.strict, within=self.spec.within)
        chosen = self._latest(groups, ticks, own, left)
        needed[chosen[chosen >= 0]] = True
        if needed.all() and len(held) <= _MOST:
            return
        mask = np.empty(len(order), dtype=np.bool_)
        mask[order] = needed
        waiting = self._held(LEFT)
        self.store.replace([*waiting, *self._kept(RIGHT, held, mask)])
        self.meter.punctuations += int(not needed.all())

    def _kept(self, side: int, held: Sequence[Segment], mask: np.ndarray) -> list[Segment]:
        """The segments of a side without what is not needed; those that lose nothing stay as they are."""
        left = filtered(held, SIDES[side], mask, lambda table: self._segment(side, table))
        return merged(left, SIDES[side], lambda table: self._segment(side, table))

    # --- what leaves ---

    def _release(self) -> list[pa.Table]:
        """The left rows that wait no longer, answered."""
        held = self._held(LEFT)
        if not held:
            return []
        rows = self._rows(LEFT)
        ready = self._ready(rows)
        if not ready.any():
            return []
        self.store.replace([*self._held(RIGHT), *self._kept(LEFT, held, ~ready)])
        self.meter.punctuations += 1
        return self._answered(rows.filter(pa.array(ready)))

    def _latest(self, groups: np.ndarray, ticks: np.ndarray, own: np.ndarray, left: pa.Table) -> np.ndarray:
        at = to_ticks(left[self.spec.time[LEFT]])
        return latest(groups, ticks, own, at, strict=self.spec.strict, within=self.spec.within)

    def _answered(self, left: pa.Table) -> list[pa.Table]:
        """Left rows with their partners."""
        if not left.num_rows:
            return []
        right = self._rows(RIGHT)
        own, groups = self._codes(left, right)
        asked = np.zeros(int(max(own.max(), groups.max(initial=0))) + 1, dtype=np.bool_)
        asked[own] = True
        near = np.flatnonzero(asked[groups])
        right, groups = right.take(pa.array(near)), groups[near]
        order = self._in_order(groups, right)
        ticks = to_ticks(right[self.spec.time[RIGHT]])
        place = self._latest(groups[order], ticks[order], own, left)
        found = place >= 0
        partner = np.full(len(place), -1, dtype=np.int64)
        partner[found] = order[place[found]]
        if not self.spec.outer:
            # It was accepted when it came, to wait for a partner.
            self.meter.filtered += int((~found).sum())
            self.meter.accepted -= int((~found).sum())
            left, partner = left.filter(pa.array(found)), partner[found]
        return [self._pairs(left, right, partner)]

    def _unpaired(self, left: pa.Table) -> list[pa.Table]:
        """Left rows that have no partner."""
        if not self.spec.outer:
            self.meter.filtered += left.num_rows
            return []
        self.meter.accepted += left.num_rows
        none = np.full(left.num_rows, -1, dtype=np.int64)
        return [self._pairs(left, self.spec.schemas[RIGHT].empty_table(), none)]

    def _pairs(self, left: pa.Table, right: pa.Table, partner: np.ndarray) -> pa.Table:
        index = pa.array(partner, mask=partner < 0)
        columns = [left[column] if side == LEFT else right[column].take(index) for _, side, column in self.spec.columns]
        return pa.Table.from_arrays(columns, names=[name for name, _, _ in self.spec.columns]).cast(self.spec.schema)
