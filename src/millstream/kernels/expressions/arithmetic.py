"""+ - * / % div and their like: Spark's result types, and what overflows or divides by zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, Failed, Result, Value, is_null, strict
from millstream.kernels.expressions.casts import cast, nulled, numpy_of
from millstream.kernels.expressions.decimals import each, quotient, rounded, to_decimal, units

_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_WRAPPED = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_PLAIN: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
}  # fmt: skip
ZERO = {"/": "division by zero", "div": "division by zero", "%": "remainder by zero", "pmod": "remainder by zero"}


def arithmetic(op: str, left: BoundTerm, right: BoundTerm, bound: Binding, *, safe: bool = False) -> BoundTerm:
    """A node for an operator on two numbers; `safe` for those whose name begins with try_."""
    left, right = operands(op, left, right, bound)
    ansi = bound.ansi or safe
    if t.is_decimal(left.kind):
        kind, compute = _decimals(op, left.kind, right.kind, ansi=ansi)
    elif op in ("+", "-", "*"):
        kind = left.kind
        compute = _whole(op, kind, ansi=ansi) if kind in t.INTEGERS else _WRAPPED[op]
    else:
        kind, compute = _divided(op, left.kind, ansi=ansi)
    total = t.is_float(kind) and op in ("+", "-", "*")
    if right.constant is not None and right.constant.is_valid and op in ZERO and right.constant.as_py() != 0:
        # `x div -1` may overflow, and decimals may not fit.
        total = not t.is_decimal(kind) and (op != "div" or right.constant.as_py() != -1)
    if t.is_decimal(kind) and op in ("+", "-", "*"):
        total = _exact(op, left.kind, right.kind)

    def run(one: Value, other: Value) -> Result:
        found = compute(one, other)
        value, failed = found if isinstance(found, tuple) else (found, None)
        return (nulled(value, failed.rows), None) if safe and failed is not None else (value, failed)

    if op in ZERO:  # the divisor is looked at first: where it is null, nothing is divided
        return strict(kind, [right, left], lambda other, one: run(one, other), total=total or safe or not ansi)
    return strict(kind, [left, right], run, total=total or safe or not ansi)


def operands(op: str, left: BoundTerm, right: BoundTerm, bound: Binding) -> tuple[BoundTerm, BoundTerm]:
    """Both sides in the type that the operator computes in."""
    kinds = [left.kind, right.kind]
    if t.TEXT in kinds:
        other = next((kind for kind in kinds if kind != t.TEXT), None)
        if other is None or not t.is_number(other):
            raise wrong(op, left, right)
        wide = t.LONG if bound.ansi and other in t.INTEGERS else t.DOUBLE
        left, right = (cast(one, wide, bound) if one.kind == t.TEXT else one for one in (left, right))
    if left.kind == t.NOTHING:
        left = cast(left, right.kind if right.kind != t.NOTHING else t.DOUBLE if op == "/" else t.INT, bound)
    if right.kind == t.NOTHING:
        right = cast(right, left.kind, bound)
    if not t.is_number(left.kind) or not t.is_number(right.kind):
        raise wrong(op, left, right)
    if op == "div" and (t.is_float(left.kind) or t.is_float(right.kind)):
        raise wrong(op, left, right)
    if t.is_decimal(left.kind) != t.is_decimal(right.kind):
        if t.is_float(left.kind) or t.is_float(right.kind):
            return cast(left, t.DOUBLE, bound), cast(right, t.DOUBLE, bound)
        return tight(left, bound), tight(right, bound)
    if t.is_decimal(left.kind):
        return left, right
    kind = t.DOUBLE if op == "/" else t.LONG if op == "div" else t.meet(left.kind, right.kind, ansi=bound.ansi)
    assert kind is not None
    return cast(left, kind, bound), cast(right, kind, bound)


def tight(node: BoundTerm, bound: Binding) -> BoundTerm:
    """A whole number beside a decimal; one that is written as it is has only the digits it has."""
    if t.is_decimal(node.kind):
        return node
    if node.literal and node.constant is not None and node.constant.is_valid:
        digits = len(str(abs(node.constant.as_py())))
        return cast(node, pa.decimal128(digits, 0), bound)
    return cast(node, t.decimal_for(node.kind), bound)


def wrong(op: str, *nodes: BoundTerm) -> ExpressionError:
    """The operator does not take these."""
    kinds = " and ".join(t.name_of(node.kind) for node in nodes)
    return ExpressionError(f"{op} does not take {kinds}", hint="Cast them first, such as cast(x AS DOUBLE).")


# --- whole numbers and floats ----------------------------------------------------------------------


def _whole(op: str, kind: pa.DataType, *, ansi: bool):
    if not ansi:
        return _WRAPPED[op]

    def run(one: Value, other: Value) -> Value | Result:
        try:
            return _CHECKED[op](one, other)
        except pa.ArrowInvalid:  # some row overflows: which?
            made = _WRAPPED[op](one, other)
            a, b = (pc.fill_null(side, 0).to_numpy(zero_copy_only=False) for side in (one, other))
            return made, Failed.where(_overflows(op, a, b) & ~is_null(made), f"overflow of {t.name_of(kind)}")

    return run


def _overflows(op: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = {"+": np.add, "-": np.subtract, "*": np.multiply}[op](a.astype(np.int64), b.astype(np.int64))
        return (wide < -(1 << bits - 1)) | (wide >= 1 << bits - 1)
    exact = _PLAIN[op](a.astype(object), b.astype(object))
    return np.array([not -(1 << 63) <= one < 1 << 63 for one in exact], dtype=np.bool_)


def _divided(op: str, kind: pa.DataType, *, ansi: bool):
    def run(one: Value, other: Value) -> Result:
        a = pc.fill_null(one, 0).to_numpy(zero_copy_only=False)
        b = pc.fill_null(other, 1).to_numpy(zero_copy_only=False)
        zero = b == 0
        nulls = is_null(one) | is_null(other) if one.null_count or other.null_count else None
        with np.errstate(all="ignore"):
            made = _quotient(op, a, np.where(zero, 1, b).astype(b.dtype) if zero.any() else b)
        failed = None
        if op == "div" and ansi:
            failed = Failed.where((a == -(2**63)) & (b == -1), "overflow of BIGINT")
        if zero.any():
            there = zero if nulls is None else zero & ~nulls
            if ansi:
                mine = Failed.where(there, ZERO[op])
                failed = mine if failed is None else failed.also(mine)
            nulls = there if nulls is None else nulls | there
        return pa.array(made, kind, mask=nulls), failed

    return kind, run


def _quotient(op: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    match op:
        case "/":
            return a / b
        case "div":
            far = (a == -(2**63)) & (b == -1)
            down = np.floor_divide(a, np.where(far, 1, b))
            return down + ((a != down * b) & ~far & ((a < 0) != (b < 0)))
        case "%":
            return np.fmod(a, b)
        case _:  # pmod: of the sign of the divisor, unless it is negative itself
            rest = np.fmod(a, b)
            return np.where(rest < 0, np.fmod(rest + b, b), rest).astype(a.dtype)


# --- decimals --------------------------------------------------------------------------------------


def _result(op: str, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    p1, s1, p2, s2 = one.precision, one.scale, other.precision, other.scale
    match op:
        case "+" | "-":
            return t.adjusted(max(s1, s2) + max(p1 - s1, p2 - s2) + 1, max(s1, s2))
        case "*":
            return t.adjusted(p1 + p2 + 1, s1 + s2)
        case "/":
            scale = max(6, s1 + p2 + 1)
            return t.adjusted(p1 - s1 + s2 + scale, scale)
        case "div":
            return t.bounded(p1 - s1 + s2 or 1, 0)
        case _:
            return t.adjusted(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))


def _exact(op: str, one: pa.DataType, other: pa.DataType) -> bool:
    """Does every result fit? Then Arrow computes the same."""
    p1, s1, p2, s2 = one.precision, one.scale, other.precision, other.scale
    digits = p1 + p2 + 1 if op == "*" else max(s1, s2) + max(p1 - s1, p2 - s2) + 1
    return digits <= t.MOST


def _decimals(op: str, one: pa.DataType, other: pa.DataType, *, ansi: bool):
    kind = _result(op, one, other)
    s1, s2 = one.scale, other.scale
    if op in ("+", "-", "*") and _exact(op, one, other):
        return kind, lambda a, b: _WRAPPED[op](a, b).cast(kind)
    same = max(s1, s2)

    def raised(a: int, b: int) -> tuple[int, int]:
        return a * 10 ** (same - s1), b * 10 ** (same - s2)

    def compute(a: int, b: int) -> int | None:
        if op == "*":
            return rounded(a * b, s1 + s2 - kind.scale)
        if op in ("+", "-"):
            return rounded(_PLAIN[op](*raised(a, b)), same - kind.scale)
        if b == 0:
            return None
        a, b = raised(a, b)
        if op == "/":
            return quotient(a * 10**kind.scale, b)
        if op == "div":
            return (abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)
        rest = abs(a) % abs(b) * (-1 if a < 0 else 1)
        if op == "pmod" and rest < 0:
            wrapped = rest + b
            rest = abs(wrapped) % abs(b) * (-1 if wrapped < 0 else 1)
        return rounded(rest, same - kind.scale)

    def run(a: Value, b: Value) -> Result:
        made, failed = to_decimal(each(compute, a, b), kind, ansi=ansi)
        if op in ZERO and ansi:
            zero = np.array([one == 0 for one in units(b)], dtype=np.bool_) & ~is_null(a)
            mine = Failed.where(zero, ZERO[op])
            failed = mine if failed is None else failed.also(mine)
        return made, failed

    if op == "div":

        def divided(a: Value, b: Value) -> Result:
            made, failed = run(a, b)
            whole = [None if one is None else (one + 2**63) % 2**64 - 2**63 for one in units(made)]
            return pa.array(whole, t.LONG), failed

        return t.LONG, divided
    return kind, run


# --- signs -----------------------------------------------------------------------------------------


def negative(node: BoundTerm, bound: Binding) -> BoundTerm:
    """`-x`."""
    return _unary("-", node, bound, lambda value: -value, pc.negate, "overflow of {}")


def absolute(node: BoundTerm, bound: Binding) -> BoundTerm:
    """`abs(x)`."""
    return _unary("abs", node, bound, abs, pc.abs, "overflow of {}")


def _unary(name: str, node: BoundTerm, bound: Binding, exact, wrapped, reason: str) -> BoundTerm:
    if node.kind == t.TEXT:
        node = cast(node, t.DOUBLE, bound)
    if node.kind == t.NOTHING:
        node = cast(node, t.DOUBLE, bound)
    kind = node.kind
    if not t.is_number(kind):
        raise wrong(name, node)
    if t.is_decimal(kind) and name == "abs" and kind.precision > 34:
        raise ExpressionError(
            f"abs of {t.name_of(kind)} is rounded to 34 digits in Spark", hint="Cast it to at most 34 digits first."
        )
    if t.is_decimal(kind):
        return strict(kind, [node], lambda value: to_decimal(each(exact, value), kind, ansi=False)[0])
    if t.is_float(kind):
        return strict(kind, [node], wrapped)
    least = -(1 << kind.bit_width - 1)

    def run(value: Value) -> Result:
        made = numpy_of(lambda numbers: exact(numbers), value, kind)
        if not bound.ansi:
            return made, None
        bad = pc.fill_null(pc.equal(value, pa.scalar(least, kind)), False).to_numpy(zero_copy_only=False)  # noqa: FBT003
        return made, Failed.where(bad, reason.format(t.name_of(kind)))

    return strict(kind, [node], run, total=not bound.ansi)
