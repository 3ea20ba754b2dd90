"""Patterns as conditions of Spark: what feedback says of rows, in a form that Spark can push into a scan.

A null satisfies no condition, so a row that is not matched is one that differs in some column, or has a null there.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.pattern import AnyValue, Between, Equal, From, OneOf, Pattern, UpTo, ValuePattern
from millstream.core.quote import quoted
from millstream.spark.paths.native import INTEGERS


def kept(records: Records, schema: pa.Schema) -> list[str]:
    """Conditions that hold of every row which no record matches; of a record that Spark cannot test there is none.

    >>> schema = pa.schema({"a": pa.int64(), "b": pa.string()})
    >>> kept((Pattern({"a": UpTo(4)}),), schema)
    ['(`a` IS NULL OR `a` >= 4)']
    """
    found = [_unmatched(one, schema) for one in records]
    return [f"({' OR '.join(parts)})" for parts in found if parts is not None]


def _unmatched(record: Pattern, schema: pa.Schema) -> list[str] | None:
    out: list[str] = []
    for name, said in record.attributes.items():
        kind = schema.field(name).type
        parts = _differs(quoted(name), said, kind) if comparable(kind) else None
        if parts is None:
            return None
        out += [f"{quoted(name)} IS NULL", *parts] if parts else []
    return out or None


def comparable(kind: pa.DataType) -> bool:
    """Does Spark compare values of a type as patterns do?"""
    types = pa.types
    return kind in INTEGERS or types.is_string(kind) or types.is_date32(kind) or kind == pa.timestamp("us", tz="UTC")


def _differs(column: str, said: ValuePattern, kind: pa.DataType) -> list[str] | None:
    """Conditions of which one holds if a value that is not null is none of the pattern's."""
    match said:
        case AnyValue():
            return []
        case UpTo(bound):
            return [f"{column} >= {literal(bound, kind)}"]
        case From(bound):
            return [f"{column} < {literal(bound, kind)}"]
        case Between(low, high):
            return [f"{column} < {literal(low, kind)}", f"{column} >= {literal(high, kind)}"]
        case Equal(value):
            return [f"{column} <> {literal(value, kind)}"]
        case OneOf(values):
            return [f"{column} NOT IN ({', '.join(sorted(literal(one, kind) for one in values))})"]


def literal(value: Any, kind: pa.DataType) -> str:
    """A value, or a tick, of a column as Spark writes it.

    >>> literal(5, pa.timestamp("us", tz="UTC")), literal("it's", pa.string())
    ('timestamp_micros(5L)', "cast(X'69742773' AS STRING)")
    """
    if pa.types.is_string(kind):
        return f"cast(X'{str(value).encode().hex()}' AS STRING)"
    if pa.types.is_timestamp(kind):
        return f"timestamp_micros({value}L)"
    return f"date_from_unix_date({value})" if pa.types.is_date32(kind) else str(value)
