"""Top: the first n rows of each window or group in a given order, once punctuation says that it is complete."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.core.promise.columns import of_columns
from millstream.kernels.group import encode
from millstream.kernels.ordering import sorted_rows
from millstream.ops.complete import complete
from millstream.ops.guard import wanted
from millstream.ops.operator import Operator
from millstream.ops.runs import filtered, merged
from millstream.state.store import Segment

_HELD = "held"


class Top(Operator):
    """Holds at most `limit` rows of each open group; nulls come last, and ties are settled by the other columns."""

    def __init__(
        self,
        keys: tuple[str, ...],
        ordered: set[str],
        order: tuple[tuple[str, bool], ...],
        limit: int | None,
        number: str | None = None,
    ) -> None:
        """`keys` say which group a row is of, `ordered` which columns have ticks; `order` is (column, descending)."""
        super().__init__()
        self.keys = keys
        self.ordered = ordered
        self.order = order
        self.limit = limit
        self.number = number

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        held = [segment.tables[_HELD] for segment in self.store.segments]
        both = pa.concat_tables([*held, rows])
        kept = self._kept(both)
        before, stay = both.num_rows - rows.num_rows, int(kept.sum())
        self.meter.filtered += both.num_rows - stay
        # A row that was among the first may have to make way for a new one.
        self.meter.accepted += stay - before
        fresh = rows.filter(pa.array(kept[before:])).combine_chunks()
        runs = filtered(self.store.segments, _HELD, kept[:before], _run)
        self.store.replace(merged([*runs, _run(fresh)] if fresh.num_rows else runs, _HELD, _run))
        return []

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        if not self.store.segments:
            return []
        held = pa.concat_tables([segment.tables[_HELD] for segment in self.store.segments])
        ready = complete(now, held, self.keys, self.ordered)
        if not ready.any():
            return []
        self.meter.punctuations += 1
        self.store.replace(merged(filtered(self.store.segments, _HELD, ~ready, _run), _HELD, _run))
        leaving = held.filter(pa.array(ready))
        leaving = leaving.take(pa.array(self._first(leaving)))
        self.meter.accepted -= leaving.num_rows  # they go on
        if self.number is not None:
            leaving = leaving.append_column(self.number, pa.array(self._places(leaving) + 1))
        return [leaving]

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Rows of groups that nobody reads."""
        if not self.store.segments:
            return
        held = pa.concat_tables([segment.tables[_HELD] for segment in self.store.segments])
        keep = wanted(ignored.get(0, ()), held)
        if keep is not None:
            gone = held.num_rows - int(keep.sum())
            self.meter.accepted -= gone
            self.meter.guarded += gone
            self.store.replace(merged(filtered(self.store.segments, _HELD, keep, _run), _HELD, _run))

    def promises(self) -> Progress:
        """Only what is said of the keys: other promises may speak of rows that are still held."""
        return of_columns(self.progress[0], self.keys)

    def _kept(self, rows: pa.Table) -> np.ndarray:
        """Which rows are among the first of their group; only those of groups with too many are put in order."""
        kept = np.ones(rows.num_rows, dtype=np.bool_)
        if self.limit is None:
            return kept
        codes = encode([rows[name] for name in self.keys], rows.num_rows).codes
        crowded = np.flatnonzero(np.bincount(codes)[codes] > self.limit)
        if len(crowded):
            kept[crowded] = False
            kept[crowded[self._first(rows.take(pa.array(crowded)))]] = True
        return kept

    def _first(self, rows: pa.Table) -> np.ndarray:
        """Which rows are among the first of their group, those of a group one after the other, in order."""
        asked = {name for name, _ in self.order}
        sorting = [(name, False) for name in reversed(self.keys)]
        sorting += self.order
        sorting += [
            (field.name, False)
            for field in rows.schema
            if field.name not in asked and field.name not in self.keys and not pa.types.is_nested(field.type)
        ]
        order = np.asarray(sorted_rows(rows, sorting))
        if self.limit is None:
            return order
        ordered = rows.select(list(dict.fromkeys(self.keys))).take(pa.array(order))
        return order[self._places(ordered) < self.limit]

    def _places(self, rows: pa.Table) -> np.ndarray:
        """The place of each row in its group, from 0."""
        codes = encode([rows[name] for name in self.keys], rows.num_rows).codes
        changed = np.flatnonzero(np.diff(codes)) + 1
        begins = np.zeros(len(codes), dtype=np.int64)
        begins[changed] = changed
        return np.arange(len(codes)) - np.maximum.accumulate(begins)


def _run(rows: pa.Table) -> Segment:
    return Segment({_HELD: rows}, 0, 0)
