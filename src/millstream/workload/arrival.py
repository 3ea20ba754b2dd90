"""A stream as it arrives, and how far it has truly come: what no generator of punctuation can know better.

The true progress after a row is the least value that is still to come. A source knows it only if it knows its future,
so it is for measuring: of how late a promise is, and whether one was broken. tests/laws/test_arrival.py holds it to the
rows themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.workload.disorder import ticks_of


@dataclass(frozen=True, slots=True, eq=False)
class Arrival:
    """Rows in order of arrival, and the true progress of one attribute.

    >>> stream = arrive(pa.table({"t": [1, 4, 3, 6, 5]}), "t")
    >>> stream.bounds.tolist()
    [3, 3, 5, 5, 7]
    """

    rows: pa.Table
    attribute: str
    bounds: np.ndarray
    """After row i every later row is at least `bounds[i]`, in ticks; after the last, one above the greatest."""

    def bounds_of(self, key: str) -> np.ndarray:
        """After row i every later row with the same `key` as row i is at least this, in ticks.

        >>> arrive(pa.table({"t": [1, 4, 3, 6], "site": ["a", "b", "a", "b"]}), "t").bounds_of("site").tolist()
        [3, 6, 7, 7]
        """
        codes = self.rows.column(key).combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        ticks = ticks_of(self.rows, self.attribute)
        out = np.empty(len(ticks), dtype=np.int64)
        for code in np.unique(codes):
            mine = np.flatnonzero(codes == code)
            out[mine] = _later(ticks[mine], _top(ticks))
        return out

    def epochs(self, rows: int) -> Iterator[tuple[pa.Table, Any]]:
        """The stream in epochs of `rows` rows, each with its bound as a value of the attribute.

        Hand them to an engine as `ms.Epoch(rows, [ms.punctuation(attribute, before=bound)])`.

        >>> for epoch, bound in arrive(pa.table({"t": [1, 4, 3, 6, 5]}), "t").epochs(2):
        ...     print(epoch["t"].to_pylist(), bound)
        [1, 4] 3
        [3, 6] 5
        [5] 7
        """
        if rows < 1:
            raise SourceError(f"rows is {rows}, so no epoch has any", hint="Give at least 1.")
        for first in range(0, self.rows.num_rows, rows):
            last = min(first + rows, self.rows.num_rows) - 1
            yield self.rows.slice(first, rows), self.value(int(self.bounds[last]))

    def value(self, tick: int) -> Any:
        """A tick as a value of the attribute."""
        kind = self.rows.schema.field(self.attribute).type
        whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
        return pa.scalar(tick, whole).cast(kind).as_py()


def arrive(table: pa.Table, attr: str) -> Arrival:
    """A table whose rows arrive as they stand, with its true progress."""
    ticks = ticks_of(table, attr)
    return Arrival(table, attr, _later(ticks, _top(ticks)))


def _top(ticks: np.ndarray) -> int:
    return int(ticks.max()) + 1 if len(ticks) else 0


def _later(ticks: np.ndarray, top: int) -> np.ndarray:
    """The least of the values after each place."""
    return np.minimum.accumulate(np.append(ticks, top)[:0:-1])[::-1]
