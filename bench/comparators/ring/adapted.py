"""A PSP-D ring that adapts: blocks end early in a burst (smoothing), and the ring becomes longer or shorter.

Rows may be on any node, as long as each is on one: the table of the splitter says where new rows go. So a passive
change is a new table; an aggressive one also moves the rows that are there, when nothing is under way in the ring.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Sequence
from typing import Any

from comparators.ring.dynamic import Dynamic
from comparators.ring.rows import RingRow


class Adapted(Dynamic):
    """With a cap, a block has at most that many rows."""

    def __init__(
        self, windows: Sequence[float], nodes: int, rnd: random.Random, *, cap: int | None = None, **k: Any
    ) -> None:
        super().__init__(windows, nodes, rnd, **k)
        self.cap = cap
        self.heads = nodes
        """The nodes that get new rows."""
        self._home: dict[RingRow, int] = {}
        self._block = [0] * self.streams
        self._begun = [0.0] * self.streams
        self._rows = [0] * self.streams

    def head(self, row: RingRow) -> int:
        """By the splitter's table: the next node when a block is over, or full."""
        if row in self._home:
            return self._home[row]
        stream, width = row.stream, self.windows[row.stream] / self.heads
        full = self.cap is not None and self._rows[stream] >= self.cap
        if row.at - self._begun[stream] >= width or full:
            self._block[stream] += 1
            self._begun[stream], self._rows[stream] = row.at, 0
        self._rows[stream] += 1
        self._home[row] = -self._block[stream] % self.heads
        return self._home[row]

    def resize(self, nodes: int, *, aggressive: bool = False) -> None:
        """From now on the ring has that many nodes; old ones stay until they are empty, unless rows are moved."""
        assert not any(self.links)
        every = sorted(row for node in self.state for rows in node for row in rows)
        self.heads = nodes
        if aggressive:
            self.nodes = nodes
            self.links = [deque() for _ in range(nodes)]
            self.state = [[[] for _ in range(self.streams)] for _ in range(nodes)]
            for stream in range(self.streams):
                mine = [row for row in every if row.stream == stream]
                for place, row in enumerate(mine):
                    node = place * nodes // len(mine)
                    self.state[node][stream].append(row)
                    self._home[row] = node
        elif nodes > self.nodes:
            more = nodes - self.nodes
            self.links += [deque() for _ in range(more)]
            self.state += [[[] for _ in range(self.streams)] for _ in range(more)]
            self.nodes = nodes

    def by_node(self) -> Counter[int]:
        """Rows on each node."""
        return Counter({i: sum(map(len, node)) for i, node in enumerate(self.state)})
