"""One epoch of one source: rows in order of arrival, rows that could not be read, punctuation supplied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

UNREADABLE = "__ms_unreadable"
"""In a data frame: the column with the text of rows that could not be read, and null in all others."""

REASON = "__ms_reason"
"""In a data frame that says so: the column with the reason why they could not be read."""
APART = (UNREADABLE, REASON)
"""Columns of a data frame that are none of its stream."""


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that does not fit the stream's schema: its text and why. It goes to the rejected output."""

    raw: str
    reason: str


@dataclass(frozen=True, slots=True)
class Unread:
    """Rows that were not read, because all who read the stream ignore them: how many, and the greatest tick of all."""

    rows: int
    high: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What a source hands over for one epoch."""

    rows: pa.Table
    unreadable: Sequence[Unreadable] = ()
    punctuations: Sequence[Mapping[str, Any] | Any] = ()
    """As the caller supplied them; the ingest operator binds them to the stream's schema."""
    unread: Unread | None = None


class Source(Protocol):
    """Where a stream comes from, on the local host."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of every batch."""
        ...

    def batches(self) -> Iterator[Batch]:
        """What is available now, one batch per epoch."""
        ...


class Sink(Protocol):
    """Where a result goes, on the local host."""

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Take the rows that left in an epoch; called at most once per epoch, with at least one row."""
        ...

    def close(self) -> None:
        """The run is over, well or not. If the engine is started again, more may come."""
        ...
