"""What every comparator does: it takes rows and punctuation, and says what it had to hold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

END = 2**62
"""The punctuation that nothing comes after."""


@dataclass(frozen=True, slots=True)
class Held:
    """How much something holds."""

    rows: int = 0
    nbytes: int = 0

    @staticmethod
    def of(*tables: pa.Table) -> Held:
        """What these tables hold together."""
        return Held(sum(table.num_rows for table in tables), sum(table.nbytes for table in tables))

    def __add__(self, other: Held) -> Held:
        return Held(self.rows + other.rows, self.nbytes + other.nbytes)


class Comparator(ABC):
    """Rows and punctuation come in by ports, results leave at once.

    A bound is exclusive, as everywhere: after `advance(port, v)` every later row of that port has a value of at least
    `v`. What is held is weighed after each call, so the peak is that of the batches it was fed with.
    """

    def __init__(self) -> None:
        """Nothing held yet."""
        self.peak = Held()

    def take(self, port: int, rows: pa.Table) -> pa.Table:
        """Rows arrive at a port; the results that leave because of them."""
        return self._weighed(self._take(port, rows))

    def advance(self, port: int, bound: int) -> pa.Table:
        """A port promises that nothing below `bound` is left; the results that leave because of it."""
        return self._weighed(self._advance(port, bound))

    @abstractmethod
    def held(self) -> Held:
        """What is held now."""

    @abstractmethod
    def _take(self, port: int, rows: pa.Table) -> pa.Table: ...

    @abstractmethod
    def _advance(self, port: int, bound: int) -> pa.Table: ...

    def _weighed(self, out: pa.Table) -> pa.Table:
        now = self.held()
        self.peak = Held(max(self.peak.rows, now.rows), max(self.peak.nbytes, now.nbytes))
        return out


def values(table: pa.Table, name: str) -> np.ndarray:
    """A column of whole numbers."""
    return table.column(name).to_numpy()
