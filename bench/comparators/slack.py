"""Slack: a sort buffer that waits for late rows, for so many rows or for so much time, and then gives up.

Without punctuation this is how order is made: the buffer guesses that no row strays further than the slack. A row
that does leaves at once, behind rows that are later than it, and what comes next must cope: see `inorder`.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
import pyarrow as pa

from comparators.comparator import END, Comparator, Held, values

ARRIVAL = "arrival"
"""The column that says which arrival let a row go, counted from 0."""


@dataclass(frozen=True, slots=True)
class ByRows:
    """Hold the `rows` rows that are greatest so far."""

    rows: int


@dataclass(frozen=True, slots=True)
class ByTime:
    """Hold rows until one has come that is `time` later."""

    time: int


class SlackSort(Comparator):
    """Rows leave in order of `attribute`, as far as the slack allows; of punctuation only the end is understood."""

    def __init__(self, attribute: str, slack: ByRows | ByTime, schema: pa.Schema) -> None:
        """An empty buffer."""
        super().__init__()
        self.attribute = attribute
        self.slack = slack
        self.schema = schema.append(pa.field(ARRIVAL, pa.int64()))
        self._heap: list[tuple[int, int]] = []
        self._high = -END
        self._arrived = 0
        self._rows = schema.empty_table()
        self._numbers = np.zeros(0, dtype=np.int64)

    def held(self) -> Held:
        """Rows in the buffer."""
        return Held.of(self._rows)

    def _take(self, port: int, rows: pa.Table) -> pa.Table:
        numbers = np.arange(self._arrived, self._arrived + rows.num_rows)
        self._rows = pa.concat_tables([self._rows, rows])
        self._numbers = np.concatenate([self._numbers, numbers])
        order: list[int] = []
        left_at: list[int] = []
        most = 0
        for number, at in zip(numbers.tolist(), values(rows, self.attribute).tolist(), strict=True):
            heappush(self._heap, (at, number))
            self._high = max(self._high, at)
            while self._heap and self._lets_go():
                order.append(heappop(self._heap)[1])
                left_at.append(number)
            most = max(most, len(self._heap))
        self._arrived += rows.num_rows
        # The most is counted row by row: a batch may fill the buffer and empty it again.
        each = rows.nbytes // max(1, rows.num_rows)
        self.peak = Held(max(self.peak.rows, most), max(self.peak.nbytes, most * each))
        return self._leave(order, left_at)

    def _advance(self, port: int, bound: int) -> pa.Table:
        if bound < END:
            return self.schema.empty_table()
        order = [number for _, number in sorted(self._heap)]
        self._heap = []
        return self._leave(order, [self._arrived] * len(order))

    def _lets_go(self) -> bool:
        match self.slack:
            case ByRows(rows):
                return len(self._heap) > rows
            case ByTime(time):
                return self._heap[0][0] <= self._high - time

    def _leave(self, order: list[int], left_at: list[int]) -> pa.Table:
        places = np.searchsorted(self._numbers, np.array(order, dtype=np.int64))
        out = self._rows.take(places).append_column(self.schema.field(ARRIVAL), pa.array(left_at, pa.int64()))
        stays = np.ones(len(self._numbers), dtype=np.bool_)
        stays[places] = False
        self._rows = self._rows.filter(pa.array(stays)).combine_chunks()
        self._numbers = self._numbers[stays]
        return out
