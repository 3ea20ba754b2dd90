"""ATR and CTR: other ways to spread a join of many streams over nodes, whatever its condition is."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import product

from comparators.ring.rows import Agree, Found, Partial, RingRow, near_values


class AlignedRouting:
    """ATR: the first stream is cut into segments, one node each in turn; the others' segments are wider, and copied."""

    def __init__(self, window: float, segment: float, nodes: int, streams: int, agree: Agree = near_values) -> None:
        self.window, self.segment, self.nodes, self.streams, self.agree = window, segment, nodes, streams, agree
        self.copies = 0
        self.by_node: Counter[int] = Counter()

    def run(self, rows: Sequence[RingRow]) -> Found:
        """Each segment is joined by one node, that has all it needs."""
        out: Found = Counter()
        last = int(rows[-1].at // self.segment) if rows else -1
        for number in range(last + 1):
            begin, end = number * self.segment, (number + 1) * self.segment
            masters = [one for one in rows if one.stream == 0 and begin <= one.at < end]
            others = [
                [one for one in rows if one.stream == i and begin - self.window <= one.at < end + self.window]
                for i in range(1, self.streams)
            ]
            held = len(masters) + sum(map(len, others))
            self.copies += held
            self.by_node[number % self.nodes] += held
            for combination in product(masters, *others):
                latest = max(one.at for one in combination)
                if all(latest - one.at < self.window for one in combination) and _fits(combination, self.agree):
                    out[combination] += 1
        return out

    def memory(self, rate: float) -> float:
        """Rows on all nodes, each with one segment: λTN + λ(T + 2W)(M − 1)N."""
        wide = self.segment + 2 * self.window
        return rate * self.nodes * (self.segment + wide * (self.streams - 1))

    @property
    def waste(self) -> float:
        """The share of rows that are copies: 2(W/T)(M − 1)/M."""
        return 2 * (self.window / self.segment) * (self.streams - 1) / self.streams


class CoordinatedRouting:
    """CTR: each row is on some nodes; each step visits as few nodes as have all rows of the next stream."""

    def __init__(
        self, window: float, nodes: int, copies: int, streams: int, rnd: random.Random, agree: Agree = near_values
    ) -> None:
        self.window, self.nodes, self.copies, self.streams = window, nodes, copies, streams
        self.rnd, self.agree = rnd, agree
        self.state: list[list[RingRow]] = [[] for _ in range(nodes)]
        self.most = self.doubled = self.visits = 0

    def run(self, rows: Sequence[RingRow]) -> Found:
        """A row is stored on its nodes, and then goes from stream to stream."""
        out: Found = Counter()
        for row in rows:
            self.state = [[one for one in held if row.at - one.at < self.window] for held in self.state]
            partial: list[Partial] = [{row.stream: row}]
            for stream in (i for i in range(self.streams) if i != row.stream):
                partial = self._step(stream, partial)
            out.update(tuple(one[i] for i in range(self.streams)) for one in partial)
            for node in self.rnd.sample(range(self.nodes), self.copies):
                self.state[node].append(row)
            self.most = max(self.most, sum(map(len, self.state)))
        return out

    def _step(self, stream: int, partial: Sequence[Partial]) -> list[Partial]:
        there = [{one for one in held if one.stream == stream} for held in self.state]
        missing = set().union(*there)
        seen: set[RingRow] = set()
        out: list[Partial] = []
        while missing:
            node = max(range(self.nodes), key=lambda i: len(there[i] & missing))
            self.visits += 1
            self.doubled += len(there[node] & seen)
            fresh = there[node] - seen  # or it would be found twice
            out += [{**one, stream: row} for one in partial for row in fresh if self.agree(one, row)]
            seen |= fresh
            missing -= there[node]
        return out


def _fits(combination: Sequence[RingRow], agree: Agree) -> bool:
    there: dict[int, RingRow] = {}
    for one in combination:
        if not agree(there, one):
            return False
        there[one.stream] = one
    return True
