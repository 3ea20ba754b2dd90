"""The rows of one of many streams: sorted runs, cut by time, that can be searched by each of the stream's keys.

A run is sorted by the hash of the first link's keys and by time. For each other link it has the order of its rows by
that link, four bytes a row. Coordinates and the hashes of numbers are computed when a run is opened, and never kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.kernels.key_hash import key_hash
from millstream.kernels.pairs import SortedRun, pack
from millstream.kernels.ticks import to_ticks
from millstream.ops.many.many_spec import ManySpec
from millstream.state.slices import Slices
from millstream.state.store import Segment

_AT, _BY, _HASH = "__ms_at", "__ms_by_", "__ms_hash_"
_MATCHED, _BITS = "matched", "bits"
_MANY = 4
"""So many runs of like size in a slice are merged into one."""


def name_of(stream: int) -> str:
    """The table of a segment that has rows of a stream."""
    return f"stream_{stream}"


@dataclass(slots=True)
class KeyedRun:
    """Some rows of a stream, in order of the first link."""

    rows: pa.Table
    at: np.ndarray
    hashes: tuple[np.ndarray, ...]
    """By link of the stream."""
    orders: tuple[np.ndarray | None, ...]
    """By link of the stream: its order, where it is not that of the rows."""
    matched: np.ndarray | None = None
    """Which rows have been part of a combination, where that matters."""
    low: int = 0
    high: int = -1
    _sorted: dict[int, SortedRun] = field(default_factory=dict[int, SortedRun])
    _by_time: np.ndarray | None = None

    def __post_init__(self) -> None:
        if len(self.at):
            self.low, self.high = int(self.at.min()), int(self.at.max())

    @classmethod
    def of(
        cls, rows: pa.Table, hashes: Sequence[np.ndarray], at: np.ndarray, matched: np.ndarray | None = None
    ) -> KeyedRun:
        """Rows, sorted here."""
        if not len(at):
            return cls(rows, at, tuple(hashes), (None,) * len(hashes), matched)
        low = int(at.min())
        shift = SortedRun(at[:0], at[:0], low, int(at.max())).shift
        first = hashes[0] if hashes else np.zeros(len(at), dtype=np.uint64)
        order = np.argsort(pack(first, at, low, shift), kind="stable")
        at = at[order]
        mine = tuple(one[order] for one in hashes)
        others = (np.argsort(pack(one, at, low, shift), kind="stable").astype(np.uint32) for one in mine[1:])
        orders = (None, *others) if hashes else ()
        taken = rows.take(pa.array(order)).combine_chunks()
        return cls(taken, at, mine, orders, None if matched is None else matched[order])

    def by(self, link: int | None) -> SortedRun:
        """Sorted by a link of the stream, or by time alone."""
        key = -1 if link is None else link
        if key not in self._sorted:
            order = None if link is None else self.orders[link]
            hashes = np.zeros(len(self.at), dtype=np.uint64) if link is None else self.hashes[link]
            at = self.at
            empty = SortedRun(at[:0], at[:0], self.low, self.high)
            if link is None and self.hashes:
                order = np.argsort(at, kind="stable")
            if order is not None:
                hashes, at = hashes[order], at[order]
            self._sorted[key] = SortedRun(pack(hashes, at, self.low, empty.shift), at, self.low, self.high)
            if link is None:
                self._by_time = order
        return self._sorted[key]

    def places(self, link: int | None, found: np.ndarray) -> np.ndarray:
        """Places in the order of a link as places of rows."""
        order = self._by_time if link is None else self.orders[link]
        return found if order is None else order[found]

    def where(self, mask: np.ndarray) -> KeyedRun:
        """Some of the rows, in the same order."""
        rows, at = self.rows.filter(pa.array(mask)), self.at[mask]
        hashes = tuple(one[mask] for one in self.hashes)
        matched = None if self.matched is None else self.matched[mask]
        if (self.high - self.low).bit_length() > 32:  # codes were rounded: finer ones may order rows otherwise
            return KeyedRun.of(rows, hashes, at, matched)
        new = np.cumsum(mask) - 1
        orders = tuple(None if one is None else new[one[mask[one]]].astype(np.uint32) for one in self.orders)
        return KeyedRun(rows.combine_chunks(), at, hashes, orders, matched)

    def segment(self, spec: ManySpec, stream: int) -> Segment:
        """To be kept."""
        rows = self.rows
        for n, (hashes, order) in enumerate(zip(self.hashes, self.orders, strict=True)):
            if _dear(spec, stream, n):
                rows = rows.append_column(f"{_HASH}{n}", pa.array(hashes.astype(np.uint32)))
            if order is not None:
                rows = rows.append_column(f"{_BY}{n}", pa.array(order))
        if spec.rows is not None:
            rows = rows.append_column(_AT, pa.array(self.at))
        tables = {name_of(stream): rows}
        if self.matched is not None:
            tables[_MATCHED] = _marks(self.matched)
        return Segment(tables, self.low, self.high)

    def marked(self, segment: Segment) -> Segment:
        """The segment that holds the run, with the marks that the run has now; its rows are not written anew."""
        if self.matched is None:
            return segment
        marks = _marks(self.matched)
        if marks.equals(segment.tables[_MATCHED]):
            return segment
        return Segment({**segment.tables, _MATCHED: marks}, segment.low, segment.high)

    def often(self, link: int) -> float:
        """How many rows have the keys of a link of the stream, on average."""
        order = self.orders[link]
        hashes = self.hashes[link] if order is None else self.hashes[link][order]
        return len(hashes) / (1 + np.count_nonzero(np.diff(hashes)))


def _marks(matched: np.ndarray) -> pa.Table:
    return pa.table({_BITS: pa.array([np.packbits(matched).tobytes()], pa.binary())})


def hashed(spec: ManySpec, stream: int, rows: pa.Table) -> tuple[np.ndarray, ...]:
    """By link of a stream: the hashes of rows' keys."""
    links = (spec.links[n] for n in spec.links_of[stream])
    return tuple(key_hash([rows[name] for name in link.columns(stream)], rows.num_rows) for link in links)


