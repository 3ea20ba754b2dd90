"""The cost model of the ring (section 3.7, as corrected): work of a row, response time, the best number of nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Streams that are alike, or not: rates, windows, selectivities; and what things cost."""

    rates: tuple[float, ...]
    windows: tuple[float, ...]
    matching: tuple[float, ...]
    """Of each stream: how often a row of it matches when it is probed."""
    compare: float
    """Tj: to join a pair."""
    send: float
    """Ts: to send and receive a row."""
    hop: float
    """Tn: from a node to the next."""
    keep: float = 0.0
    """Ti + Tp: to insert and to purge a row."""
    kept: tuple[float, ...] = ()
    """Of each stream, the share of rows that some query keeps; empty: all."""

    @property
    def streams(self) -> int:
        """M."""
        return len(self.rates)

    def rows(self, stream: int) -> float:
        """λW of a stream, of the rows that are kept."""
        share = self.kept[stream] if self.kept else 1.0
        return self.rates[stream] * self.windows[stream] * share

    def compared(self, order: Sequence[int]) -> float:
        """Pairs that a row compares on its way through the other streams: Σ λW · Π λWS."""
        total, there = 0.0, 1.0
        for stream in order:
            total += there * self.rows(stream)
            there *= self.rows(stream) * self.matching[stream]
        return total

    def work(self, order: Sequence[int] | None = None) -> float:
        """L_C: what a row costs on one node."""
        order = list(range(1, self.streams)) if order is None else order
        return self.keep + self.compare * self.compared(order)

    @property
    def travel(self) -> float:
        """Ts·L_C ÷ (λW·Tj): what sending costs a node, however many there are."""
        mean = sum(self.rows(i) for i in range(self.streams)) / self.streams
        return self.send * self.work() / (mean * self.compare)

    def response(self, nodes: int) -> float:
        """τ: the mean time from a row to its results."""
        pace = max(self.work() / nodes + self.travel, self.streams * nodes * self.hop)
        return (nodes - 1) * self.hop / 2 + pace

    def output(self, nodes: int) -> float:
        """How much faster than one node all are together: monotone, below λW·Tj ÷ Ts."""
        mean = sum(self.rows(i) for i in range(self.streams)) / self.streams
        return 1 / (1 / nodes + self.send / (mean * self.compare))

    def best(self) -> int:
        """The number of nodes with the least response time (theorem 9), as a whole number."""
        c, work = self.travel, self.work()
        m, hop = self.streams, self.hop
        first = (c + math.sqrt(c * c + 4 * m * hop * work)) / (2 * m * hop)
        second = (1 + math.sqrt(1 + 8 * work / hop)) / 2
        at = min(first, second)
        return min((max(1, math.floor(at)), max(1, math.ceil(at))), key=self.response)

    def scanned(self, most: int = 2000) -> int:
        """The same by trying all."""
        return min(range(1, most + 1), key=self.response)


def ring_lengths(setting: Setting, most: int) -> list[int]:
    """The number of slices of each stream: from the cheapest to the dearest, the others as long as the ring is now."""
    order = sorted(range(setting.streams), key=lambda i: setting.rows(i) * setting.matching[i])
    lengths = [1] * setting.streams

    def response(of: Sequence[int]) -> float:
        compared, there = 0.0, 1.0
        for stream in range(1, setting.streams):
            compared += there * setting.rows(stream) / of[stream]
            there *= setting.rows(stream) * setting.matching[stream]
        longest = max(of)
        pace = max(setting.compare * compared + setting.travel, setting.streams * longest * setting.hop)
        return (longest - 1) * setting.hop / 2 + pace

    for place, stream in enumerate(order):
        undecided = order[place + 1 :]

        def tried(n: int, stream: int = stream, undecided: Sequence[int] = undecided) -> float:
            of = list(lengths)
            of[stream] = n
            for other in undecided:
                of[other] = n
            return response(of)

        lengths[stream] = min(range(1, most + 1), key=tried)
    return lengths


def balanced(rows: Sequence[float], nodes: int) -> list[float]:
    """Ages that cut rows, given by their ages, into slices of as many rows each."""
    ages = sorted(rows)
    return [ages[min(len(ages) - 1, len(ages) * (i + 1) // nodes)] for i in range(nodes - 1)]


def placed(nodes: int, more: int) -> list[int]:
    """After which of the old nodes each new one goes: the first k with (M/N)·k >= j.

    >>> placed(3, 1), placed(4, 2), placed(2, 4)
    ([3], [2, 4], [1, 1, 2, 2])
    """
    return [math.ceil(j * nodes / more) for j in range(1, more + 1)]


def passed_on(nodes: int, more: int) -> list[float]:
    """How much of a new slice each old node gives to its successor.

    >>> [round(one, 3) for one in passed_on(3, 1)]
    [0.333, 0.667, 0.0]
    """
    return [more * i / nodes - math.floor(more * i / nodes + 1e-9) for i in range(1, nodes + 1)]
