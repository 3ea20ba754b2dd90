"""The rows that one side of a join keeps: sorted runs, cut by time, dropped whole when no partner can come.

A segment has the rows of one run, in a table named after the side, and, where it matters, a bitmap of those that have
had a partner. The bitmap is apart, so that marking rows does not write them anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from millstream.kernels.pairs import Run, pack, sort_run
from millstream.state.slices import Slices
from millstream.state.store import Segment, Store

SIDES = ("left", "right")
CODE, AT = "__ms_code", "__ms_at"
_MATCHED = "matched"
# So many runs of like size in a slice are merged into one.
_MANY = 4


@dataclass(frozen=True, slots=True)
class Held:
    """A run of rows, sorted, and which of them have had a partner."""

    rows: pa.Table
    """With the columns CODE and AT."""
    run: Run
    matched: np.ndarray | None

    @classmethod
    def of(cls, rows: pa.Table, hashes: np.ndarray, at: np.ndarray, matched: np.ndarray | None) -> Held:
        """Rows, sorted here, with their hashes and coordinates."""
        order, run = sort_run(hashes, at)
        kept = rows.select([name for name in rows.column_names if name not in (CODE, AT)]).take(pa.array(order))
        return cls(_with(kept, run), run, None if matched is None else matched[order])

    def where(self, mask: np.ndarray) -> Held:
        """Some of the rows, in the same order."""
        rows, at = self.rows.filter(pa.array(mask)), self.run.at[mask]
        matched = None if self.matched is None else self.matched[mask]
        hashes = self.run.code[mask] >> np.uint64(32)
        if self.run.shift:  # codes were rounded, and finer ones may order the rows otherwise
            return Held.of(rows, hashes, at, matched)
        low, high = int(at.min()), int(at.max())
        run = Run(pack(hashes, at, low, 0), at, low, high)
        return Held(_with(rows.drop_columns([CODE, AT]), run), run, matched)

    def marked(self, places: np.ndarray) -> Held:
        """The same, with more rows that have had a partner."""
        assert self.matched is not None
        matched = self.matched.copy()
        matched[places] = True
        return replace(self, matched=matched)

    def segment(self, side: int) -> Segment:
        """To be kept."""
        tables = {SIDES[side]: self.rows}
        if self.matched is not None:
            tables[_MATCHED] = pa.table({"bits": pa.array([np.packbits(self.matched).tobytes()], pa.binary())})
        return Segment(tables, self.run.low, self.run.high)


def _with(rows: pa.Table, run: Run) -> pa.Table:
    return rows.append_column(CODE, pa.array(run.code)).append_column(AT, pa.array(run.at)).combine_chunks()


def opened(segment: Segment, side: int) -> Held:
    """What a segment of a side holds."""
    rows = segment.tables[SIDES[side]]
    run = Run(rows[CODE].combine_chunks().to_numpy(), rows[AT].combine_chunks().to_numpy(), segment.low, segment.high)
    matched = None
    if _MATCHED in segment.tables:
        bits = np.frombuffer(segment.tables[_MATCHED]["bits"][0].as_py(), dtype=np.uint8)
        matched = np.unpackbits(bits, count=rows.num_rows).astype(np.bool_)
    return Held(rows, run, matched)


def of_side(store: Store, side: int) -> Iterator[tuple[int, Segment]]:
    """The runs of one side, unopened: their places in the store, and the segments there."""
    for place, segment in enumerate(store.segments):
        if SIDES[side] in segment.tables:
            yield place, segment


def tidy(segments: Sequence[Segment], reached: Sequence[Segment], side: int, slices: Slices) -> list[Segment]:
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
        cut += _cut(segment, side, slices, width) if id(segment) in old else [segment]
    alike: dict[tuple[int, int], list[Segment]] = {}
    for segment in cut:
        size = segment.tables[SIDES[side]].num_rows.bit_length() // 2
        alike.setdefault((slices.number(segment.low, width), size), []).append(segment)
    out: list[Segment] = []
    for some in alike.values():
        out += [_merged(some, side)] if len(some) >= _MANY else some
    return out


def _cut(segment: Segment, side: int, slices: Slices, width: int) -> list[Segment]:
    """A segment that is wider than a slice, slice by slice."""
    if segment.high - segment.low < width:
        return [segment]
    held = opened(segment, side)
    numbers = slices.numbers(held.run.at, width)
    return [held.where(numbers == number).segment(side) for number in np.unique(numbers)]


def _merged(segments: Sequence[Segment], side: int) -> Segment:
    held = [opened(segment, side) for segment in segments]
    hashes = np.concatenate([one.run.code for one in held]) >> np.uint64(32)
    at = np.concatenate([one.run.at for one in held])
    marks = [one.matched for one in held if one.matched is not None]
    rows = pa.concat_tables([one.rows for one in held])
    return Held.of(rows, hashes, at, np.concatenate(marks) if marks else None).segment(side)
