"""CSV files with a header line. Arrow's reader first; if it balks, row by row.

An empty field is null; in quotes it is empty text. Columns are found by their name in the header; those that
the schema does not name are ignored.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pa_csv

from millstream.runtime.batch import Batch, Unreadable
from millstream.runtime.sources.conform import check_names
from millstream.runtime.sources.contents import contents, count_lines, is_utf8, printable, unreadable_file
from millstream.runtime.sources.convert import from_column, from_text
from millstream.runtime.sources.csv_rows import CsvRow, csv_rows
from millstream.runtime.sources.stamps import micros, text_schema
from millstream.runtime.sources.to_schema import fit

_PARSE = {"newlines_in_values": True}
_CONVERT = {"null_values": [""], "strings_can_be_null": True, "quoted_strings_can_be_null": False}


def schema_of(path: Path) -> pa.Schema | None:
    """The types that Arrow sees in the file, time stamps in microseconds; None for an empty file."""
    data = contents(path)
    if not data.strip():
        return None
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            parse_options=pa_csv.ParseOptions(**_PARSE, invalid_row_handler=lambda _: "skip"),
            convert_options=pa_csv.ConvertOptions(**_CONVERT),
        )
        names = table.column_names
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable_file(path, error) from error
    schema = pa.schema([pa.field(name, micros(table.column(i))) for i, name in enumerate(names)])
    check_names(names, schema, path.name)
    return schema


def read(path: Path, schema: pa.Schema) -> Batch:
    """The rows of the file; those with the wrong number of fields, or a value that does not fit, apart."""
    return read_text(contents(path), schema, path.name)


def read_text(data: bytes, schema: pa.Schema, name: str) -> Batch:
    """The same of the text of a file of that name."""
    if not data.strip():
        return Batch(schema.empty_table())
    table = _read_fast(data, schema)
    return _read_careful(data, schema, name) if table is None else Batch(table)


def _read_fast(data: bytes, schema: pa.Schema) -> pa.Table | None:
    """All rows, or None unless each is on one line, every value fits and all quotes are paired."""
    if data.count(b'"') % 2 or not all(field.nullable for field in schema):
        return None
    first = next(csv_rows(data.partition(b"\n")[0].decode("utf-8", "surrogateescape")), None)
    if first is None or len(set(first.fields)) < len(first.fields):
        return None
    texts = text_schema(schema)
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(data),
            parse_options=pa_csv.ParseOptions(**_PARSE),
            convert_options=pa_csv.ConvertOptions(
                **_CONVERT,
                column_types={field.name: field.type for field in texts},
                include_columns=schema.names,
            ),
        )
        if table.num_rows != count_lines(data) - 1:
            return None
        arrays = [from_column(table.column(field.name), field.type) for field in schema]
    except pa.ArrowException:
        return None
    return pa.Table.from_arrays(arrays, schema=schema)


def _read_careful(data: bytes, schema: pa.Schema, name: str) -> Batch:
    header, *body = csv_rows(data.decode("utf-8", "surrogateescape"))
    names = [printable(field or "") for field in header.fields]
    check_names(names, schema, f"{name} line {header.line}")
    faults = [_fault(row, len(names)) for row in body]
    good = [row for row, fault in zip(body, faults, strict=True) if fault is None]
    columns = {field: [row.fields[at] for row in good] for at, field in enumerate(names) if field in schema.names}
    fitted = fit(columns, schema, len(good), from_text)
    bad = [(row, fault) for row, fault in zip(body, faults, strict=True) if fault is not None]
    bad += [(good[at], reason) for at, reason in fitted.bad.items()]
    bad.sort(key=lambda pair: pair[0].line)
    return Batch(
        fitted.rows,
        [Unreadable(printable(row.text), f"{name} line {row.line}: {why}") for row, why in bad],
    )


def _fault(row: CsvRow, expected: int) -> str | None:
    if row.fault is not None:
        return row.fault
    if len(row.fields) != expected:
        return f"{len(row.fields)} fields where the header has {expected}"
    return None if is_utf8(row.text) else "the text is not UTF-8"
