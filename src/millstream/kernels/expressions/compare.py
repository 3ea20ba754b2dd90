"""Comparisons: in Spark NaN equals itself and is the greatest number, and -0.0 equals 0.0."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.arithmetic import tight
from millstream.kernels.expressions.bound_term import (
    Binding,
    BoundTerm,
    Frame,
    Result,
    Value,
    both,
    folded,
    is_null,
    repeated,
    strict,
)
from millstream.kernels.expressions.casts import cast

_PLAIN = {
    "=": pc.equal, "<>": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip


def comparison(op: str, left: BoundTerm, right: BoundTerm, bound: Binding) -> BoundTerm:
    """A node for = <> < <= > >= or <=>."""
    left, right = sides(op, left, right, bound)
    if op != "<=>" and right.constant is not None and left.constant is None and right.constant.is_valid:
        fixed = right.constant
        return strict(t.BOOL, [left], lambda one: _with_constant(op, one, fixed))
    if op != "<=>":
        return strict(t.BOOL, [left, right], lambda one, other: compared(op, one, other))

    def run(frame: Frame) -> Result:
        (one, failed), (other, more) = left.run(frame), right.run(frame)
        gone, absent = is_null(one), is_null(other)
        same = pc.fill_null(compared("=", one, other), False).to_numpy(zero_copy_only=False)  # noqa: FBT003
        return pa.array(np.where(gone | absent, gone & absent, same)), both(failed, more)

    return folded(BoundTerm(t.BOOL, run, left.total and right.total), [left, right])


def sides(op: str, left: BoundTerm, right: BoundTerm, bound: Binding) -> tuple[BoundTerm, BoundTerm]:
    """Both sides in one type."""
    if left.kind == t.NOTHING and right.kind == t.NOTHING:
        return cast(left, t.BOOL, bound), cast(right, t.BOOL, bound)
    if t.is_decimal(left.kind) != t.is_decimal(right.kind) and {left.kind, right.kind} & set(t.INTEGERS):
        left, right = tight(left, bound), tight(right, bound)
    kind = t.meet(left.kind, right.kind, ansi=bound.ansi) or _with_text(left.kind, right.kind, ansi=bound.ansi)
    if kind is None or not (t.is_number(kind) or t.is_time(kind) or kind in (t.TEXT, t.BINARY, t.BOOL)):
        raise ExpressionError(
            f"{op} does not compare {t.name_of(left.kind)} with {t.name_of(right.kind)}",
            hint="Cast one of them to the other's type.",
        )
    return cast(left, kind, bound), cast(right, kind, bound)


def _with_text(one: pa.DataType, other: pa.DataType, *, ansi: bool) -> pa.DataType | None:
    """What a text is compared as: as the other side, as far as Spark has it so."""
    if t.TEXT not in (one, other):
        return None
    kind = other if one == t.TEXT else one
    if t.is_time(kind):
        return kind
    if t.is_number(kind):
        if t.is_decimal(kind):
            return t.DOUBLE
        return (t.LONG if kind in t.INTEGERS else t.DOUBLE) if ansi else kind
    return None


def _with_constant(op: str, one: Value, fixed: pa.Scalar) -> Value:
    """A comparison with the same value for all rows, which need not be repeated."""
    if t.is_float(one.type) and (np.isnan(fixed.as_py()) or _nan(one) is not None):
        return compared(op, one, repeated(fixed, len(one)))
    return _PLAIN[op](one, fixed)


def compared(op: str, one: Value, other: Value) -> Value:
    """Arrays of one type, compared."""
    if t.is_float(one.type):
        gone, absent = _nan(one), _nan(other)
        if gone is not None or absent is not None:
            n = len(one)
            gone = np.zeros(n, dtype=np.bool_) if gone is None else gone
            absent = np.zeros(n, dtype=np.bool_) if absent is None else absent
            rank = pa.array(gone.astype(np.int8)), pa.array(absent.astype(np.int8))
            either = pa.array(gone | absent)
            return pc.if_else(pc.or_(pc.is_null(one), pc.is_null(other)), pa.scalar(None, pa.bool_()),
                              pc.if_else(either, _PLAIN[op](*rank), _PLAIN[op](one, other)))  # fmt: skip
    return _PLAIN[op](one, other)


def _nan(value: Value) -> np.ndarray | None:
    if len(value) and value.null_count < len(value):
        found = pc.fill_null(pc.is_nan(value), False).to_numpy(zero_copy_only=False)  # noqa: FBT003 - pyarrow's own
        return found if found.any() else None
    return None


def common(nodes: list[BoundTerm], bound: Binding, what: str) -> list[BoundTerm]:
    """All in the one type that they meet in, where they stand for each other: in CASE, coalesce, greatest, IN."""
    kind: pa.DataType | None = t.NOTHING
    for node in nodes:
        kind = t.meet(kind, node.kind, ansi=bound.ansi)
        if kind is None:
            kinds = ", ".join(dict.fromkeys(t.name_of(one.kind) for one in nodes))
            raise ExpressionError(f"{what} has values of several types: {kinds}", hint="Cast them to one type.")
    return [cast(node, kind, bound) for node in nodes]


def isin(nodes: list[BoundTerm], bound: Binding) -> BoundTerm:
    """`x IN (…)`: null if x is, or if it is not there and one of those is."""
    value, *those = common(nodes, bound, "IN")
    kind = value.kind
    constants = [one.constant for one in those if one.constant is not None]
    if len(constants) == len(those) and not t.is_float(kind):
        known = pa.array([one.as_py() for one in constants if one.is_valid], kind)
        some_null = any(not one.is_valid for one in constants)

        def run(column: Value) -> Value:
            found = pc.is_in(column, value_set=known)
            unknown = pc.is_null(column)
            if some_null:
                unknown = pc.or_(unknown, pc.invert(found))
            return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)

        return strict(t.BOOL, [value], run)
    parts = [comparison("=", value, one, bound) for one in those]
    from millstream.kernels.expressions.logic import any_of  # noqa: PLC0415 - logic needs comparisons too

    return any_of(parts)
