"""Columns as a user gives them: an Arrow schema, or text as in Spark and CREATE STREAM."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from millstream.core.errors import SchemaError, SqlError
from millstream.runtime.sources import FileSource
from millstream.runtime.sources import files as read_files
from millstream.sql.grammar.read_stream import read_columns
from millstream.sql.types import Type, read_type

_EXAMPLE = 'Write "ts TIMESTAMP, k STRING", or pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string())]).'


def as_schema(given: pa.Schema | str | None) -> pa.Schema | None:
    """The schema of an argument; types in a text are those of Spark.

    >>> as_schema("ts TIMESTAMP, k STRING, price DECIMAL(10, 2)")
    ts: timestamp[us, tz=UTC]
    k: string
    price: decimal128(10, 2)
    """
    if given is None or isinstance(given, pa.Schema):
        return given
    if not isinstance(given, str):
        raise SchemaError(f"schema is {type(given).__name__}, and neither a schema nor text", hint=_EXAMPLE)
    try:
        columns = read_columns(given)
        return pa.schema([pa.field(one.name.text, arrow_type(read_type(one.kind))) for one in columns])
    except SqlError as error:
        (first, *_) = error.problems
        raise SchemaError(f"schema {given!r} cannot be read: {first.fact}", hint=first.hint or _EXAMPLE) from None


def files(
    path: str | Path,
    format: str | None = None,
    *,
    schema: pa.Schema | str | None = None,
    epoch_files: int = 1,
    epoch_rows: int | None = None,
    pattern: str = "*",
) -> FileSource:
    """A file or a folder of files as a source.

    Args:
        path: A file, or a folder whose files are read in order of their names. Names that start with a dot
            or an underscore are ignored.
        format: "parquet", "csv" (with a header line) or "json" (one object per line); by default the
            format of the suffixes.
        schema: Columns and types, as an Arrow schema or as text: "ts TIMESTAMP, k STRING"; by default those of the
            first file.
        epoch_files: Files per epoch.
        epoch_rows: If given, an epoch has at most this many rows: files are split, never joined.
        pattern: Which files of the folder, as a glob; "**/*.csv" includes subfolders.
    """
    kept = as_schema(schema)
    return read_files(path, format, schema=kept, epoch_files=epoch_files, epoch_rows=epoch_rows, pattern=pattern)


def arrow_type(kind: Type) -> pa.DataType:
    """The Arrow type of a type as SQL names it."""
    match kind.name:
        case "array":
            return pa.list_(arrow_type(kind.inner[0][1]))
        case "struct":
            return pa.struct([pa.field(name, arrow_type(one)) for name, one in kind.inner])
        case "map":
            return pa.map_(arrow_type(kind.inner[0][1]), arrow_type(kind.inner[1][1]))
        case "decimal":
            return pa.decimal128(*kind.numbers)
        case "timestamp":
            return pa.timestamp("us", "UTC")
        case "timestamp_ntz":
            return pa.timestamp("us")
        case name:
            return pa.type_for_alias(name)
