"""One disordered stream, answered with punctuation and with slack: what 6.2 and 6.3 have in common.

Rows arrive at an even pace, and that is the clock: row i at the i-th part of the stream's time. A window's latency is
counted from the arrival of its covering punctuation, the first row after which it is complete. A window that leaves
before is early by as much, and its latency is nothing.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import millstream as ms
from comparators.comparator import END
from comparators.inorder import LEFT_AT, WID, InOrderWindows
from comparators.slack import ByTime, SlackSort
from lab.measure import Input, Side, millstream
from millstream.workload.arrival import Arrival

Windows = dict[int, tuple[int, int]]
"""Count and sum of each window."""


@dataclass(frozen=True, slots=True)
class Answered:
    """What one method said of each window, and when it said it."""

    windows: Windows
    after: dict[int, float]
    """By how much each left after it was complete; negative if before."""

    @property
    def latency(self) -> float:
        """The mean; an early window does not make up for a late one."""
        return statistics.fmean(max(0.0, one) for one in self.after.values())

    @property
    def early(self) -> float:
        """By how much windows left before they were complete, on average."""
        return statistics.fmean(max(0.0, -one) for one in self.after.values())


@dataclass(frozen=True, slots=True)
class Question:
    """Count and sum of `value` over windows of `ts`, for those that begin and end inside the stream."""

    arrival: Arrival
    size: int
    slide: int

    @property
    def times(self) -> np.ndarray:
        """The times in order of arrival."""
        return self.arrival.rows["ts"].to_numpy()

    @property
    def clock(self) -> np.ndarray:
        """When each row arrives."""
        return np.arange(len(self.times)) * (float(np.ptp(self.times)) / len(self.times))

    def whole(self) -> range:
        """Ids of the windows that the stream covers and closes."""
        last = int(self.arrival.bounds[:-1].max())
        return range(-(-self.size // self.slide) - 1, last // self.slide)

    def covered_at(self, wid: int) -> int:
        """The row after which the window's covering punctuation holds."""
        return int(np.searchsorted(self.arrival.bounds, (wid + 1) * self.slide))

    def exact(self) -> Windows:
        """The batch answer, by sorting all rows."""
        order = np.argsort(self.times, kind="stable")
        at, value = self.times[order], self.arrival.rows["value"].to_numpy()[order]
        sums = np.concatenate([[0], np.cumsum(value)])
        out: Windows = {}
        for wid in self.whole():
            low, high = np.searchsorted(at, [(wid + 1) * self.slide - self.size, (wid + 1) * self.slide])
            out[wid] = (int(high - low), int(sums[high] - sums[low]))
        return out

    def by_punctuation(self) -> tuple[Answered, Side]:
        """Millstream, punctuated with the true progress each time that it closes a window."""
        step = self.arrival.bounds // self.slide
        cuts = np.append(np.flatnonzero(np.diff(step, prepend=step[0])) + 1, len(step))
        cuts = np.unique(cuts)
        epochs: list[tuple[pa.Table, int | None]] = []
        for first, last in zip(np.append(0, cuts[:-1]).tolist(), cuts.tolist(), strict=True):
            epochs.append((self.arrival.rows.slice(first, last - first), int(self.arrival.bounds[last - 1])))
        side = millstream(
            {"s": Input(epochs=epochs, attribute="ts", apart=True)},
            lambda s: s.window("ts", range=self.size, slide=self.slide).agg(n=ms.count(), sum=ms.sum("value")),
        )
        found = {row["window_id"]: (row["n"], row["sum"]) for row in side.answer.to_pylist()}
        windows = {wid: found[wid] for wid in self.whole() if wid in found}
        # The epoch ends with the row after which the punctuation holds: the window leaves as that row has arrived.
        return Answered(windows, {wid: self._after(wid, self.covered_at(wid)) for wid in windows}), side

    def by_slack(self, slack: int, *, generous: bool) -> tuple[Answered, SlackSort]:
        """A sort buffer of so much time before windows that take their input for ordered."""
        sort = SlackSort("ts", ByTime(slack), self.arrival.rows.schema)
        aggregate = InOrderWindows("ts", "value", size=self.size, slide=self.slide, generous=generous)
        left = pa.concat_tables([sort.take(0, self.arrival.rows), sort.advance(0, END)])
        out = aggregate.take(0, left)
        windows: Windows = {}
        after: dict[int, float] = {}
        whole = self.whole()
        last = len(self.times) - 1
        for row in out.to_pylist():
            if row[WID] in whole:
                windows[row[WID]] = (row["n"], row["sum"])
                after[row[WID]] = self._after(row[WID], min(row[LEFT_AT], last))
        return Answered(windows, after), sort

    def _after(self, wid: int, left_at: int) -> float:
        return float(self.clock[left_at] - self.clock[self.covered_at(wid)])
