"""Results kept in this process."""

from __future__ import annotations

import logging

import pyarrow as pa

log = logging.getLogger("millstream.runtime")


class MemorySink:
    """Keeps every table; an epoch written again replaces what it wrote before.

    >>> sink = MemorySink()
    >>> sink.write(pa.table({"x": [3]}), epoch=1)
    >>> sink.write(pa.table({"x": [1, 2]}), epoch=0)
    >>> sink.table(pa.schema([("x", pa.int64())]))["x"].to_pylist()
    [1, 2, 3]
    """

    def __init__(self, most: int | None = None, what: str = "this output") -> None:
        """Keep everything; or, with `most`, the first so many rows, and count the others. `what` is for the log.

        >>> sink = MemorySink(most=2)
        >>> sink.write(pa.table({"x": [1, 2, 3]}), epoch=0)
        >>> sink.table(pa.schema([]))["x"].to_pylist(), sink.left_out
        ([1, 2], 1)
        """
        self._tables: dict[int, pa.Table] = {}
        self._most = most
        self._what = what
        self._left_out: dict[int, int] = {}

    @property
    def left_out(self) -> int:
        """How many rows came and are not kept."""
        return sum(self._left_out.values())

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Keep the rows of an epoch."""
        if self._most is None:
            self._tables[epoch] = rows
            return
        others = sum(table.num_rows for at, table in self._tables.items() if at != epoch)
        kept = rows.slice(0, max(0, self._most - others))
        if kept.num_rows:
            # Not a slice: it would hold on to all the rows that it is a part of.
            self._tables[epoch] = kept if kept.num_rows == rows.num_rows else kept.take(pa.array(range(kept.num_rows)))
        if kept.num_rows < rows.num_rows:
            if not self._left_out:
                log.warning(
                    "%s has no sink: the first %d rows are kept in memory, the others are only counted. "
                    "Give it a sink to have them all.",
                    self._what,
                    self._most,
                )
            self._left_out[epoch] = rows.num_rows - kept.num_rows

    def table(self, schema: pa.Schema) -> pa.Table:
        """Everything kept, in order of epochs; without any, an empty table of `schema`."""
        tables = [self._tables[epoch] for epoch in sorted(self._tables)]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def close(self) -> None:
        """Nothing to let go of: what was kept stays readable."""
