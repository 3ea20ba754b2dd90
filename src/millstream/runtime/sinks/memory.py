"""Results kept in this process."""

from __future__ import annotations

import pyarrow as pa


class MemorySink:
    """Keeps every table; an epoch written again replaces what it wrote before.

    >>> sink = MemorySink()
    >>> sink.write(pa.table({"x": [3]}), epoch=1)
    >>> sink.write(pa.table({"x": [1, 2]}), epoch=0)
    >>> sink.table(pa.schema([("x", pa.int64())]))["x"].to_pylist()
    [1, 2, 3]
    """

    def __init__(self) -> None:
        self._tables: dict[int, pa.Table] = {}

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Keep the rows of an epoch."""
        self._tables[epoch] = rows

    def table(self, schema: pa.Schema) -> pa.Table:
        """Everything kept, in order of epochs; without any, an empty table of `schema`."""
        tables = [self._tables[epoch] for epoch in sorted(self._tables)]
        return pa.concat_tables(tables) if tables else schema.empty_table()

    def close(self) -> None:
        """Nothing to let go of: what was kept stays readable."""
