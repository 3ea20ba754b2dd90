"""How many rows each partition of a stream has had, in runs: an epoch writes the counts that it changed.

Counts only grow, so the greatest one of a partition is the newest, whatever run it is in.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.kernels.group import encode
from millstream.ops.runs import filtered, merged
from millstream.state.store import Segment, Store

_TABLE = "counts"
_COUNT = "__ms_count"


@dataclass(frozen=True, slots=True)
class Totals:
    """The count of each partition, at some time."""

    names: tuple[str, ...]
    keys: pa.Table
    """One row per partition."""
    count: np.ndarray
    codes: np.ndarray
    """For each row of the runs, in order: its partition."""

    def each(self, rows: pa.Table, values: np.ndarray, otherwise: int) -> np.ndarray:
        """The value of each row's partition, where partitions have `values`; `otherwise` for one without a count."""
        known = len(self.count)
        if not known:
            return np.full(int(rows.num_rows), otherwise, dtype=np.int64)
        if not self.names:
            return np.full(int(rows.num_rows), values[0], dtype=np.int64)
        columns = list(self.names)
        both = pa.concat_tables([self.keys.select(columns), rows.select(columns)])
        found = encode([both[name] for name in columns], both.num_rows)
        by_code = np.full(found.count, otherwise, dtype=np.int64)
        by_code[found.codes[:known]] = values
        return by_code[found.codes[known:]]


class Counts:
    """Counts by the values of some columns.

    >>> counts = Counts(("k",))
    >>> counts.note(pa.table({"k": ["a", "b"]}), np.array([2, 1]))
    >>> counts.note(pa.table({"k": ["b"]}), np.array([6]))
    >>> found = counts.totals()
    >>> found.keys["k"].to_pylist(), found.count.tolist()
    (['a', 'b'], [2, 6])
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.store = Store()

    def totals(self) -> Totals:
        """As they are now."""
        runs = [run.tables[_TABLE] for run in self.store.segments]
        if not runs:
            none = np.empty(0, dtype=np.int64)
            return Totals(self.names, pa.table({}), none, none)
        return self._newest(pa.concat_tables(runs))

    def note(self, keys: pa.Table, count: np.ndarray) -> None:
        """The partition of each row of `keys` has had so many rows by now."""
        columns = {name: keys[name] for name in self.names}
        run = _run(pa.table({**columns, _COUNT: pa.array(count, pa.int64())}).combine_chunks())
        self.store.replace(merged([*self.store.segments, run], _TABLE, self._merge))

    def forget(self, totals: Totals, which: np.ndarray) -> None:
        """Drop partitions, of the totals that there are now."""
        kept = filtered(self.store.segments, _TABLE, ~which[totals.codes], _run)
        self.store.replace(merged(kept, _TABLE, self._merge))

    def _newest(self, rows: pa.Table) -> Totals:
        found = encode([rows[name] for name in self.names], rows.num_rows)
        count = np.zeros(found.count, dtype=np.int64)
        np.maximum.at(count, found.codes, rows[_COUNT].to_numpy())
        return Totals(self.names, rows.drop_columns([_COUNT]).take(pa.array(found.first)), count, found.codes)

    def _merge(self, rows: pa.Table) -> Segment:
        totals = self._newest(rows)
        columns = {name: totals.keys[name] for name in self.names}
        return _run(pa.table({**columns, _COUNT: totals.count}).combine_chunks())


def _run(rows: pa.Table) -> Segment:
    return Segment({_TABLE: rows}, 0, 0)
