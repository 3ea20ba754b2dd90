"""An Iceberg table: one snapshot per epoch, exactly once by a property that is set in the same commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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

_TRIES = 5
"""So often a commit is tried while others change the table."""


class IcebergSink(TransactionalSink):
    """Appends to an Iceberg table, by the library `pyiceberg`; no JVM is needed.

    A snapshot has the rows of one epoch, and names the query and the epoch. The commit that adds it also notes the
    epoch in the table, so that rows which are handed over again are known. A table belongs to the output that wrote it
    first. `mode` says what happens if somebody else did: "error" refuses, "append" writes beside what is there,
    "replace" makes the table anew. Columns that the table lacks are refused, or added with `evolve`.
    """

    identity = None

    def __init__(
        self,
        table: str,
        *,
        catalog: str | Mapping[str, str] = "default",
        mode: str = "error",
        partition_by: Sequence[str] | str = (),
        evolve: bool = False,
    ) -> None:
        if "." not in table:
            raise SinkError(f"{table!r} names no namespace", hint=f'Write "namespace.{table}".')
        self.name = table
        self.catalog = catalog
        self.mode = one_of_modes(mode)
        self.partition_by = listed(partition_by)
        self.evolve = evolve
        self._keys: tuple[str, ...] = ()
        self._query = ""
        self._open: Any = None

    def claim(self, owner: Owner, schema: pa.Schema) -> None:
        """Create the table, or go on with it if it is this output's."""
        known_columns("partition_by", self.partition_by, schema)
        self._keys, self._query = names_of(owner), owner.query
        with _told(f"the Iceberg table {self.name!r} cannot be opened"):
            catalog = self._catalog()
            if not catalog.table_exists(self.name):
                self._create(catalog, schema)
                return
            table = catalog.load_table(self.name)
            if self._done(table) is None and self.mode == "replace":
                catalog.drop_table(self.name)
                self._create(catalog, schema)
                return
            if self._done(table) is None and self.mode == "error":
                raise not_yours(f"the Iceberg table {self.name!r}", owner)
            self._fit(table, schema)
            if self._done(table) is None:
                with table.transaction() as change:
                    change.set_properties({self._keys[0]: str(FIRST)})

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Append the rows of a step, if the table has not got them."""
        library = _library()
        for left in reversed(range(_TRIES)):
            with _told(f"the Iceberg table {self.name!r} cannot take the rows of step {epoch}"):
                table = self._catalog().load_table(self.name)
                done = self._done(table)
                if done is not None and done >= epoch + 1:
                    return
                try:
                    with table.transaction() as change:
                        change.append(rows, {"millstream.query": self._query, "millstream.epoch": str(epoch)})
                        change.set_properties({self._keys[0]: str(epoch + 1)})
                except library.exceptions.CommitFailedException:  # somebody else was quicker: look again
                    if not left:
                        raise
                else:
                    return

    def close(self) -> None:
        """Let the catalog go."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _create(self, catalog: Any, schema: pa.Schema) -> None:
        catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        plain = pa.schema([field.remove_metadata() for field in schema])
        table = catalog.create_table(self.name, plain, properties={self._keys[0]: str(FIRST)})
        if self.partition_by:
            with table.update_spec() as spec:
                for name in self.partition_by:
                    spec.add_identity(name)

    def _fit(self, table: Any, schema: pa.Schema) -> None:
        """Refuse columns that the table lacks, or add them."""
        known = {field.name for field in table.schema().fields}
        missing = [name for name in schema.names if name not in known]
        if missing and not self.evolve:
            raise SinkError(
                f"the Iceberg table {self.name!r} has no column {missing[0]!r}",
                hint="Let the table get the new columns with evolve=True, or choose another table.",
            )
        if missing:
            with table.update_schema() as change:
                change.union_by_name(pa.schema([schema.field(name).remove_metadata() for name in missing]))

    def _catalog(self) -> Any:
        if self._open is None:
            given = {"name": self.catalog} if isinstance(self.catalog, str) else dict(self.catalog)
            self._open = _library().catalog.load_catalog(given.pop("name", "default"), **given)
        return self._open

    def _done(self, table: Any) -> int | None:
        """The greatest number of this output that the table notes."""
        found = [int(table.properties[key]) for key in self._keys if key in table.properties]
        return max(found, default=None)


class _told:  # noqa: N801 - used like a function
    """Errors of the library, said as ours."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None or isinstance(error, SinkError) or not isinstance(error, Exception):
            return
        raise SinkError(
            f"{self._what}: {error}",
            hint="Check the catalog, permissions and types. What is committed is delivered when you start again.",
        ) from error


def _library() -> Any:
    return library("Iceberg tables need", "iceberg", "pyiceberg", "pyiceberg.catalog", "pyiceberg.exceptions")
