"""Sinks that note, with the rows of a step, that they have them: rows that are handed over again are passed over."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import pyarrow as pa

from millstream.runtime.sinks.owner import Owner


class TransactionalSink(ABC):
    """A sink outside the checkpoint that is exactly-once: each step is one transaction that has the step's number.

    A kill between a commit and its delivery has the rows delivered again; the sink knows that it has them.
    """

    identity: Path | None
    """Where it is, if that is a folder of this machine: no other output may write there."""

    @abstractmethod
    def claim(self, owner: Owner, schema: pa.Schema) -> None:
        """Write for this owner from now on, rows of this schema; refuse what is somebody else's, as the user said."""

    @abstractmethod
    def write(self, rows: pa.Table, epoch: int) -> None:
        """Take the rows of a step, unless it has them."""

    @abstractmethod
    def close(self) -> None:
        """The run is over; if the engine is started again, more may come."""
