"""A ring buffer in front of one server: the rate up to which nothing is dropped.

Packets arrive at an even rate. Each costs the server the same, and something more for every partial that it sends on.
While it is busy packets wait in the buffer; one that finds it full is dropped. So what decides is not the mean work
alone: a burst of work longer than the buffer is deep loses packets, however idle the server is otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Costs in seconds, and places in the buffer."""

    packet: float
    partial: float
    places: float

    def waiting(self, work: np.ndarray, rate: float) -> float:
        """The most packets whose time is still owed when the next arrives; packet i sends on `work[i]` partials.

        >>> server = Server(packet=1.0, partial=1.0, places=10)
        >>> server.waiting(np.array([0, 0, 5, 0, 0]), rate=0.5)
        2.0
        """
        cost = self.packet + self.partial * work
        # By Lindley: what is unfinished when packet i arrives is the greatest sum of (cost − gap) that ends before it.
        spare = np.concatenate([[0.0], np.cumsum(cost - 1 / rate)])
        unfinished = spare - np.minimum.accumulate(spare)
        return float(unfinished.max()) * rate

    def most(self, work: np.ndarray) -> float:
        """The greatest rate at which no packet is dropped."""
        high = 1 / self.packet
        # At the mean work's own rate the server never rests; no rate above it lasts.
        high = min(high, 1 / (self.packet + self.partial * float(work.mean())))
        if self.waiting(work, high) <= self.places:
            return high
        low = 0.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if self.waiting(work, middle) <= self.places else (low, middle)
        return low

    def busy(self, work: np.ndarray, rate: float) -> float:
        """The share of its time that the server works at `rate`."""
        return rate * (self.packet + self.partial * float(work.mean()))
