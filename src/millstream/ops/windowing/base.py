"""What all window strategies share: reading the attribute, asking for bounds, writing results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM, END
from millstream.core.feedback import Records
from millstream.core.pattern import ANY, Between, From, Pattern, UpTo, ValuePattern
from millstream.core.progress import Progress
from millstream.core.promise.windows import promised
from millstream.kernels.aggregates.parts.failed import ERROR, VALUE, marked
from millstream.kernels.partials import KEY, Bundle, Merged
from millstream.kernels.ticks import to_ticks, too_far
from millstream.ops.guard import wanted
from millstream.ops.operator import Operator, group_bounds, says_of_groups
from millstream.state.store import Segment

if TYPE_CHECKING:
    from millstream.ops.windowing.aggregate_spec import Spec

# Segments are merged into one when there are more than this many: an epoch adds one at most.
MANY = 8


class WindowOperator(Operator):
    """An operator whose state is partials by cell and whose output is closed windows."""

    def __init__(self, spec: Spec) -> None:
        """Compute what `spec` says."""
        super().__init__()
        self.spec = spec
        self.partials = spec.partials()

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        column = rows[self.spec.attribute]
        if column.null_count:
            self.reject(rows.filter(pc.is_null(column)), f"{self.spec.attribute} is null")
            rows = rows.filter(pc.is_valid(column))
        if not rows.num_rows:
            return []
        ticks = to_ticks(rows[self.spec.attribute])
        far = too_far(ticks, self.spec.reach)
        if far is not None:
            self.reject(rows.filter(pa.array(far)), f"{self.spec.attribute} is too far out for its windows")
            rows, ticks = rows.filter(pa.array(~far)), ticks[~far]
        return self._take_ticks(rows, ticks) if rows.num_rows else []

    def _take_ticks(self, rows: pa.Table, ticks: np.ndarray) -> list[pa.Table]:
        raise NotImplementedError

    def _leave(self, tables: list[pa.Table]) -> list[pa.Table]:
        return super()._leave([answered(self, table) for table in tables])

    def bounds(self, progress: Progress, groups: pa.Table) -> np.ndarray:
        """The bound on the windowing attribute of each group."""
        return group_bounds(progress, self.spec.attribute, groups, self.spec.groups)

    def moved(self, before: Progress, now: Progress) -> bool:
        """Could anything new have been promised about the windowing attribute?"""
        name = self.spec.attribute
        if now.ended or now.bound(name) > before.bound(name):
            return True
        return says_of_groups(now, name, self.spec.groups)

    def bundles(self) -> list[Bundle]:
        """The live partials, as the store holds them."""
        return [as_bundle(segment) for segment in self.store.segments if "fixed" in segment.tables]

    def absorb(self, bundle: Bundle) -> None:
        """Keep more partials."""
        self.store.add(self._segment(bundle))
        if len(self.store.segments) > MANY and self._mergeable():
            self._keep(self.partials.merge(self.bundles()).bundle)

    def _mergeable(self) -> bool:
        return all("fixed" in segment.tables for segment in self.store.segments)

    def _keep(self, bundle: Bundle, *others: Segment) -> None:
        self.store.replace([self._segment(bundle), *others])

    def _segment(self, bundle: Bundle) -> Segment:
        return as_segment(bundle)

    def reaches(self, key: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The ticks that rows of cells can have: from, and up to; None if cells do not tell."""
        return None

    def forget(self, ignored: Mapping[int, Records]) -> None:
        """Drop the partials of groups that nobody asks for, or of those of them that lie in a range of ticks."""
        names = {*self.spec.groups, self.spec.attribute}
        records = [one for one in ignored.get(0, ()) if one.attributes.keys() <= names]
        if not records or not self.store.segments or not self._mergeable():
            return
        merged = self.partials.merge(self.bundles())
        drop = np.zeros(len(merged.key), dtype=np.bool_)
        for one in records:
            parts = dict(one.attributes)
            ticks = parts.pop(self.spec.attribute, ANY) if self.spec.attribute not in self.spec.groups else ANY
            within = _within(ticks, self.reaches(merged.key), len(drop))
            others = wanted((Pattern(parts),), merged.groups) if parts and within.any() else None
            if not parts:
                drop |= within
            elif others is not None:
                drop |= within & ~others[merged.group]
        if drop.any():
            bags = {i: ~drop[self.partials.cells_of(merged, bag)] for i, bag in merged.bundle.bags.items()}
            left = select(merged, ~drop, bags)
            self.store.replace([self._segment(left)] if left.fixed.num_rows else [])

    def promises(self) -> Progress:
        """What its own progress gives."""
        return self.promised(self.progress[0])

    def promised(self, now: Progress) -> Progress:
        """What progress of the input gives."""
        return promised(self.spec.shape, now)


def _within(said: ValuePattern, reach: tuple[np.ndarray, np.ndarray] | None, number: int) -> np.ndarray:
    """Which cells have only rows that match what is said of the attribute."""
    if said == ANY:
        return np.ones(number, dtype=np.bool_)
    if reach is None:
        return np.zeros(number, dtype=np.bool_)
    low, high = reach
    match said:
        case UpTo(bound):
            return np.less_equal(high, bound)
        case From(bound):
            return np.greater_equal(low, bound)
        case Between(start, end):
            return (low >= start) & (high <= end)
        case _:
            return np.zeros(number, dtype=np.bool_)


def answered(operator: Operator, table: pa.Table) -> pa.Table:
    """The results that could be computed; the operator rejects the others, with their group and window."""
    for name in [field.name for field in table.schema if marked(field.type)]:
        column = table[name].combine_chunks()
        why, place = pc.struct_field(column, ERROR), table.schema.get_field_index(name)
        known = [n for n in table.schema.names if not marked(table.schema.field(n).type)]
        for reason in why.unique().drop_null().to_pylist():
            bad = table.filter(pc.equal(why, reason)).select(known)
            operator.reject_made(bad, f"{name}: {reason}")
        table = table.set_column(place, name, pc.struct_field(column, VALUE)).filter(pc.is_null(why))
    return table


def as_segment(bundle: Bundle) -> Segment:
    """A bundle as a segment: its tables, and the range of keys they cover."""
    tables = {"fixed": bundle.fixed, **{f"bag.{i}": bag for i, bag in bundle.bags.items()}}
    if not bundle.fixed.num_rows:
        return Segment(tables, 0, -1)
    extremes = pc.min_max(bundle.fixed[KEY])
    return Segment(tables, extremes["min"].as_py(), extremes["max"].as_py())


def as_bundle(segment: Segment) -> Bundle:
    """A segment as the bundle it was."""
    bags = {int(name[4:]): table for name, table in segment.tables.items() if name.startswith("bag.")}
    return Bundle(segment.tables["fixed"], bags)


def clip(bounds: np.ndarray, low: int, high: int) -> np.ndarray:
    """Bounds brought within the ticks that matter, so that −∞ and ∞ can be reckoned with.

    >>> clip(np.array([BOTTOM, 5, END]), 0, 9).tolist()
    [0, 5, 9]
    """
    return np.clip(bounds, low, high)


def select(merged: Merged, mask: np.ndarray, bag_masks: dict[int, np.ndarray]) -> Bundle:
    """The cells, and the values in bags, that the masks keep."""
    bags = {i: bag.filter(pa.array(bag_masks[i])) for i, bag in merged.bundle.bags.items()}
    return Bundle(merged.bundle.fixed.filter(pa.array(mask)), bags)


__all__ = ["BOTTOM", "END", "MANY", "WindowOperator", "answered", "as_bundle", "as_segment", "clip", "select"]
