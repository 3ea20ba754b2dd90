"""Duplicate elimination: a row goes on the first time it is seen; punctuation purges what cannot come again."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.progress import Progress
from millstream.kernels.group import encode, first_rows
from millstream.ops.complete import complete
from millstream.ops.operator import Operator
from millstream.state.store import Segment

_SEEN = "seen"


class Distinct(Operator):
    """Remembers the combinations of `columns` seen, until punctuation rules them out."""

    def __init__(self, columns: tuple[str, ...], ordered: set[str]) -> None:
        """`ordered` are the attributes whose punctuation is in ticks."""
        super().__init__()
        self.columns = columns
        self.ordered = ordered

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
        self._remember(both.take(pa.array(first)))
        self.meter.filtered += rows.num_rows - len(fresh)
        return [rows.take(pa.array(fresh))]

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        seen = self._seen()
        if seen is None:
            return []
        gone = complete(now, seen, self.columns, self.ordered)
        if gone.any():
            self.meter.punctuations += 1
            self._remember(seen.filter(pc.invert(pa.array(gone))))
        return []

    def _seen(self) -> pa.Table | None:
        return self.store.segments[0].tables[_SEEN] if self.store.segments else None

    def _remember(self, keys: pa.Table) -> None:
        self.store.replace([Segment({_SEEN: keys.combine_chunks()}, 0, 0)])
