"""Rounding: half up or half even, of numbers as they are written."""

from __future__ import annotations

import decimal
from decimal import Decimal

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
    RowError,
    Value,
    is_null,
    rowwise,
    strict,
)
from millstream.kernels.expressions.casts import cast, numpy_of
from millstream.kernels.expressions.decimals import each, rounded, to_decimal
from millstream.kernels.expressions.fit import fixed, wrong
from millstream.kernels.expressions.function_registry import function

_FAMILY = "numbers"


@function("round", _FAMILY, (1, 2))
def _round(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _rounded("round", parts, bound, decimal.ROUND_HALF_UP)


@function("bround", _FAMILY, (1, 2))
def _bround(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _rounded("bround", parts, bound, decimal.ROUND_HALF_EVEN)


def _rounded(name: str, parts: list[BoundTerm], bound: Binding, how: str) -> BoundTerm:
    node = parts[0] if parts[0].kind != t.NOTHING else cast(parts[0], t.DOUBLE, bound)
    if not t.is_number(node.kind):
        raise wrong(name, node, "a number")
    places = 0
    if len(parts) == 2:
        if parts[1].kind not in (t.BYTE, t.SHORT, t.INT):
            raise wrong(name, parts[1], "an INT of places")
        places = fixed(parts[1], name, "the number of places")
    if not -40 <= places <= 400:
        raise ExpressionError(f"{name} to {places} places", hint="Give at most 400 places, and at least -40.")
    if t.is_float(node.kind):
        return _of_floats(node, places, how)
    if t.is_decimal(node.kind):
        return _of_decimals(node, places, how)
    return _of_whole(node, places, how, bound)


_EXACT = decimal.Context(prec=800)
_PLAIN, _CLOSE = 1e9, 1e-6


def _of_floats(node: BoundTerm, places: int, how: str) -> BoundTerm:
    unit = Decimal(1).scaleb(-places, _EXACT)
    short = node.kind == t.FLOAT

    def one(number: float) -> float:
        if number != number or number in (float("inf"), float("-inf")):
            return number
        written = Decimal(str(np.float32(number)) if short else repr(number))
        made = float(written.quantize(unit, how, _EXACT))
        return float(np.float32(made)) + 0.0 if short else made + 0.0

    if short or not 0 <= places <= 15:
        return rowwise(node.kind, [node], one)
    unit_up = 10.0**places

    def run(value: Value) -> Value:
        """Where it is plain which way to go the whole number is exact, and so is the division; else digit by digit."""
        numbers = pc.fill_null(value, 0.0).to_numpy(zero_copy_only=False)
        with np.errstate(all="ignore"):
            raised = np.abs(numbers) * unit_up
            down = np.floor(raised)
            plain = (raised < _PLAIN) & (np.abs(raised - down - 0.5) > _CLOSE)
            made = np.copysign((down + (raised - down > 0.5)) / unit_up, numbers)
        made = np.where(made == 0, 0.0, made)
        for i in np.flatnonzero(~plain):
            made[i] = one(float(numbers[i]))
        return pa.array(made, t.DOUBLE, mask=is_null(value) if value.null_count else None)

    return strict(t.DOUBLE, [node], run)


def _of_decimals(node: BoundTerm, places: int, how: str) -> BoundTerm:
    kind = node.kind
    whole = kind.precision - kind.scale + 1
    if places < 0:
        made = t.bounded(max(whole, -places + 1), 0)
    else:
        scale = min(kind.scale, places)
        made = t.bounded(whole + scale, scale)
    down = kind.scale - places

    def one(number: int) -> int:
        kept = _cut(number, down, how) if down > 0 else number * 10**-down
        return rounded(kept * 10**-places if places < 0 else kept, max(places, 0) - made.scale)

    return strict(made, [node], lambda value: to_decimal(each(one, value), made, ansi=False)[0])


def _cut(number: int, down: int, how: str) -> int:
    unit = 10**down
    whole, rest = divmod(abs(number), unit)
    whole += 2 * rest > unit or (2 * rest == unit and (how == decimal.ROUND_HALF_UP or whole % 2 == 1))
    return -whole if number < 0 else whole


def _of_whole(node: BoundTerm, places: int, how: str, bound: Binding) -> BoundTerm:
    if places >= 0:
        return node
    half = 1 << node.kind.bit_width - 1

    def one(number: int) -> int:
        made = _cut(number, -places, how) * 10**-places
        if not -half <= made < half:
            if bound.ansi:
                raise RowError(f"overflow of {t.name_of(node.kind)}")
            return (made + half) % (2 * half) - half
        return made

    return rowwise(node.kind, [node], one, total=not bound.ansi)


@function("ceil", _FAMILY, (1, 1), "ceiling")
def _ceil(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _to_whole("ceil", parts[0], bound, up=True)


@function("floor", _FAMILY, (1, 1))
def _floor(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _to_whole("floor", parts[0], bound, up=False)


def _to_whole(name: str, node: BoundTerm, bound: Binding, *, up: bool) -> BoundTerm:
    kind = node.kind
    if kind in t.INTEGERS:
        return cast(node, t.LONG, bound)
    if t.is_float(kind) or kind == t.NOTHING:
        wide = cast(node, t.DOUBLE, bound)
        return strict(t.LONG, [wide], lambda value: _far(value, up=up, ansi=bound.ansi), total=not bound.ansi)
    if not t.is_decimal(kind):
        raise wrong(name, node, "a number")
    made = t.bounded(kind.precision - kind.scale + 1, 0)
    unit = 10**kind.scale

    def run(value: Value) -> Result:
        return to_decimal(each(lambda n: -(-n // unit) if up else n // unit, value), made, ansi=False)

    return strict(made, [node], run)


def _far(value: Value, *, up: bool, ansi: bool) -> Result:
    made = numpy_of(lambda x: _long(np.ceil(x) if up else np.floor(x)), value, t.LONG)
    if not ansi:
        return made, None
    numbers = pc.fill_null(value, 0.0).to_numpy(zero_copy_only=False)
    return made, Failed.where((numbers >= 2.0**63) | (numbers < -(2.0**63)), "overflow of BIGINT")


def _long(numbers: np.ndarray) -> np.ndarray:
    """As Java narrows: what is too far is the farthest, and what is no number is zero."""
    out = np.zeros(len(numbers), dtype=np.int64)
    near = np.abs(numbers) < 2.0**63
    out[near] = numbers[near].astype(np.int64)
    out[numbers >= 2.0**63] = 2**63 - 1
    out[numbers <= -(2.0**63)] = -(2**63)
    return out
