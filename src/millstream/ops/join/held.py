"""The rows that one side of a join keeps: sorted runs, cut by time, dropped whole when no partner can come.

A segment has the rows of one run, in a table named after the side, and, where it matters, a bitmap of those that have
had a partner. The bitmap is apart, so that marking rows does not write them anew. What can be computed of a row in no
time is not kept: coordinates never, hashes only of keys that are not numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from millstream.core.feedback import Records
from millstream.kernels.pairs import SortedRun, pack, sort_run
from millstream.ops.guard import wanted
from millstream.ops.join.join_spec import Layout
from millstream.state.slices import Slices
from millstream.state.store import Segment, Store

SIDES = ("left", "right")
HASH = "__ms_hash"
_FORMERLY = ("__ms_code", "__ms_at")
"""What older checkpoints have beside the rows."""
_MATCHED, _BITS, _OF = "matched", "bits", "of"
# So many runs of like size in a slice are merged into one.
_MANY = 4


@dataclass(frozen=True, slots=True)
class Held:
    """A run of rows, sorted, and which of them have had a partner."""

    rows: pa.Table
    run: SortedRun
    matched: np.ndarray | None
    """One mark a row; or, where several joins read the rows, one a row and join."""
    of: tuple[int, ...] | None = None
    """The joins that `matched` has marks of, where there are several."""

    @classmethod
    def of_rows(
        cls,
        rows: pa.Table,
        hashes: np.ndarray,
        at: np.ndarray,
        matched: np.ndarray | None,
        of: tuple[int, ...] | None = None,
    ) -> Held:
        """Rows, sorted here, with their hashes and coordinates."""
        order, run = sort_run(hashes, at)
        return cls(rows.take(pa.array(order)).combine_chunks(), run, None if matched is None else matched[order], of)

    @property
    def hashes(self) -> np.ndarray:
        """Of the keys of each row."""
        return self.run.code >> np.uint64(32)

    def where(self, mask: np.ndarray) -> Held:
        """Some of the rows, in the same order."""
        rows, at = self.rows.filter(pa.array(mask)), self.run.at[mask]
        matched = None if self.matched is None else self.matched[mask]
        hashes = self.hashes[mask]
        if self.run.shift:  # codes were rounded, and finer ones may order the rows otherwise
            return Held.of_rows(rows, hashes, at, matched, self.of)
        low, high = int(at.min()), int(at.max())
        return Held(rows.combine_chunks(), SortedRun(pack(hashes, at, low, 0), at, low, high), matched, self.of)

    def marked(self, places: np.ndarray) -> Held:
        """The same, with more rows that have had a partner."""
        assert self.matched is not None
        matched = self.matched.copy()
        matched[places] = True
        return replace(self, matched=matched)

    def segment(self, side: int, layout: Layout) -> Segment:
        """To be kept."""
        rows = self.rows
        if HASH not in rows.column_names and layout.dear(side, rows):
            rows = rows.append_column(HASH, pa.array(self.hashes.astype(np.uint32)))
        tables = {SIDES[side]: rows}
        if self.matched is not None:
            marks = {_BITS: pa.array([np.packbits(self.matched).tobytes()], pa.binary())}
            if self.of is not None:
                marks[_OF] = pa.array([list(self.of)], pa.list_(pa.int64()))
            tables[_MATCHED] = pa.table(marks)
        return Segment(tables, self.run.low, self.run.high)


def opened(segment: Segment, side: int, layout: Layout) -> Held:
    """What a segment of a side holds."""
    rows = segment.tables[SIDES[side]]
    if _FORMERLY[0] in rows.column_names:
        rows = rows.drop_columns([name for name in _FORMERLY if name in rows.column_names])
    hashes = (
        rows[HASH].combine_chunks().to_numpy().astype(np.uint64)
        if HASH in rows.column_names
        else layout.hashes(side, rows)
    )
    at = layout.at(side, rows)
    shift = SortedRun(at[:0], at[:0], segment.low, segment.high).shift
    run = SortedRun(pack(hashes, at, segment.low, shift), at, segment.low, segment.high)
    if _MATCHED not in segment.tables:
        return Held(rows, run, None)
    marks = segment.tables[_MATCHED]
    bits = np.frombuffer(marks[_BITS][0].as_py(), dtype=np.uint8)
    if _OF not in marks.column_names:
        return Held(rows, run, np.unpackbits(bits, count=rows.num_rows).astype(np.bool_))
    of = tuple(marks[_OF][0].as_py())
    flat = np.unpackbits(bits, count=rows.num_rows * len(of)).astype(np.bool_)
    return Held(rows, run, flat.reshape(rows.num_rows, len(of)), of)


def of_side(store: Store, side: int) -> Iterator[tuple[int, Segment]]:
    """The runs of one side, unopened: their places in the store, and the segments there."""
    for place, segment in enumerate(store.segments):
        if SIDES[side] in segment.tables:
            yield place, segment


def without(store: Store, ignored: Mapping[int, Records], layout: Layout) -> Iterator[Segment]:
    """The runs of both sides without rows that nobody has any use for."""
    for segment in store.segments:
        side = 0 if SIDES[0] in segment.tables else 1
        keep = wanted(ignored.get(side, ()), segment.tables[SIDES[side]])
        if keep is None:
            yield segment
        elif keep.any():
            yield opened(segment, side, layout).where(keep).segment(side, layout)


def tidy(
    segments: Sequence[Segment], reached: Sequence[Segment], side: int, slices: Slices, layout: Layout
) -> list[Segment]:
    """The same rows without too many small runs; those that the bound has `reached` cut at the boundaries of slices.

    What the bound has not reached is left as it came: most of a long epoch goes when it does, and need not be cut.
    """
    if not segments:
        return []
    old = {id(segment) for segment in reached}
    span = max(one.high for one in segments) - min(one.low for one in segments)
    width = slices.width(span, sum(one.tables[SIDES[side]].num_rows for one in segments))
    cut: list[Segment] = []
    for segment in segments:
        cut += _cut(segment, side, slices, width, layout) if id(segment) in old else [segment]
    alike: dict[tuple[int, int], list[Segment]] = {}
    for segment in cut:
        size = segment.tables[SIDES[side]].num_rows.bit_length() // 2
        alike.setdefault((slices.number(segment.low, width), size), []).append(segment)
    out: list[Segment] = []
    for some in alike.values():
        out += [_merged(some, side, layout)] if len(some) >= _MANY else some
    return out


def _cut(segment: Segment, side: int, slices: Slices, width: int, layout: Layout) -> list[Segment]:
    """A segment that is wider than a slice, slice by slice."""
    if segment.high - segment.low < width:
        return [segment]
    held = opened(segment, side, layout)
    numbers = slices.numbers(held.run.at, width)
    return [held.where(numbers == number).segment(side, layout) for number in np.unique(numbers)]


def _merged(segments: Sequence[Segment], side: int, layout: Layout) -> Segment:
    held = [opened(segment, side, layout) for segment in segments]
    hashes = np.concatenate([one.hashes for one in held])
    at = np.concatenate([one.run.at for one in held])
    marks = [one.matched for one in held if one.matched is not None]
    rows = pa.concat_tables([one.rows for one in held])
    matched = np.concatenate(marks) if marks else None
    return Held.of_rows(rows, hashes, at, matched, held[0].of).segment(side, layout)
