"""Casts between numbers, booleans and times; those from and to text are in `texts.py`."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import (
    Binding,
    BoundTerm,
    Failed,
    Result,
    Value,
    constant,
    is_null,
    strict,
)
from millstream.kernels.expressions.decimals import rounded, to_decimal, units
from millstream.kernels.expressions.read_text import from_text
from millstream.kernels.expressions.write_text import to_text
from millstream.kernels.expressions.zones import from_local, to_local

DAY = 86_400_000_000


def cast(node: BoundTerm, kind: pa.DataType, bound: Binding, *, safe: bool = False) -> BoundTerm:
    """The node's value as another type; what cannot be cast fails its row, or is null where `safe` or not ANSI."""
    if node.kind == kind:
        return node
    if node.kind == t.NOTHING:
        return constant(None, kind)
    checked = bound.ansi or safe
    compute, total = _way(node.kind, kind, ansi=checked, zone=bound.zone)

    def run(value: Value) -> Result:
        found = compute(value)
        made, failed = found if isinstance(found, tuple) else (found, None)
        if failed is not None and safe:  # only the cast itself is forgiven: what fails below it fails
            return nulled(made, failed.rows), None
        return made, failed

    return strict(kind, [node], run, total=total or safe or not checked)


def nulled(value: Value, rows: np.ndarray) -> Value:
    """The values, null for some rows."""
    return pc.if_else(pa.array(rows), pa.scalar(None, value.type), value)


def refused(one: pa.DataType, other: pa.DataType) -> ExpressionError:
    """There is no such cast."""
    hint = "Cast it to another type first, or use a function such as unix_seconds, timestamp_seconds or to_date."
    return ExpressionError(f"{t.name_of(one)} cannot be cast to {t.name_of(other)}", hint=hint)


def _way(one: pa.DataType, other: pa.DataType, *, ansi: bool, zone: str):
    """How to cast, and whether it always can be."""
    if other == t.TEXT:
        return (lambda value: to_text(value, zone, ansi=ansi)), one != t.BINARY
    if one == t.TEXT:
        return (lambda value: from_text(value, other, zone, ansi=ansi)), False
    if other == t.BOOL and t.is_number(one):
        return _to_bool, True
    if one == t.BOOL and t.is_number(other):
        if t.is_decimal(other):
            return (lambda value: to_decimal_kind(value.cast(t.INT), other, ansi=ansi)), False
        return (lambda value: value.cast(t.INT).cast(other)), True
    if t.is_number(one) and t.is_number(other):
        return _numbers(one, other, ansi=ansi)
    if t.is_time(one) and t.is_time(other):
        return (lambda value: _times(value, other, zone)), True
    if one == t.STAMP and other in (t.LONG, t.DOUBLE):
        return _seconds(other), True
    if one == t.STAMP and other == t.INT:
        return (lambda value: _short(_seconds(t.LONG)(value), other, ansi=ansi)), False
    if one in t.INTEGERS and other == t.STAMP:
        return _stamp, True
    raise refused(one, other)


def _to_bool(value: Value) -> Value:
    if t.is_decimal(value.type):
        return pa.array([None if one is None else one != 0 for one in units(value)], t.BOOL)
    return pc.not_equal(value, pa.scalar(0, value.type))


def _seconds(kind: pa.DataType):
    def run(value: Value) -> Value:
        micros = value.cast(t.LONG)
        if kind == t.DOUBLE:
            return pc.divide(micros.cast(t.DOUBLE, safe=False), 1e6)
        return numpy_of(lambda m: np.floor_divide(m, 1_000_000), micros, t.LONG)

    return run


def _stamp(value: Value) -> Value:
    seconds = value.cast(t.LONG)
    low, high = -(2**63) // 1_000_000 + 1, (2**63 - 1) // 1_000_000

    def run(s: np.ndarray) -> np.ndarray:
        near = np.clip(s, low, high) * 1_000_000
        return np.where(s > high, 2**63 - 1, np.where(s < low, -(2**63), near))

    return numpy_of(run, seconds, t.LONG).cast(t.STAMP)


def _times(value: Value, other: pa.DataType, zone: str) -> Value:
    one = value.type
    if one == t.DATE:
        micros = numpy_of(lambda d: d.astype(np.int64) * DAY, value.cast(t.INT), t.LONG)
        return micros.cast(t.LOCAL) if other == t.LOCAL else from_local(micros, zone)
    local = to_local(value, zone) if one == t.STAMP else value.cast(t.LONG)
    if other == t.DATE:
        return numpy_of(lambda m: np.floor_divide(m, DAY).astype(np.int32), local, t.INT).cast(t.DATE)
    return local.cast(t.LOCAL) if other == t.LOCAL else from_local(local, zone)


def numpy_of(fn, value: Value, kind: pa.DataType) -> Value:
    """A NumPy function of the numbers in an array; nulls stay."""
    nulls = is_null(value) if value.null_count else None
    numbers = pc.fill_null(value, 0).to_numpy(zero_copy_only=False) if nulls is not None else value.to_numpy(
        zero_copy_only=False)  # fmt: skip
    with np.errstate(all="ignore"):
        return pa.array(fn(numbers), kind, mask=nulls)


# --- numbers ---------------------------------------------------------------------------------------


