"""A table of PostgreSQL: the rows of an epoch and its number in one transaction, so that each leaves exactly once."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
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

_NOTES = "millstream_outputs"
"""The table that says who has written which step."""
_NULLS_ALIKE = 150_000
"""The first version of the server that can take nulls for one value in a unique index."""


class PostgresSink(TransactionalSink):
    """Writes to a table of PostgreSQL, by the library `psycopg`.

    With `key`, a row replaces the one that has the same values in these columns; without, rows are added. The table is
    created if it is not there, and belongs to the output that wrote it first. `mode` says what happens if somebody else
    did: "error" refuses, "append" writes beside what is there, "replace" makes the table anew.
    """

    identity = None

    def __init__(self, address: str, table: str, *, key: Sequence[str] | str = (), mode: str = "error") -> None:
        self.address = address
        self.table = table
        self.key = listed(key)
        self.mode = one_of_modes(mode)
        self._names: tuple[str, ...] = ()
        self._open: Any = None

    def claim(self, owner: Owner, schema: pa.Schema) -> None:
        """Create the table, or go on with it if it is this output's."""
        known_columns("key", self.key, schema)
        self._names = names_of(owner)
        error_of = _library().Error
        try:
            with self._connection().transaction(), self._connection().cursor() as cursor:
                cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (_NOTES,))  # two may start at once
                cursor.execute(
                    f"CREATE TABLE IF NOT EXISTS {_NOTES} (output text PRIMARY KEY, relation text, step bigint)"
                )
                self._claim(cursor, owner, schema)
        except error_of as error:
            raise SinkError(
                f"the table {self.table!r} cannot be opened: {error}", hint="Check the address, the user and the types."
            ) from error

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Take the rows of a step, if the table has not got them."""
        error_of = _library().Error
        try:
            with self._connection().transaction(), self._connection().cursor() as cursor:
                done = self._done(cursor)
                if done is not None and done >= epoch + 1:
                    return
                self._put(cursor, rows)
                self._note(cursor, epoch + 1)
        except error_of as error:
            self.close()  # the next try begins with a new connection
            raise SinkError(
                f"the table {self.table!r} cannot take the rows of step {epoch}: {error}",
                hint="The step is committed; its rows are delivered when you start again.",
            ) from error

    def close(self) -> None:
        """Let the connection go."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _claim(self, cursor: Any, owner: Owner, schema: pa.Schema) -> None:
        cursor.execute("SELECT to_regclass(%s)", (_quoted(self.table),))
        there = cursor.fetchone()[0] is not None
        mine = self._done(cursor) is not None
        if there and not mine and self.mode == "error":
            raise not_yours(f"the table {self.table!r}", owner)
        if there and not mine and self.mode == "replace":
            cursor.execute(f"DROP TABLE {_quoted(self.table)}")
            cursor.execute(f"DELETE FROM {_NOTES} WHERE relation = %s", (self.table,))
            there = False
        if not there:
            columns = ", ".join(f"{_quoted(field.name)} {_type(field.type)}" for field in schema)
            cursor.execute(f"CREATE TABLE {_quoted(self.table)} ({columns})")
            if self.key:
                alike = " NULLS NOT DISTINCT" if self._connection().info.server_version >= _NULLS_ALIKE else ""
                cursor.execute(f"CREATE UNIQUE INDEX ON {_quoted(self.table)} ({_columns(self.key)}){alike}")
        if not mine:
            self._note(cursor, FIRST)

    def _put(self, cursor: Any, rows: pa.Table) -> None:
        names, table = rows.schema.names, _quoted(self.table)
        if not self.key:
            self._copy(cursor, f"COPY {table} ({_columns(names)}) FROM STDIN", rows)
            return
        number = "__ms_number"
        cursor.execute(
            f"CREATE TEMP TABLE __ms_rows ON COMMIT DROP AS SELECT {_columns(names)}, 0::bigint AS {number} "
            f"FROM {table} LIMIT 0"
        )
        numbered = rows.append_column(number, pa.array(range(rows.num_rows), pa.int64()))
        self._copy(cursor, f"COPY __ms_rows ({_columns(names)}, {number}) FROM STDIN", numbered)
        others = [name for name in names if name not in self.key]
        changes = ", ".join(f"{_quoted(name)} = EXCLUDED.{_quoted(name)}" for name in others)
        # Of several rows with one key the last one stays.
        cursor.execute(
            f"INSERT INTO {table} ({_columns(names)}) SELECT DISTINCT ON ({_columns(self.key)}) {_columns(names)} "
            f"FROM __ms_rows ORDER BY {_columns(self.key)}, {number} DESC "
            f"ON CONFLICT ({_columns(self.key)}) DO " + (f"UPDATE SET {changes}" if others else "NOTHING")
        )

    def _copy(self, cursor: Any, statement: str, rows: pa.Table) -> None:
        nested = [pa.types.is_nested(field.type) for field in rows.schema]
        with cursor.copy(statement) as copy:
            for batch in rows.to_batches(max_chunksize=10_000):
                columns = [column.to_pylist() for column in batch.columns]
                for column, one in zip(columns, nested, strict=True):
                    if one:
                        column[:] = [None if value is None else json.dumps(value, default=str) for value in column]
                for row in zip(*columns, strict=True):
                    copy.write_row(row)

    def _done(self, cursor: Any) -> int | None:
        """The last number of this output; nobody else writes for it until the transaction is over."""
        cursor.execute(f"SELECT step FROM {_NOTES} WHERE output = ANY(%s) FOR UPDATE", (list(self._names),))
        return max((step for (step,) in cursor.fetchall()), default=None)

    def _note(self, cursor: Any, step: int) -> None:
        cursor.execute(
            f"INSERT INTO {_NOTES} VALUES (%s, %s, %s) ON CONFLICT (output) DO UPDATE SET step = EXCLUDED.step",
            (self._names[0], self.table, step),
        )

    def _connection(self) -> Any:
        library = _library()
        if self._open is None or self._open.closed:
            try:
                self._open = library.connect(self.address, autocommit=True)
            except library.Error as error:
                raise SinkError(
                    f"PostgreSQL cannot be reached: {error}",
                    hint='Check the address, such as "postgresql://user@host:5432/database".',
                ) from error
        return self._open


def _type(kind: pa.DataType) -> str:
    """The type of a column.

    >>> _type(pa.int64()), _type(pa.decimal128(12, 2)), _type(pa.timestamp("us", tz="UTC")), _type(pa.list_(pa.int8()))
    ('bigint', 'numeric(12, 2)', 'timestamptz', 'jsonb')
    """
    types = pa.types
    if types.is_integer(kind):  # the smallest signed type that has all values
        widths = {8: "smallint", 16: "smallint", 32: "integer", 64: "bigint", 128: "numeric(20)"}
        return widths[kind.bit_width * (2 if types.is_unsigned_integer(kind) else 1)]
    if types.is_decimal(kind):
        return f"numeric({kind.precision}, {kind.scale})"
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    named = [
        (types.is_boolean, "boolean"),
        (types.is_float64, "double precision"),
        (types.is_floating, "real"),
        (types.is_date, "date"),
        (types.is_time, "time"),
        (types.is_binary, "bytea"),
        (types.is_large_binary, "bytea"),
        (types.is_nested, "jsonb"),
        (types.is_duration, "interval"),
    ]
    return next((name for is_one, name in named if is_one(kind)), "text")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _columns(names: Iterable[str]) -> str:
    return ", ".join(map(_quoted, names))


def _library() -> Any:
    return library("PostgreSQL needs", "postgres", "psycopg")
