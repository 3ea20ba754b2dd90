"""PSP-I: several rows in the ring at once. Rows are copied on, and deleted when no row under way needs them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from comparators.ring.psp import Done, Inter, Ring
from comparators.ring.rows import RingRow


class Interleaved(Ring):
    """Up to `concurrent` rows under way; each node has a mark for each of them."""

    def __init__(
        self,
        windows: Sequence[float],
        nodes: int,
        rnd: random.Random,
        *,
        concurrent: int = 4,
        literal: bool = False,
        **k: Any,
    ) -> None:
        """`literal` deletes when the last END goes by a node, as printed, which loses results."""
        super().__init__(windows, nodes, rnd, **k)
        self.concurrent, self.literal = concurrent, literal
        self.marks: list[set[float]] = [set() for _ in range(nodes)]
        self.copied = [[-1.0] * self.streams for _ in range(nodes)]

    def purge(self, node: int, row: RingRow, safe: float) -> None:
        """Rows that are too old are copied on, once; the mark says what the row under way still needs."""
        self.marks[node].add(row.at)
        for stream in range(self.streams):
            for one in self.state[node][stream]:
                if row.at - one.at >= self.high(node, stream) and one.at > self.copied[node][stream]:
                    self.copied[node][stream] = one.at
                    self._pass_on(node, one)

    def candidates(self, node: int, stream: int, row: RingRow) -> list[RingRow]:
        """Those whose age lies in the slice."""
        low, high = self.low(node, stream), self.high(node, stream)
        return [one for one in self.state[node][stream] if low <= row.at - one.at < high]

    def passed_by_end(self, node: int, message: Inter) -> None:
        """As printed: the mark goes with the last END."""
        if self.literal and message.depth == self.streams - 1:
            self._drop(node, message.row)

    def over(self, number: int, row: RingRow) -> None:
        """The head tells all nodes."""
        if self.literal:
            return
        self._drop(0, row)
        if self.nodes > 1:
            self.send(0, Done(number, row, self.nodes - 2))

    def done(self, node: int, message: Done) -> None:
        """What was kept for the row may go."""
        if message.left:
            self.send(node, Done(message.number, message.row, message.left - 1))
        self._drop(node, message.row)

    def _drop(self, node: int, row: RingRow) -> None:
        marks = self.marks[node]
        if row.at not in marks:
            return
        oldest = min(marks) == row.at
        marks.remove(row.at)
        if not oldest:
            return
        for stream in range(self.streams):
            self.state[node][stream] = [
                one
                for one in self.state[node][stream]
                if not (row.at - one.at >= self.high(node, stream) and one.at <= self.copied[node][stream])
            ]
