"""The ring: rows stay where they are kept, and what looks for them travels to all places, one stream after another.

Where streams have no key in common, the rows of each are spread over places by blocks of time. New rows are brought to
all places, look there for partners in the first stream of their order, and what is found is brought to all places
again, for the next stream: as many steps as there are other streams, and nothing is stored on the way. A place keeps a
row if the row's block is its own; so every combination is found once, wherever blocks lie.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from millstream.ops.many.join import ManyJoin
from millstream.ops.many.join_order import Fans
from millstream.ops.many.keyed_runs import KeyedRun, hashed
from millstream.ops.many.probe import Bound, Probe
from millstream.ops.many.views import View

Fresh = Mapping[int, KeyedRun]
"""By stream: the new rows of an epoch whose home is here."""


class RingStep:
    """One step of an epoch at one place: its operator with the state that it had before the epoch."""

    def __init__(self, operator: ManyJoin, fresh: Fresh) -> None:
        """`fresh` are the epoch's rows that will be kept here."""
        self.operator = operator
        self.spec = operator.spec
        self.fresh = fresh
        self._kept = {i: operator.view(i).runs for i in range(self.spec.streams)}

    def rows(self, port: int, rows: pa.Table) -> tuple[Probe, Bound]:
        """New rows of a port, ready to look for partners."""
        return self._ready(port, {port: self.spec.schemas[port].names}, {port: rows})

    def partial(self, port: int, found: pa.Table) -> tuple[Probe, Bound]:
        """Partial combinations that began with rows of a port, as `table` gave them to travel."""
        columns: dict[int, list[str]] = {}
        for name in found.column_names:
            stream, column = name.split(":", 1)
            columns.setdefault(int(stream), []).append(column)
        parts = {
            stream: found.select([f"{stream}:{name}" for name in names]).rename_columns(names)
            for stream, names in columns.items()
        }
        return self._ready(port, columns, parts)

    def _ready(
        self, port: int, columns: Mapping[int, Sequence[str]], parts: Mapping[int, pa.Table]
    ) -> tuple[Probe, Bound]:
        views = [
            View([self._as_they_are(i, parts[i])]) if i in columns else self._seen_by(port, i)
            for i in range(self.spec.streams)
        ]
        rows = next(iter(parts.values())).num_rows
        bound: dict[int, np.ndarray] = {i: np.arange(rows) for i in columns}
        return Probe(self.spec, views, self.operator.fans), bound

    def _as_they_are(self, stream: int, rows: pa.Table) -> KeyedRun:
        """Rows that are only looked up by their numbers, and so need not be sorted."""
        at = self.operator.ticks(stream, rows)
        hashes = hashed(self.spec, stream, rows)
        return KeyedRun(rows, at, hashes, (None,) * len(hashes))

    def _seen_by(self, port: int, stream: int) -> View:
        """The rows of a stream that new rows of a port can meet: those kept, and new ones of the ports before."""
        new = [self.fresh[stream]] if stream in self.fresh and stream < port else []
        return View([*self._kept[stream], *new])

    def steps(self, port: int, begun: tuple[Probe, Bound], step: int) -> Iterator[Bound]:
        """What a step finds for partial combinations."""
        probe, bound = begun
        stream = self.operator.order_of(port)[step]
        if len(probe.views[stream]) and len(next(iter(bound.values()))):
            yield from probe.step(bound, stream)

    def table(self, probe: Probe, found: Bound) -> pa.Table:
        """Partial combinations, to travel: all that a later step or a reader asks of the rows that are there."""
        arrays: list[pa.Array | pa.ChunkedArray] = []
        names: list[str] = []
        for stream, numbers in found.items():
            taken = pa.array(numbers)
            for column in self._asked(stream):
                names.append(f"{stream}:{column}")
                arrays.append(probe.views[stream].column(column).take(taken))
        return pa.Table.from_arrays(arrays, names=names)

    def _asked(self, stream: int) -> list[str]:
        read = [column for _, of, column in self.spec.columns if of == stream]
        return list(dict.fromkeys([self.spec.spans.names[stream], *self.spec.key_columns(stream), *read]))


def home(at: np.ndarray, width: int, places: int) -> np.ndarray:
    """The place that each time's block belongs to.

    >>> home(np.array([0, 9, 10, 25, -1]), 10, 2).tolist()
    [0, 0, 1, 0, 1]
    """
    out: np.ndarray = (at // width) % places
    return out


def block(longest: int, places: int, seen: Fans | None = None) -> int:
    """How wide a block is: a place has so many of them in a window that one more or less does not matter.

    In a burst blocks are narrower, so that none has more than its share of the rows that are kept. Where a row is kept
    decides nothing but where it is found, so that a width may change from epoch to epoch, and no row moves.

    >>> block(320, 2), block(320, 2, Fans(rows={0: 320.0}, pace=1.0)), block(320, 2, Fans(rows={0: 320.0}, pace=5.0))
    (10, 10, 2)
    """
    width = max(1, longest // (_BLOCKS * places))
    rows = 0.0 if seen is None else sum(seen.rows.values())
    if seen is None or not rows or not seen.pace:
        return width
    return max(1, min(width, int(rows / (_BLOCKS * places) / seen.pace)))


_BLOCKS = 16
