"""Where rows go: one method per sink, for results, late rows and rejected rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from millstream.core.errors import PlanError, SinkError
from millstream.runtime.batch import Sink
from millstream.runtime.sinks.callback import CallbackSink
from millstream.runtime.sinks.console import ConsoleSink
from millstream.runtime.sinks.csv import CsvSink
from millstream.runtime.sinks.delta import DeltaSink
from millstream.runtime.sinks.discard import DiscardSink
from millstream.runtime.sinks.iceberg import IcebergSink
from millstream.runtime.sinks.json_lines import JsonLinesSink
from millstream.runtime.sinks.memory import MemorySink
from millstream.runtime.sinks.parquet import ParquetSink
from millstream.runtime.sinks.postgres import PostgresSink

if TYPE_CHECKING:
    from rich.console import Console


class Output:
    """An output and its sinks. Without a sink, rows are kept in memory."""

    def __init__(self, what: str) -> None:
        """`what` names the output in errors."""
        self.what = what
        self.sinks: list[Sink] = []
        self._memory: MemorySink | None = None
        self.needs_spark = False

    def to_memory(self) -> Self:
        """Keep the rows in this process; `table()` returns them."""
        if self._memory is None:
            self._memory = MemorySink()
            self._add(self._memory)
        return self

    def to_parquet(self, path: str | Path, *, mode: str = "error", partition_by: Sequence[str] | str = ()) -> Self:
        """One Parquet file per epoch in this folder.

        The folder belongs to this query. If another query, run or checkpoint has written to it, `mode` says what to
        do: "error" refuses, "append" keeps the old files, "replace" removes them first. With `partition_by`, files
        are in folders by the values of these columns, such as `day=2026-01-31`.
        """
        return self._add(ParquetSink(path, mode=mode, partition_by=partition_by))

    def to_csv(self, path: str | Path, *, mode: str = "error", partition_by: Sequence[str] | str = ()) -> Self:
        """One CSV file per epoch in this folder; `mode` and `partition_by` as in `to_parquet`."""
        return self._add(CsvSink(path, mode=mode, partition_by=partition_by))

    def to_json(self, path: str | Path, *, mode: str = "error", partition_by: Sequence[str] | str = ()) -> Self:
        """One file of JSON lines per epoch in this folder; `mode` and `partition_by` as in `to_parquet`."""
        return self._add(JsonLinesSink(path, mode=mode, partition_by=partition_by))

    def to_delta(
        self,
        path: str | Path,
        *,
        mode: str = "error",
        partition_by: Sequence[str] | str = (),
        evolve: bool = False,
        storage_options: Mapping[str, str] | None = None,
    ) -> Self:
        """Append to a Delta table, one version per epoch, exactly once. Needs `millstream[delta]`, and no JVM.

        `mode` is as in `to_parquet`. With `evolve`, the table gets columns that it lacks; else they are refused.
        `storage_options` are those of the library `deltalake`, for tables on object stores.
        """
        return self._add(
            DeltaSink(path, mode=mode, partition_by=partition_by, evolve=evolve, storage_options=storage_options)
        )

    def to_iceberg(
        self,
        table: str,
        *,
        catalog: str | Mapping[str, str] = "default",
        mode: str = "error",
        partition_by: Sequence[str] | str = (),
        evolve: bool = False,
    ) -> Self:
        """Append to an Iceberg table, one snapshot per epoch, exactly once. Needs `millstream[iceberg]`, and no JVM.

        `table` is "namespace.name". `catalog` is the name of a catalog that `pyiceberg` is configured for, or the
        properties of one, its "name" among them. `mode` and `evolve` are as in `to_delta`.
        """
        return self._add(IcebergSink(table, catalog=catalog, mode=mode, partition_by=partition_by, evolve=evolve))

    def to_postgres(self, address: str, table: str, *, key: Sequence[str] | str = (), mode: str = "error") -> Self:
        """Write to a table of PostgreSQL, exactly once. Needs `millstream[postgres]`.

        With `key`, a row replaces the one that has the same values in these columns; without, rows are added. `mode` is
        as in `to_parquet`.
        """
        return self._add(PostgresSink(address, table, key=key, mode=mode))

    def to_console(self, *, limit: int = 20, console: Console | None = None) -> Self:
        """Print one table per epoch on the terminal."""
        return self._add(ConsoleSink(console, rows=limit))

    def to_table(self, name: str) -> Self:
        """Append to a table of Spark's catalogue. Only on Spark; at-least-once."""
        try:
            from millstream.spark.sink import TableSink  # noqa: PLC0415 - the local host runs without pyspark
        except ImportError as error:
            raise SinkError(f"Spark is not installed: {error}", hint="Install millstream[spark].") from error
        self.needs_spark = True
        return self._add(TableSink(name))

    def discard(self) -> Self:
        """Discard the rows: to measure a query without a sink, or to run it only for its callbacks."""
        return self._add(DiscardSink())

    def to_nothing(self) -> Self:
        """The older name of `discard`."""
        return self.discard()

    def for_each(self, fn: Callable[[pa.Table, int], Any]) -> Self:
        """Call `fn(table, epoch)` for each epoch that has rows."""
        return self._add(CallbackSink(fn))

    def to(self, sink: Sink) -> Self:
        """Any object with `write(rows, epoch)` and `close()`."""
        if not callable(getattr(sink, "write", None)) or not callable(getattr(sink, "close", None)):
            raise SinkError(f"{sink!r} is not a sink", hint="Give an object with write(rows, epoch) and close().")
        return self._add(sink)

    def table(self) -> pa.Table:
        """All rows so far, if they are kept in memory."""
        if self._memory is None:
            if self.sinks:
                raise PlanError(f"{self.what} is not kept in memory", hint="Add .to_memory() before the start.")
            return self._schema().empty_table()
        return self._memory.table(self._schema())

    def take_over(self, before: Output) -> None:
        """Write where another output wrote, and go on with what it kept in memory."""
        self.sinks, self._memory, self.needs_spark = before.sinks, before._memory, before.needs_spark

    def resolved(self) -> list[Sink]:
        """The sinks to write to; memory if there is no other."""
        if not self.sinks:
            self.to_memory()
        return self.sinks

    def _schema(self) -> pa.Schema:
        raise NotImplementedError

    def _add(self, sink: Sink) -> Self:
        self.sinks.append(sink)
        return self
