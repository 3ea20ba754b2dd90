"""PSP-D: rows stay where they were put, and the roles of head and tail move round the ring instead."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Literal

from comparators.ring.psp import Inter, Probing, Ring
from comparators.ring.rows import RingRow

Purge = Literal["own", "active", "in flight"]


class Dynamic(Ring):
    """A row goes to the node of its block of time. The tail drops what no row that is in flight can need."""

    def __init__(
        self,
        windows: Sequence[float],
        nodes: int,
        rnd: random.Random,
        *,
        concurrent: int = 1,
        drain: bool = True,
        purge_by: Purge = "in flight",
        **k: Any,
    ) -> None:
        """With `drain` a row enters an empty ring only; `purge_by` says by what the tail drops rows."""
        super().__init__(windows, nodes, rnd, **k)
        self.concurrent, self.drain, self.purge_by = concurrent, drain, purge_by

    def admits(self, live: Sequence[int]) -> bool:
        """Not while anything is in flight, if the ring is drained."""
        return super().admits(live) and not (self.drain and live)

    def head(self, row: RingRow) -> int:
        """The node of a row's block; the next block is on the node before."""
        return -int(row.at // (self.windows[row.stream] / self.nodes)) % self.nodes

    def before(self, row: RingRow) -> None:
        """The splitter puts the row on its node first."""
        self.insert(row)

    def after(self, row: RingRow) -> None:
        """It is there already."""

    def insert(self, row: RingRow) -> None:
        """Once, and for good."""
        self.state[self.head(row)][row.stream].append(row)
        self.inserted += 1

    def purge(self, node: int, row: RingRow, safe: float) -> None:
        """Rows that are out of their window for all that may still probe."""
        oldest = {"own": row.at, "active": min([row.at, *(one.at for one in self.under_way.values())])}.get(
            self.purge_by, min([row.at, *self._in_flight()])
        )
        for stream in range(self.streams):
            held = self.state[node][stream]
            kept = [one for one in held if oldest - one.at < self.windows[stream]]
            self.purged += len(held) - len(kept)
            self.state[node][stream] = kept

    def _in_flight(self) -> list[float]:
        found = [one.row.at for link in self.links for one in link if isinstance(one, Probing | Inter)]
        return [*found, *(one.at for one in self.under_way.values())]

    def candidates(self, node: int, stream: int, row: RingRow) -> list[RingRow]:
        """Those in the window."""
        return [one for one in self.state[node][stream] if 0 < row.at - one.at < self.windows[stream]]
