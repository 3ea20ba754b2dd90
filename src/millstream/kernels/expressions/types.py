"""Spark's types as Arrow has them, and which type two of them meet in."""

from __future__ import annotations

import re

import pyarrow as pa

BYTE, SHORT, INT, LONG = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
TEXT, BINARY, BOOL, DATE = pa.string(), pa.binary(), pa.bool_(), pa.date32()
STAMP, LOCAL = pa.timestamp("us", tz="UTC"), pa.timestamp("us")
NOTHING = pa.null()

_NAMES: dict[str, pa.DataType] = {
    "TINYINT": BYTE, "SMALLINT": SHORT, "INT": INT, "BIGINT": LONG, "FLOAT": FLOAT, "DOUBLE": DOUBLE, "STRING": TEXT,
    "BOOLEAN": BOOL, "DATE": DATE, "TIMESTAMP": STAMP, "TIMESTAMP_NTZ": LOCAL, "BINARY": BINARY, "VOID": NOTHING,
}  # fmt: skip
_WRITTEN = {kind: name for name, kind in _NAMES.items()}
INTEGERS = (BYTE, SHORT, INT, LONG)
_ORDER = (BYTE, SHORT, INT, LONG, FLOAT, DOUBLE)
_DIGITS = {BYTE: 3, SHORT: 5, INT: 10, LONG: 20}
_UNSIGNED = {pa.uint8(): SHORT, pa.uint16(): INT, pa.uint32(): LONG, pa.uint64(): pa.decimal128(20, 0)}
MOST = 38


def name_of(kind: pa.DataType) -> str:
    """The type as Spark calls it.

    >>> name_of(pa.int64()), name_of(pa.decimal128(5, 2))
    ('BIGINT', 'DECIMAL(5,2)')
    """
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    return _WRITTEN.get(kind, str(kind))


def type_named(name: str) -> pa.DataType:
    """The type of a name that the parser has checked.

    >>> type_named("DECIMAL(5,2)")
    Decimal128Type(decimal128(5, 2))
    """
    found = re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", name)
    return _NAMES[name] if found is None else pa.decimal128(int(found[1]), int(found[2]))


def as_spark(kind: pa.DataType) -> pa.DataType | None:
    """The type that Spark has for values of an Arrow type; None if it has none.

    >>> as_spark(pa.timestamp("ms")), as_spark(pa.uint8()), as_spark(pa.time32("s"))
    (TimestampType(timestamp[us]), DataType(int16), None)
    """
    types = pa.types
    if kind in _WRITTEN:
        return kind
    if types.is_timestamp(kind):
        return LOCAL if kind.tz is None else STAMP
    if types.is_dictionary(kind):
        return as_spark(kind.value_type)
    if types.is_large_string(kind) or kind == pa.string_view():
        return TEXT
    if types.is_large_binary(kind) or types.is_fixed_size_binary(kind) or kind == pa.binary_view():
        return BINARY
    if kind in _UNSIGNED:
        return _UNSIGNED[kind]
    if types.is_decimal(kind) and kind.precision <= MOST and 0 <= kind.scale <= kind.precision:
        return pa.decimal128(kind.precision, kind.scale)
    if kind == pa.float16():
        return FLOAT
    if kind == pa.date64():
        return DATE
    if is_array(kind):
        inner = as_spark(kind.value_type)
        return None if inner is None else pa.list_(inner)
    if types.is_map(kind):
        key, item = as_spark(kind.key_type), as_spark(kind.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if types.is_struct(kind):
        inners = [(field.name, as_spark(field.type)) for field in kind]
        return None if any(one is None for _, one in inners) else pa.struct(inners)
    return None


def is_number(kind: pa.DataType) -> bool:
    """Is it a type of numbers?"""
    return kind in _ORDER or pa.types.is_decimal(kind)


def is_float(kind: pa.DataType) -> bool:
    """Is it FLOAT or DOUBLE?"""
    return kind in (FLOAT, DOUBLE)


def is_decimal(kind: pa.DataType) -> bool:
    """Is it a decimal?"""
    return pa.types.is_decimal(kind)


def is_time(kind: pa.DataType) -> bool:
    """Is it a date, a timestamp, or a timestamp without a zone?"""
    return kind in (DATE, STAMP, LOCAL)


def is_array(kind: pa.DataType) -> bool:
    """Is it an array?"""
    types = pa.types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def bounded(precision: int, scale: int) -> pa.DataType:
    """A decimal cut to what fits."""
    return pa.decimal128(min(precision, MOST), min(scale, MOST))


def adjusted(precision: int, scale: int) -> pa.DataType:
    """A decimal for a result, of which decimals are given up rather than digits before the point.

    >>> adjusted(40, 10)
    Decimal128Type(decimal128(38, 8))
    """
    if precision <= MOST:
        return pa.decimal128(precision, scale)
    whole = precision - scale
    return pa.decimal128(MOST, max(MOST - whole, min(scale, 6)))


def decimal_for(kind: pa.DataType) -> pa.DataType:
    """The decimal that holds all values of a type of whole numbers."""
    return kind if is_decimal(kind) else pa.decimal128(_DIGITS[kind], 0)


def wider_decimal(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The decimal that both fit in.

    >>> wider_decimal(pa.decimal128(5, 2), pa.decimal128(4, 3))
    Decimal128Type(decimal128(6, 3))
    """
    scale = max(one.scale, other.scale)
    return bounded(max(one.precision - one.scale, other.precision - other.scale) + scale, scale)


def meet(one: pa.DataType, other: pa.DataType, *, ansi: bool) -> pa.DataType | None:
    """The type that values of both are brought to, to be compared or to stand for each other; None if there is none.

    >>> meet(pa.int32(), pa.float32(), ansi=True), meet(pa.int32(), pa.float32(), ansi=False)
    (DataType(double), DataType(float))
    """
    if one == other or other == NOTHING:
        return one
    if one == NOTHING:
        return other
    if is_number(one) and is_number(other):
        if is_decimal(one) or is_decimal(other):
            if is_float(one) or is_float(other):
                return DOUBLE
            return wider_decimal(decimal_for(one), decimal_for(other))
        wider = max(one, other, key=_ORDER.index)
        return DOUBLE if ansi and wider == FLOAT else wider
    if {one, other} == {DATE, STAMP}:
        return STAMP
    if {one, other} == {DATE, LOCAL}:
        return LOCAL
    return None
