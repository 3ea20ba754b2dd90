"""A table with one schema, read as a table with another.

Columns are found by name, so their order does not matter. A column that is missing is an error; one that the
schema does not name is ignored. A value that cannot be cast without loss sets its row apart.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream.core.errors import SourceError, nearest
from millstream.runtime.batch import Batch, Unreadable
from millstream.runtime.sources.convert import from_column
from millstream.runtime.sources.raw import plain, row_json
from millstream.runtime.sources.to_schema import fit


def as_table(value: Any) -> pa.Table | None:
    """The Arrow table that `value` is or can be read as (pandas, Polars, DuckDB, …), or None."""
    if isinstance(value, pa.Table):
        return value
    if isinstance(value, pa.RecordBatch):
        return pa.Table.from_batches([value])
    if hasattr(value, "__arrow_c_stream__"):
        return pa.table(value)
    return None


def own_schema(schema: pa.Schema) -> pa.Schema:
    """A table's schema as a stream has it: without metadata, and text as text where Arrow cannot filter views.

    >>> own_schema(pa.schema([("k", pa.string_view())]))
    k: string
    """
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return pa.schema([field.with_type(plain.get(field.type, field.type)).remove_metadata() for field in schema])


def conform(table: pa.Table, schema: pa.Schema, where: str) -> Batch:
    """The rows of `table` as `schema` has them; `where` names the table in errors and reasons.

    >>> batch = conform(pa.table({"b": ["1", "x"], "a": [1, 2]}), pa.schema([("b", pa.int8())]), "epoch 0")
    >>> batch.rows.to_pylist(), batch.unreadable[0].reason
    ([{'b': 1}], 'epoch 0, row 1: column "b": "x" is not int8')
    """
    if table.schema.equals(schema) and all(field.nullable for field in schema):
        return Batch(table)
    check_names(table.column_names, schema, where)
    for field in schema:
        _check_cast(table.column(field.name), field, where)
    columns = {field.name: table.column(field.name) for field in schema}
    fitted = fit(columns, schema, table.num_rows, from_column)
    unreadable = [
        Unreadable(
            row_json({name: plain(table.column(name)[row]) for name in table.column_names}),
            f"{where}, row {row}: {reason}",
        )
        for row, reason in fitted.bad.items()
    ]
    return Batch(fitted.rows, unreadable)


def check_names(names: list[str], schema: pa.Schema, where: str) -> None:
    """Every column of the schema must be there, once."""
    for field in schema:
        if field.name not in names:
            raise SourceError(
                f'{where} has no column "{field.name}"',
                hint=f"{nearest(field.name, names)} Nothing of it was taken: add the column, then start again.",
            )
        if names.count(field.name) > 1:
            raise SourceError(
                f'{where} has {names.count(field.name)} columns "{field.name}"',
                hint="Rename or drop all but one.",
            )


def _check_cast(column: pa.ChunkedArray, field: pa.Field, where: str) -> None:
    try:
        from_column(column.slice(0, 0), field.type)
    except pa.ArrowNotImplementedError as error:
        raise SourceError(
            f'{where}: column "{field.name}" is {column.type}, which has no cast to {field.type}',
            hint="Give the stream a schema that fits all of its input, or cast before it.",
        ) from error
