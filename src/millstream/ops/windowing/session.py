"""Session windows: rows no more than a gap apart belong together, however late the row that joins two.

The state is one partial a (group, open session), and an epoch adds the sessions that its own rows make: those that
overlap, or that a gap joins, become one before any is closed. A session is closed by a bound beyond its last row plus
the gap: no later row can reach it, and so no later row can join it to another.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa

from millstream.core.domain import END
from millstream.core.window import Session
from millstream.kernels.aggregates.extreme import Extreme
from millstream.kernels.group import encode
from millstream.kernels.partials import KEY, Bound, Bundle, Lowered, Merged
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.wid import ByWindow

_LAST = "__ms_last"


class Sessions(ByWindow):
    """Sessions by group; the id of a session is the tick of its first row."""

    def __init__(self, spec: Spec, window: Session) -> None:
        """Sessions with one gap."""
        # The tick of a session's last row is one more aggregate, hidden from the output.
        last = Bound(_LAST, Extreme(pa.int64(), greatest=True), (_LAST,))
        super().__init__(dataclasses.replace(spec, aggregates=(*spec.aggregates, last)))
        self.visible = spec
        self.window = window

    def _take_ticks(self, rows: pa.Table, ticks: np.ndarray) -> list[pa.Table]:
        found = encode([rows[name] for name in self.spec.groups], rows.num_rows)
        start = _starts(found.codes, ticks, ticks, self.window.gap)
        self.absorb(self.partials.lift(rows.append_column(_LAST, pa.array(ticks)), start))
        self.meter.accepted += rows.num_rows
        return []

    def merged(self) -> Merged:
        """All sessions: one may overlap, or sit between, others, so the rule for rows holds for sessions too."""
        merged = super().merged()
        joined = _starts(merged.group, merged.key, self._last(merged.bundle.fixed), self.window.gap)
        return self.partials.merge([self._renamed(merged, joined)]) if (joined != merged.key).any() else merged

    def _renamed(self, merged: Merged, key: np.ndarray) -> Bundle:
        bags = {i: _with_key(bag, key[self.partials.cells_of(merged, bag)]) for i, bag in merged.bundle.bags.items()}
        return Bundle(_with_key(merged.bundle.fixed, key), bags)

    def _last(self, fixed: pa.Table) -> np.ndarray:
        return fixed[f"__ms_a{len(self.spec.aggregates) - 1}.0"].to_numpy()

    def closed(self, merged: Merged, bounds: np.ndarray) -> np.ndarray:
        """Sessions that no later row can reach."""
        limit = bounds[merged.group]
        return (limit == END) | (limit > self._last(merged.bundle.fixed) + self.window.gap)

    def results(self, answers: Lowered, groups: pa.Table) -> pa.Table:
        """From the first row to a gap after the last."""
        *columns, last = answers.columns
        visible = Lowered(answers.group, answers.window, answers.rows, columns)
        return self.visible.table(visible, groups, answers.window, last.to_numpy() + self.window.gap)


def _starts(group: np.ndarray, first: np.ndarray, last: np.ndarray, gap: int) -> np.ndarray:
    """For each interval [first, last] of a group, the least `first` of those it is chained to by gaps.

    >>> _starts(np.zeros(3, int), np.array([9, 1, 4]), np.array([9, 1, 4]), 3).tolist()
    [9, 1, 1]
    """
    order = _by_group(group, first)
    g, low = group[order], first[order]
    if last is first:
        reach = low  # of ticks in order, each is the greatest so far
    else:
        # Lifted by group, the running maximum of one group cannot reach into the next. Ranks, not ticks, are
        # lifted: nanoseconds times groups would not fit 64 bits.
        ends, rank = np.unique(last[order], return_inverse=True)
        reach = ends[np.maximum.accumulate(g * len(ends) + rank) % len(ends)]
    begins = np.ones(len(g), dtype=np.bool_)
    begins[1:] = (g[1:] != g[:-1]) | (low[1:] > reach[:-1] + gap)
    out = np.empty(len(g), dtype=np.int64)
    out[order] = low[np.flatnonzero(begins)[np.cumsum(begins) - 1]]
    return out


def _by_group(group: np.ndarray, first: np.ndarray) -> np.ndarray:
    """The order by group, then by `first`.

    Rows come almost in order of time, and a stable sort makes use of that; few groups are put in order in linear time.
    """
    if len(group) and int(group.max()) > np.iinfo(np.uint16).max:
        return np.lexsort((first, group))
    by_time = np.argsort(first, kind="stable")
    return by_time[np.argsort(group[by_time].astype(np.uint16), kind="stable")]


def _with_key(table: pa.Table, key: np.ndarray) -> pa.Table:
    return table.set_column(table.schema.get_field_index(KEY), KEY, pa.array(key))
