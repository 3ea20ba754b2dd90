"""Functions of bits: & | ^ ~, shifts, and numbers written by their bits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.arithmetic import wrong
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, Value, is_null, rowwise, strict
from millstream.kernels.expressions.casts import cast, numpy_of
from millstream.kernels.expressions.fit import long, whole
from millstream.kernels.expressions.fit import wrong as wrong_type
from millstream.kernels.expressions.function_registry import function

_FAMILY = "bits"


def _operator(op: str, compute: np.ufunc) -> None:
    @function(op, _FAMILY, (2, 2), syntax=True)
    def _bits(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        one, other = parts
        kind = t.meet(one.kind, other.kind, ansi=bound.ansi)
        if kind not in t.INTEGERS:
            raise wrong(op, one, other)
        return strict(kind, [cast(one, kind, bound), cast(other, kind, bound)], lambda a, b: _both(compute, a, b))


for _op, _compute in (("&", np.bitwise_and), ("|", np.bitwise_or), ("^", np.bitwise_xor)):
    _operator(_op, _compute)


def _both(compute: np.ufunc, a: Value, b: Value) -> Value:
    nulls = is_null(a) | is_null(b)
    one, other = (np.where(nulls, 0, side.fill_null(0).to_numpy(zero_copy_only=False)) for side in (a, b))
    kind = a.type.to_pandas_dtype()
    return pa.array(compute(one.astype(kind), other.astype(kind)), a.type, mask=nulls)


@function("~", _FAMILY, (1, 1), syntax=True)
def _inverted(parts: list[BoundTerm], _bound: Binding) -> BoundTerm:
    node = parts[0]
    if node.kind not in t.INTEGERS:
        raise wrong("~", node)
    return strict(node.kind, [node], lambda value: numpy_of(np.invert, value, node.kind))


@function("shiftleft", _FAMILY, (2, 2))
def _shiftleft(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _shift("shiftleft", parts, bound, lambda a, by, bits: _wrap(a << (by % bits), bits))


@function("shiftright", _FAMILY, (2, 2))
def _shiftright(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _shift("shiftright", parts, bound, lambda a, by, bits: a >> (by % bits))


@function("shiftrightunsigned", _FAMILY, (2, 2))
def _unsigned(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _shift("shiftrightunsigned", parts, bound, lambda a, by, bits: _wrap((a % (1 << bits)) >> (by % bits), bits))


def _shift(name: str, parts: list[BoundTerm], bound: Binding, fn) -> BoundTerm:
    value = parts[0] if parts[0].kind == t.LONG else whole(parts[0], bound, name)
    by = whole(parts[1], bound, name)
    bits = value.kind.bit_width
    return rowwise(value.kind, [value, by], lambda a, b: fn(a, b, bits))


def _wrap(number: int, bits: int) -> int:
    half = 1 << bits - 1
    return (number + half) % (2 * half) - half


@function("bit_count", _FAMILY, (1, 1))
def _bit_count(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    node = parts[0]
    if node.kind == t.BOOL:
        return strict(t.INT, [node], lambda value: value.cast(t.INT))
    node = long(node, bound, "bit_count")
    return rowwise(t.INT, [node], lambda a: (a % (1 << 64)).bit_count())


@function("bin", _FAMILY, (1, 1))
def _bin(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return rowwise(t.TEXT, [long(parts[0], bound, "bin")], lambda a: format(a % (1 << 64), "b"))


@function("hex", _FAMILY, (1, 1))
def _hex(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    node = parts[0]
    if node.kind == t.BINARY:
        return rowwise(t.TEXT, [node], lambda a: a.hex().upper())
    if node.kind == t.TEXT:
        return rowwise(t.TEXT, [node], lambda a: a.encode().hex().upper())
    if node.kind in (*t.INTEGERS, t.NOTHING):
        return rowwise(t.TEXT, [long(node, bound, "hex")], lambda a: format(a % (1 << 64), "X"))
    raise wrong_type("hex", node, "a BIGINT, STRING or BINARY")
