"""Duplicate elimination: a row goes on the first time it is seen; punctuation purges what cannot come again."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.kernels.group import encode, first_rows, stand_in
from millstream.ops.complete import complete
from millstream.ops.guard import wanted
from millstream.ops.operator import Operator
from millstream.ops.runs import filtered, merged
from millstream.state.store import Segment

_SEEN = "seen"


class Distinct(Operator):
    """Remembers the combinations of `columns` seen, until punctuation rules them out."""

    def __init__(self, columns: tuple[str, ...], ordered: set[str], *, forgets: bool = False) -> None:
        """`ordered` are the attributes whose punctuation is in ticks.

        One that `forgets` is told of rows that nobody reads only if they stay ignored until they cannot come again.
        """
        super().__init__()
        self.columns = columns
        self.ordered = ordered
        self.forgets = forgets

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        seen = self._seen()
        keys = rows.select(list(self.columns))
        both = keys if seen is None else pa.concat_tables([seen, keys])
        found = encode([both[name] for name in self.columns], both.num_rows)
        offset = both.num_rows - rows.num_rows
        known = np.zeros(found.count, dtype=np.bool_)
        known[found.codes[:offset]] = True
        first = np.sort(first_rows(found.codes, found.count))
        fresh = first[first >= offset] - offset
        fresh = fresh[~known[found.codes[offset:][fresh]]]
        runs = [*self.store.segments, _run(keys.take(pa.array(fresh)).combine_chunks())]
        self.store.replace(merged(runs, _SEEN, _run) if len(fresh) else self.store.segments)
        self.meter.filtered += rows.num_rows - len(fresh)
        out = rows.take(pa.array(fresh))
        for name in self.columns:
            out = out.set_column(out.column_names.index(name), out.field(name), stand_in(out[name]))
        return [out]

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        seen = self._seen()
        if seen is None:
            return []
        gone = complete(now, seen, self.columns, self.ordered)
        if gone.any():
            self.meter.punctuations += 1
            self.store.replace(merged(filtered(self.store.segments, _SEEN, ~gone, _run), _SEEN, _run))
        return []

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """What it has seen of rows that nobody reads."""
        seen = self._seen() if self.forgets else None
        keep = None if seen is None else wanted(ignored.get(0, ()), seen)
        if keep is not None:
            self.store.replace(merged(filtered(self.store.segments, _SEEN, keep, _run), _SEEN, _run))

    def _seen(self) -> pa.Table | None:
        tables = [segment.tables[_SEEN] for segment in self.store.segments]
        return pa.concat_tables(tables) if tables else None


def _run(keys: pa.Table) -> Segment:
    return Segment({_SEEN: keys}, 0, 0)
