"""JSON lines: one object per line. Arrow's reader first; if it balks, line by line.

A missing key is a null, a key that the schema does not name is ignored. Dates and times are ISO text;
decimals are numbers or text, and keep every digit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pa_json

from millstream.runtime.batch import Batch, Unreadable
from millstream.runtime.sources.contents import contents, count_lines, is_utf8, printable
from millstream.runtime.sources.convert import from_column
from millstream.runtime.sources.decimal_texts import far
from millstream.runtime.sources.dicts import fit_dicts, infer
from millstream.runtime.sources.stamps import text_type

_DECODE = json.JSONDecoder().decode
_DECODE_EXACT = json.JSONDecoder(parse_float=Decimal).decode


def schema_of(path: Path) -> pa.Schema | None:
    """The types seen in the file, ISO text as dates and time stamps; None if it holds no object."""
    data = contents(path)
    schema = _guess(data)
    if schema is not None:
        return schema
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    rows = [row for row in (_parse(line, _DECODE)[0] for line in lines) if isinstance(row, Mapping)]
    schema = infer(rows)
    if schema is None:
        return None
    return pa.schema([_typed(field, [row.get(field.name) for row in rows]) for field in schema])


def read(path: Path, schema: pa.Schema) -> Batch:
    """The rows of the file; lines that are no object, or hold a value that does not fit, apart."""
    data = contents(path)
    if not data.strip():
        return Batch(schema.empty_table())
    table = _read_fast(data, schema)
    return _read_careful(data, schema, path.name) if table is None else Batch(table)


def _read_fast(data: bytes, schema: pa.Schema) -> pa.Table | None:
    """All rows, or None unless every line is one row that fits."""
    if not all(field.nullable for field in schema):
        return None
    if any(pa.types.is_decimal(field.type) for field in schema) and far(data):
        return None
    # Arrow's JSON reader takes dates for day numbers and drops zones; text is converted by our own rules.
    texts = [f.with_type(pa.string()) if pa.types.is_temporal(f.type) else f for f in schema]
    try:
        table = pa_json.read_json(
            pa.BufferReader(data),
            parse_options=pa_json.ParseOptions(explicit_schema=pa.schema(texts), unexpected_field_behavior="ignore"),
        )
        if table.num_rows != count_lines(data):
            return None
        arrays = [from_column(table.column(field.name), field.type) for field in schema]
    except pa.ArrowException:
        return None
    return pa.Table.from_arrays(arrays, schema=schema)


def _read_careful(data: bytes, schema: pa.Schema, name: str) -> Batch:
    exact = any(pa.types.is_decimal(field.type) for field in schema)
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    numbered = [(number, line.strip("\r")) for number, line in enumerate(lines, 1) if line.strip()]
    parsed = [_parse(line, _DECODE_EXACT if exact else _DECODE) for _, line in numbered]
    faults = {at: fault for at, (_, fault) in enumerate(parsed) if fault is not None}
    good = [at for at in range(len(parsed)) if at not in faults]
    table, bad = fit_dicts([parsed[at][0] for at in good], schema)
    faults.update({good[at]: reason for at, reason in bad.items()})
    unreadable = [
        Unreadable(printable(numbered[at][1]), f"{name} line {numbered[at][0]}: {fault}")
        for at, fault in sorted(faults.items())
    ]
    return Batch(table, unreadable)


def _parse(line: str, decode: Callable[[str], Any]) -> tuple[Any, str | None]:
    """The row, or None and what is wrong with the line."""
    if not is_utf8(line):
        return None, "the text is not UTF-8"
    try:
        row = decode(line)
    except (ValueError, RecursionError) as error:
        return None, f"not JSON: {error}"
    if not isinstance(row, Mapping):
        return None, f"the line is not a JSON object but {type(row).__name__}"
    return row, None


def _guess(data: bytes) -> pa.Schema | None:
    """The schema by Arrow's reader, or None if it balks or sees types within types."""
    try:
        schema = pa_json.read_json(pa.BufferReader(data)).schema
        if any(pa.types.is_nested(field.type) for field in schema):
            return None
        # Arrow takes ISO text for time stamps in seconds, without zone; it is looked at again as text.
        texts = [f.with_type(pa.string()) if pa.types.is_timestamp(f.type) else f for f in schema]
        options = pa_json.ParseOptions(explicit_schema=pa.schema(texts))
        table = pa_json.read_json(pa.BufferReader(data), parse_options=options)
    except pa.ArrowException:
        return None
    if table.num_rows != count_lines(data):
        return None
    return pa.schema([_typed(field, table.column(field.name)) for field in table.schema])


def _typed(field: pa.Field, values: Any) -> pa.Field:
    """The field, as a date or time stamp if it is text and its values are all such."""
    if not pa.types.is_string(field.type):
        return field
    if isinstance(values, list):
        values = pa.chunked_array(
            [[value for value in values if isinstance(value, str) and is_utf8(value)]], pa.string()
        )
    return field.with_type(text_type(values))
