"""Rate: numbered rows at a fixed rate, for experiments. As in Spark, the columns are timestamp and value."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.runtime.batch import Batch

_MOST = 100_000  # rows per epoch


class Rate:
    """`per_second` rows per second by the clock; or, with `rows`, this many at once, with timestamps at that rate.

    >>> source = Rate(2, rows=3, start="2026-01-01T00:00:00")
    >>> [row["timestamp"].isoformat() for batch in source.batches() for row in batch.rows.to_pylist()]
    ['2026-01-01T00:00:00+00:00', '2026-01-01T00:00:00.500000+00:00', '2026-01-01T00:00:01+00:00']
    """

    schema = pa.schema([("timestamp", pa.timestamp("us", "UTC")), ("value", pa.int64())])

    def __init__(self, per_second: int = 1, rows: int | None = None, start: str | None = None) -> None:
        if per_second < 1:
            raise SourceError(f"rowsPerSecond is {per_second}", hint="Give at least 1.")
        try:
            begin = datetime.now(UTC) if start is None else datetime.fromisoformat(start)
        except ValueError as error:
            raise SourceError(f"start {start!r} is no time", hint='Write "2026-01-01T00:00:00".') from error
        begin = begin if begin.tzinfo else begin.replace(tzinfo=UTC)
        self._begin = int(begin.timestamp() * 1_000_000)
        self._since = time.monotonic()
        self._per_second = per_second
        self._rows = rows
        self._given = 0

    @property
    def position(self) -> dict[str, int]:
        """How many rows were handed over."""
        return {"rows": self._given}

    def seek(self, position: dict[str, int]) -> None:
        """Go on after so many rows."""
        self._given = position["rows"]

    def batches(self) -> Iterator[Batch]:
        """The rows that are due, at most so many an epoch."""
        due = self._rows if self._rows is not None else int((time.monotonic() - self._since) * self._per_second) + 1
        while self._given < due:
            number = np.arange(self._given, min(due, self._given + _MOST), dtype=np.int64)
            stamps = pa.array(self._begin + number * 1_000_000 // self._per_second, pa.timestamp("us", "UTC"))
            self._given += len(number)
            yield Batch(pa.Table.from_arrays([stamps, pa.array(number)], schema=self.schema))
