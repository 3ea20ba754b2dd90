"""Between Arrow arrays and ticks: one int64 per value of an ordered attribute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM, END, Domain, Kind
from millstream.core.entrance import cases
from millstream.core.errors import WindowError

_DIGITS = 18


def domain_of(kind: pa.DataType, name: str = "attribute") -> Domain:
    """The domain of an Arrow type, if it is ordered and discrete.

    >>> domain_of(pa.timestamp("us", tz="UTC")).describe()
    'timestamp[us, UTC]'
    """
    if pa.types.is_timestamp(kind):
        return Domain(kind=Kind.TIMESTAMP, unit=kind.unit, zone=kind.tz)
    if pa.types.is_date(kind):
        return Domain(kind=Kind.DATE)
    if pa.types.is_integer(kind):
        return Domain(kind=Kind.INTEGER)
    if pa.types.is_decimal(kind):
        if kind.precision > _DIGITS:
            raise WindowError(
                f"{name} is {kind}, more digits than a windowing attribute can have ({_DIGITS})",
                hint="Cast it to a decimal of at most 18 digits.",
            )
        return Domain(kind=Kind.DECIMAL, scale=kind.scale)
    raise WindowError(
        f"{name} is {kind}, and neither windows nor progress can be on that",
        hint="Use a timestamp, a date, an integer or a decimal (cast a float to a decimal first).",
    )


def to_ticks(column: pa.Array | pa.ChunkedArray) -> np.ndarray:
    """The ticks of a column without nulls.

    >>> to_ticks(pa.array([1, 2], pa.date32())).tolist()
    [1, 2]
    """
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = array.type
    if pa.types.is_decimal(kind):
        wide = array.cast(pa.decimal128(kind.precision, kind.scale))
        words = np.frombuffer(wide.buffers()[1], dtype=np.int64)
        # Two words a value, the low one first; with 18 digits at most the low one is all of it.
        return words[2 * wide.offset : 2 * (wide.offset + len(wide)) : 2]
    if pa.types.is_date64(kind):
        array = array.cast(pa.date32())
    if pa.types.is_date(kind):
        return array.view(pa.int32()).to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_timestamp(kind):
        return array.view(pa.int64()).to_numpy(zero_copy_only=False)
    if pa.types.is_uint64(kind):
        # What is beyond every tick stands at the end of them.
        return np.minimum(array.to_numpy(zero_copy_only=False), np.uint64(END)).astype(np.int64)
    return pc.cast(array, pa.int64()).to_numpy(zero_copy_only=False)


def too_far(ticks: np.ndarray, reach: int) -> np.ndarray | None:
    """Which ticks are so near to either end of time that `reach` more do not fit 64 bits; None if none is.

    >>> too_far(np.array([END - 3, 0]), 5).tolist(), too_far(np.array([END - 3, 0]), 3)
    ([True, False], None)
    """
    if int(ticks.min()) >= BOTTOM + reach and int(ticks.max()) <= END - reach:
        return None
    return (ticks < BOTTOM + reach) | (ticks > END - reach)


def fates(ticks: np.ndarray, bound: int, reach: int = 1) -> np.ndarray | None:
    """What becomes of each row where it enters, as `core.entrance` says; None if all are good.

    >>> fates(np.array([3, 7, END]), bound=5).tolist(), fates(np.array([7, 8]), bound=5)
    ([2, 0, 1], None)
    """
    if not len(ticks):
        return None
    low, high = int(ticks.min()), int(ticks.max())
    out: np.ndarray | None = None
    for case in reversed(cases(reach)):
        limit = bound if case.limit is None else case.limit
        if (low < limit) if case.below else (high >= limit):
            out = np.zeros(len(ticks), dtype=np.int8) if out is None else out
            out[(ticks < limit) if case.below else (ticks >= limit)] = case.fate
    return out


def edge_type(kind: pa.DataType) -> pa.DataType:
    """The type of a window's edges: the attribute's own, or a wider one where edges beyond its last value must fit.

    >>> edge_type(pa.uint8()), edge_type(pa.decimal128(4, 2)), edge_type(pa.date32())
    (DataType(int64), Decimal128Type(decimal128(18, 2)), DataType(date32[day]))
    """
    if pa.types.is_integer(kind):
        return pa.int64()
    if pa.types.is_decimal(kind):
        return pa.decimal128(_DIGITS, kind.scale)
    return kind


def edge_value(tick: int, kind: pa.DataType) -> Any:
    """A tick as a value of the attribute's type.

    >>> edge_value(125, pa.decimal128(9, 2))
    Decimal('1.25')
    """
    return from_ticks(np.array([tick]), kind)[0].as_py()


def from_ticks(ticks: np.ndarray, kind: pa.DataType) -> pa.Array:
    """Ticks as a column of the attribute's own type.

    >>> from_ticks(np.array([125]), pa.decimal128(9, 2)).to_pylist()
    [Decimal('1.25')]
    """
    plain = pa.array(np.ascontiguousarray(ticks, dtype=np.int64))
    if pa.types.is_timestamp(kind):
        return plain.view(kind)
    if pa.types.is_date(kind):
        return plain.cast(pa.int32()).view(pa.date32()).cast(kind)
    if pa.types.is_decimal(kind):
        words = np.empty((len(ticks), 2), dtype=np.int64)
        words[:, 0] = ticks
        words[:, 1] = np.asarray(ticks) >> 63
        wide = pa.Array.from_buffers(pa.decimal128(38, kind.scale), len(ticks), [None, pa.py_buffer(words.tobytes())])
        return wide.cast(kind)
    return plain.cast(kind)


def ordered_columns(schema: pa.Schema) -> set[str]:
    """The columns whose punctuation is in ticks."""
    found: set[str] = set()
    for field in schema:
        if pa.types.is_integer(field.type) or pa.types.is_temporal(field.type) or pa.types.is_decimal(field.type):
            try:
                domain_of(field.type, field.name)
            except WindowError:
                continue
            found.add(field.name)
    return found