def opened(segment: Segment, spec: ManySpec, stream: int) -> KeyedRun:
    """The run that a segment holds."""
    table = segment.tables[name_of(stream)]
    rows = table.select([name for name in table.column_names if name in spec.schemas[stream].names])
    hashes: list[np.ndarray] = []
    orders: list[np.ndarray | None] = []
    for n, number in enumerate(spec.links_of[stream]):
        if f"{_HASH}{n}" in table.column_names:
            hashes.append(_numbers(table, f"{_HASH}{n}").astype(np.uint64))
        else:
            hashes.append(key_hash([rows[name] for name in spec.links[number].columns(stream)], rows.num_rows))
        orders.append(_numbers(table, f"{_BY}{n}") if f"{_BY}{n}" in table.column_names else None)
    at = _numbers(table, _AT) if spec.rows is not None else to_ticks(rows[spec.spans.names[stream]])
    matched = None
    if _MATCHED in segment.tables:
        bits = np.frombuffer(segment.tables[_MATCHED][_BITS][0].as_py(), dtype=np.uint8)
        matched = np.unpackbits(bits, count=rows.num_rows).astype(np.bool_)
    return KeyedRun(rows, at, tuple(hashes), tuple(orders), matched)


def tidy(
    segments: Sequence[Segment], reached: Sequence[Segment], spec: ManySpec, stream: int, slices: Slices
) -> list[Segment]:
    """The same rows without too many small runs; those that the bound has `reached` cut at the boundaries of slices."""
    if not segments:
        return []
    old = {id(one) for one in reached}
    span = max(one.high for one in segments) - min(one.low for one in segments)
    width = slices.width(span, sum(one.tables[name_of(stream)].num_rows for one in segments))
    cut: list[Segment] = []
    for segment in segments:
        if id(segment) not in old or segment.high - segment.low < width:
            cut.append(segment)
            continue
        run = opened(segment, spec, stream)
        numbers = slices.numbers(run.at, width)
        cut += [run.where(numbers == number).segment(spec, stream) for number in np.unique(numbers)]
    alike: dict[tuple[int, int], list[Segment]] = {}
    for segment in cut:
        size = segment.tables[name_of(stream)].num_rows.bit_length() // 2
        alike.setdefault((slices.number(segment.low, width), size), []).append(segment)
    out: list[Segment] = []
    for some in alike.values():
        out += (
            [merged([opened(one, spec, stream) for one in some]).segment(spec, stream)] if len(some) >= _MANY else some
        )
    return out


def merged(runs: Sequence[KeyedRun]) -> KeyedRun:
    """Several runs as one."""
    links = range(len(runs[0].hashes))
    hashes = [np.concatenate([one.hashes[n] for one in runs]) for n in links]
    marks = [one.matched for one in runs if one.matched is not None]
    rows, at = pa.concat_tables([one.rows for one in runs]), np.concatenate([one.at for one in runs])
    return KeyedRun.of(rows, hashes, at, np.concatenate(marks) if marks else None)


def _dear(spec: ManySpec, stream: int, link: int) -> bool:
    """Is it worth four bytes a row to keep the hashes of a link's keys? Those of numbers are made in no time."""
    columns = spec.links[spec.links_of[stream][link]].columns(stream)
    kinds = (spec.schemas[stream].field(name).type for name in columns)
    return any(not (pa.types.is_primitive(kind) or pa.types.is_boolean(kind)) for kind in kinds)


def _numbers(table: pa.Table, name: str) -> np.ndarray:
    return table[name].combine_chunks().to_numpy(zero_copy_only=False)
