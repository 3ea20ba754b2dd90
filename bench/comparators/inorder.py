"""A window aggregate that takes its input for ordered: the newest row is its progress.

The first row beyond a window closes it. What to do with a row that is behind a closed window is a policy:
*consistent* drops it from all its windows, so that what windows have in common they agree on; *generous* drops it from
the closed ones only. Over an ordered input, such as that of Merge, neither drops anything.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from comparators.comparator import END, Comparator, Held, values
from comparators.slack import ARRIVAL

WID = "window_id"
LEFT_AT = "left_at"
"""The column that says which arrival closed a window."""


class InOrderWindows(Comparator):
    """Count and sum of `value` in each window and group; window w is [(w+1)·slide−size, (w+1)·slide)."""

    def __init__(
        self, attribute: str, value: str, *, size: int, slide: int, groups: Sequence[str] = (), generous: bool = False
    ) -> None:
        """No window is open."""
        super().__init__()
        self.attribute, self.value, self.groups = attribute, value, tuple(groups)
        self.size, self.slide, self.generous = size, slide, generous
        self.dropped = 0
        """Places in windows that rows came too late for."""
        self._open: pa.Table | None = None
        self._high = -END

    def held(self) -> Held:
        """Partials of open windows."""
        return Held() if self._open is None else Held.of(self._open)

    def _take(self, port: int, rows: pa.Table) -> pa.Table:
        if not rows.num_rows:
            return pa.table({WID: pa.array([], pa.int64())})
        at = values(rows, self.attribute)
        before = np.maximum.accumulate(np.concatenate([[self._high], at]))[:-1]
        first, end = at // self.slide, (at + self.size) // self.slide
        first_open = np.where(before == -END, first, before // self.slide)
        late = np.maximum(first_open - first, 0)
        places = np.maximum(end - first, 0)
        dropped = np.minimum(late, places) if self.generous else np.where(late > 0, places, 0)
        self.dropped += int(dropped.sum())
        each = places - dropped
        begin = np.where(dropped > 0, end - each, first)
        number = np.repeat(np.arange(len(at)), each)
        wid = np.repeat(begin, each) + np.arange(len(number)) - np.repeat(np.cumsum(each) - each, each)
        self._add(rows, number, wid)
        self._high = max(self._high, int(at.max()))
        return self._close(self._high // self.slide, rows, np.maximum.accumulate(at))

    def _advance(self, port: int, bound: int) -> pa.Table:
        """A bound is as good as a row: nothing below it will come."""
        self._high = max(self._high, bound)
        return self._close(self._high // self.slide, None, np.zeros(0, dtype=np.int64))

    def _add(self, rows: pa.Table, number: np.ndarray, wid: np.ndarray) -> None:
        new = rows.select([*self.groups, self.value]).take(number)
        partial = pa.table(
            {
                WID: wid,
                **{name: new[name] for name in self.groups},
                "n": np.ones(len(wid), dtype=np.int64),
                "sum": new[self.value],
            }
        )
        both = partial if self._open is None else pa.concat_tables([self._open, partial], promote_options="permissive")
        keys = [WID, *self.groups]
        reduced = both.group_by(keys).aggregate([("n", "sum"), ("sum", "sum")])
        self._open = reduced.select([*keys, "n_sum", "sum_sum"]).rename_columns([*keys, "n", "sum"])

    def _close(self, first_open: int, rows: pa.Table | None, high: np.ndarray) -> pa.Table:
        if self._open is None:
            return pa.table({WID: pa.array([], pa.int64())})
        over = values(self._open, WID) < first_open
        out = self._open.filter(pa.array(over))
        self._open = self._open.filter(pa.array(~over)).combine_chunks()
        if rows is None or ARRIVAL not in rows.column_names:
            return out
        # The row that closed a window is the first whose value reaches its end.
        closer = np.searchsorted(high, (values(out, WID) + 1) * self.slide)
        return out.append_column(LEFT_AT, rows[ARRIVAL].take(closer))