def _numbers(one: pa.DataType, other: pa.DataType, *, ansi: bool):
    if t.is_decimal(other):
        fits = one in t.INTEGERS and _fits(t.decimal_for(one), other)
        fits = fits or (t.is_decimal(one) and _fits(one, other))
        if fits and one in (*t.INTEGERS,):
            return (lambda value: value.cast(t.decimal_for(one)).cast(other)), True
        if fits and one.scale <= other.scale:
            return (lambda value: value.cast(other)), True
        return (lambda value: to_decimal_kind(value, other, ansi=ansi)), False
    if t.is_decimal(one):
        if t.is_float(other):
            return (lambda value: _decimal_to_float(value, other)), True
        return (lambda value: _decimal_to_whole(value, other, ansi=ansi)), False
    if t.is_float(other):
        return (lambda value: value.cast(other, safe=False)), True
    if t.is_float(one):
        return (lambda value: _float_to_whole(value, other, ansi=ansi)), False
    if other.bit_width >= one.bit_width:
        return (lambda value: value.cast(other)), True
    return (lambda value: narrowed(value, other, ansi=ansi)), False


def _fits(one: pa.DataType, other: pa.DataType) -> bool:
    return other.precision - other.scale >= one.precision - one.scale and other.scale >= one.scale


def narrowed(value: Value, kind: pa.DataType, *, ansi: bool) -> Result:
    """Whole numbers in fewer bits; with ANSI those that do not fit fail, else they wrap."""
    wide = pc.fill_null(value, 0).to_numpy(zero_copy_only=False)
    short = wide.astype(kind.to_pandas_dtype())
    nulls = is_null(value) if value.null_count else None
    made = pa.array(short, kind, mask=nulls)
    if not ansi:
        return made, None
    return made, Failed.where(short != wide, f"overflow of {t.name_of(kind)}")


def _short(seconds: Value, kind: pa.DataType, *, ansi: bool) -> Result:
    """Seconds of a timestamp as an INT: without ANSI what does not fit is null, and does not wrap."""
    made, failed = narrowed(seconds, kind, ansi=True)
    return (made, failed) if ansi or failed is None else (nulled(made, failed.rows), None)


def _float_to_whole(value: Value, kind: pa.DataType, *, ansi: bool) -> Result:
    ends = pc.min_max(value)
    low, high = ends["min"].as_py(), ends["max"].as_py()
    half = 2.0 ** (kind.bit_width - 1)
    if low is None or (-half < low and high < half and not pc.any(pc.is_nan(value)).as_py()):
        return value.cast(kind, safe=False), None  # all fit: the decimals are cut off
    nulls = is_null(value) if value.null_count else None
    numbers = pc.fill_null(value, 0.0).to_numpy(zero_copy_only=False).astype(np.float64)
    step = kind if kind in (t.INT, t.LONG) else t.INT
    low, high = -(2.0 ** (step.bit_width - 1)), 2.0 ** (step.bit_width - 1) - (1 if step == t.INT else 0)
    with np.errstate(all="ignore"):
        near = np.clip(np.nan_to_num(np.trunc(numbers), nan=0.0), low, high)
        top = near >= 2.0 ** (step.bit_width - 1)
        whole = np.where(top, 0, near).astype(np.int64)
        whole[top] = 2 ** (step.bit_width - 1) - 1
        good = (np.floor(numbers) <= high) & (np.ceil(numbers) >= low)
    short = whole.astype(kind.to_pandas_dtype())
    made = pa.array(short, kind, mask=nulls)
    if not ansi:
        return made, None
    return made, Failed.where(~good | (short != whole), f"overflow of {t.name_of(kind)}")


def to_decimal_kind(value: Value, kind: pa.DataType, *, ansi: bool) -> Result:
    """Numbers as decimals of a kind, rounded half up."""
    if t.is_float(value.type):
        from decimal import Decimal  # noqa: PLC0415 - only here

        numbers: list[int | None] = []
        for one in value.cast(t.DOUBLE).to_pylist():
            exact = None if one is None or not math.isfinite(one) else Decimal(repr(one))
            if exact is None:
                numbers.append(None)
                continue
            sign, digits, exponent = exact.as_tuple()
            unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
            shift = -int(exponent) - kind.scale
            numbers.append(rounded(unscaled, shift) if shift < 400 else 0)
        return to_decimal(numbers, kind, ansi=ansi)
    scale = value.type.scale if t.is_decimal(value.type) else 0
    numbers = [None if one is None else rounded(one, scale - kind.scale) for one in units(value)]
    return to_decimal(numbers, kind, ansi=ansi)


def _decimal_to_whole(value: Value, kind: pa.DataType, *, ansi: bool) -> Result:
    unit = 10**value.type.scale
    half = 2 ** (kind.bit_width - 1)
    numbers = units(value)
    whole = [None if one is None else (abs(one) // unit) * (-1 if one < 0 else 1) for one in numbers]
    far = np.array([one is not None and not -half <= one < half for one in whole], dtype=np.bool_)
    wrapped = [None if one is None else (one + half) % (2 * half) - half for one in whole]
    made = pa.array(wrapped, kind)
    return made, Failed.where(far, f"overflow of {t.name_of(kind)}") if ansi else None


def _decimal_to_float(value: Value, kind: pa.DataType) -> Value:
    scale = value.type.scale
    # Through the text of the number, as nothing else is exact.
    numbers = [None if one is None else float(f"{one}e-{scale}") for one in units(value)]
    return pa.array(numbers, t.DOUBLE).cast(kind, safe=False) if kind == t.DOUBLE else pa.array(
        [None if one is None else np.float32(f"{one}e-{scale}") for one in units(value)], kind)  # fmt: skip
