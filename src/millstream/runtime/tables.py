"""Tables that stand beside streams: read whole, replaced whole, and looked into by their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millstream.core.errors import MillstreamError, SchemaError, SourceError, nearest
from millstream.kernels.lookup import Lookup
from millstream.runtime.sources import make_source


def read_whole(source: Any, schema: pa.Schema | None = None) -> pa.Table:
    """All rows of what a user gave: an Arrow table, dict rows, the path of files, or a callable that returns one.

    >>> read_whole(lambda: [{"id": 1}, {"id": 2}]).num_rows
    2
    """
    if callable(source) and not hasattr(source, "schema"):
        return _rows(_called(source), schema)
    if isinstance(source, Iterator | pa.RecordBatchReader):
        raise SourceError(
            f"{type(source).__name__} can be read only once, and a table may be read again",
            hint="Give a callable that returns the rows.",
        )
    return _rows(source, schema)


def _called(source: Callable[[], Any]) -> Any:
    try:
        return source()
    except MillstreamError:
        raise
    except Exception as error:
        raise SourceError(
            f"the callable that a table is read from failed: {type(error).__name__}: {error}",
            hint="It takes no arguments, and returns an Arrow table, dict rows or the path of files.",
        ) from error


def _rows(source: Any, schema: pa.Schema | None) -> pa.Table:
    made: Any = make_source(source, schema=schema)
    # A source of a stream goes on where it was: here it is read from where it began, each time.
    begin = getattr(made, "position", None)
    parts: list[pa.Table] = []
    for batch in made.batches():
        for bad in batch.unreadable[:1]:
            raise SourceError(
                f"{len(batch.unreadable)} rows of the table cannot be read, the first is {bad.raw!r}: {bad.reason}",
                hint="Correct the file, or give schema=pa.schema([…]) with types that fit.",
            )
        parts.append(batch.rows)
    if begin is not None and hasattr(made, "seek"):
        made.seek(begin)
    return pa.concat_tables(parts) if parts else made.schema.empty_table()


def conforming(name: str, table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table that was read again with the columns it had; what is new in it is left out."""
    for wanted in schema:
        if wanted.name not in table.schema.names:
            raise SchemaError(
                f"the table {name!r} has no column {wanted.name!r} any more",
                hint=nearest(wanted.name, table.schema.names),
            )
        kind = table.schema.field(wanted.name).type
        try:
            fits = kind == wanted.type or bool(table[wanted.name].cast(wanted.type) is not None)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            fits = False
        if not fits:
            raise SchemaError(
                f"{wanted.name!r} of the table {name!r} is {kind} now and was {wanted.type}",
                hint="Write the column with the type it had, or restart with the table declared anew.",
            )
    return table.select(schema.names).cast(schema)


@dataclass(slots=True)
class Tables:
    """The tables of an engine, by name; a table that is read again holds from the next epoch on.

    >>> tables = Tables()
    >>> tables.add("items", pa.table({"id": [1]}))
    >>> tables.refresh("items", pa.table({"id": [1, 2]}))
    >>> tables["items"].num_rows, tables.version("items")
    (2, 1)
    """

    _rows: dict[str, pa.Table] = field(default_factory=dict[str, pa.Table])
    _versions: dict[str, int] = field(default_factory=dict[str, int])
    _lookups: dict[tuple[str, tuple[str, ...]], tuple[int, Lookup]] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], tuple[int, Lookup]]
    )

    def __getitem__(self, name: str) -> pa.Table:
        """The rows of a table as they were last read."""
        return self._rows[name]

    def add(self, name: str, rows: pa.Table) -> None:
        """A table, as it is now."""
        self._rows[name], self._versions[name] = rows, 0

    def refresh(self, name: str, rows: pa.Table) -> None:
        """The same table, read again. Hosts ask for it where an epoch begins, and not within one."""
        # The rows come first: a host that sees the new version finds at least these.
        self._rows[name] = rows
        self._versions[name] += 1

    def version(self, name: str) -> int:
        """How often a table has been read again in this process."""
        return self._versions[name]

    def find(self, name: str, keys: Sequence[str]) -> Lookup:
        """A table, ready to be looked into by some columns."""
        asked, version = (name, tuple(keys)), self.version(name)
        known = self._lookups.get(asked)
        if known is None or known[0] != version:
            known = version, Lookup(self[name], keys)
            self._lookups[asked] = known
        return known[1]
