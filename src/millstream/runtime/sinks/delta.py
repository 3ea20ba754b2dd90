"""A Delta table: one version per epoch, exactly once by Delta's own transactions of applications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.core.errors import SinkError
from millstream.runtime.sinks.owner import Owner
from millstream.runtime.sinks.transactional import (
    FIRST,
    TransactionalSink,
    known_columns,
    library,
    listed,
    names_of,
    not_yours,
    one_of_modes,
)
from millstream.state.paths import identity, local_path


class DeltaSink(TransactionalSink):
    """Appends to a Delta table, by the library `deltalake`; no JVM is needed.

    A version of the table has the rows of one epoch, and names the query, the output and the epoch. A table belongs to
    the output that wrote it first. `mode` says what happens if somebody else did: "error" refuses, "append" writes
    beside what is there, "replace" removes it first. Columns that the table lacks are refused, or added with `evolve`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        mode: str = "error",
        partition_by: Sequence[str] | str = (),
        evolve: bool = False,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        self.remote = "://" in str(path) and not str(path).startswith("file:")
        self.path = str(path) if self.remote else str(local_path(path, "a Delta table", SinkError))
        self.identity = None if self.remote else identity(Path(self.path))
        self.mode = one_of_modes(mode)
        self.partition_by = listed(partition_by)
        self.evolve = evolve
        self.storage_options = dict(storage_options or {})
        self._names: tuple[str, ...] = ()

    def claim(self, owner: Owner, schema: pa.Schema) -> None:
        """Create the table, or go on with it if it is this output's."""
        known_columns("partition_by", self.partition_by, schema)
        self._names = names_of(owner)
        lake = _library()
        if not lake.DeltaTable.is_deltatable(self.path, self.storage_options):
            self._create(schema, "error")
        elif self._done(self._table()) is None and self.mode != "append":
            if self.mode == "error":
                raise not_yours(f'the Delta table "{self.path}"', owner)
            self._create(schema, "overwrite")
        elif not self.evolve:
            self._refuse_others(schema)

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Append the rows of a step, if the table has not got them."""
        table = self._table()
        done = self._done(table)
        if done is not None and done >= epoch + 1:
            return
        lake = _library()
        try:
            lake.write_deltalake(
                table,
                rows,
                mode="append",
                schema_mode="merge" if self.evolve else None,
                commit_properties=self._transaction(epoch + 1),
            )
        except (lake.exceptions.DeltaError, OSError, ValueError, pa.ArrowException) as error:
            raise SinkError(
                f'the Delta table "{self.path}" cannot take the rows of step {epoch}: {error}',
                hint="The step is committed; its rows are delivered when you start again.",
            ) from error

    def close(self) -> None:
        """Nothing to let go of."""

    def _create(self, schema: pa.Schema, mode: str) -> None:
        lake = _library()
        try:
            lake.DeltaTable.create(
                self.path,
                pa.schema([field.remove_metadata() for field in schema]),
                mode=mode,
                partition_by=self.partition_by or None,
                storage_options=self.storage_options,
                commit_properties=self._transaction(FIRST),
            )
        except (lake.exceptions.DeltaError, OSError, ValueError) as error:
            raise SinkError(
                f'the Delta table "{self.path}" cannot be created: {error}',
                hint="Check the path, permissions, and whether Delta has the types of the result.",
            ) from error

    def _refuse_others(self, schema: pa.Schema) -> None:
        known = {field.name for field in self._table().schema().fields}
        missing = [name for name in schema.names if name not in known]
        if missing:
            raise SinkError(
                f'the Delta table "{self.path}" has no column {missing[0]!r}',
                hint="Let the table get the new columns with evolve=True, or choose another path.",
            )

    def _table(self) -> Any:
        return _library().DeltaTable(self.path, storage_options=self.storage_options)

    def _done(self, table: Any) -> int | None:
        """The greatest version of this output's transactions that the table has."""
        found = [version for name in self._names if (version := table.transaction_version(name)) is not None]
        return max(found, default=None)

    def _transaction(self, version: int) -> Any:
        lake = _library()
        return lake.CommitProperties(app_transactions=[lake.Transaction(self._names[0], version)])


def _library() -> Any:
    return library("Delta tables need", "delta", "deltalake", "deltalake.exceptions")
