"""Functions that choose: coalesce, nullif, greatest, nanvl and their like."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.arithmetic import arithmetic
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, Frame, Result, both, constant, folded, is_null
from millstream.kernels.expressions.casts import cast
from millstream.kernels.expressions.compare import common, compared, comparison
from millstream.kernels.expressions.fit import wrong
from millstream.kernels.expressions.function_registry import function
from millstream.kernels.expressions.logic import case, coalesce, missing, negation

_FAMILY = "conditions"


@function("coalesce", _FAMILY, (1, None))
def _coalesce(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return coalesce(parts, bound)


@function("nvl", _FAMILY, (2, 2), "ifnull")
def _nvl(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return coalesce(parts, bound)


@function("nvl2", _FAMILY, (3, 3))
def _nvl2(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return case([negation(missing(parts[0])), parts[1], parts[2]], bound)


@function("nullif", _FAMILY, (2, 2))
def _nullif(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    one, other = parts
    return case([comparison("=", one, other, bound), constant(None, one.kind), one], bound)


@function("isnull", _FAMILY, (1, 1))
def _isnull(parts: list[BoundTerm], _bound: Binding) -> BoundTerm:
    return missing(parts[0])


@function("isnotnull", _FAMILY, (1, 1))
def _isnotnull(parts: list[BoundTerm], _bound: Binding) -> BoundTerm:
    return negation(missing(parts[0]))


@function("isnan", _FAMILY, (1, 1))
def _isnan(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    node = parts[0]
    if not t.is_number(node.kind) and node.kind != t.NOTHING:
        raise wrong("isnan", node, "a number")
    node = cast(node, node.kind if t.is_float(node.kind) else t.DOUBLE, bound)

    def run(frame: Frame) -> Result:
        value, failed = node.run(frame)
        return pc.fill_null(pc.is_nan(value), False), failed  # noqa: FBT003 - pyarrow's own

    return folded(BoundTerm(t.BOOL, run, node.total), [node])


@function("nanvl", _FAMILY, (2, 2))
def _nanvl(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    for node in parts:
        if not t.is_number(node.kind):
            raise wrong("nanvl", node, "numbers")
    kind = t.FLOAT if all(node.kind == t.FLOAT for node in parts) else t.DOUBLE
    one, other = (cast(node, kind, bound) for node in parts)
    return case([_isnan([one], bound), other, one], bound)


@function("greatest", _FAMILY, (2, None))
def _greatest(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _extreme("greatest", parts, bound, ">")


@function("least", _FAMILY, (2, None))
def _least(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _extreme("least", parts, bound, "<")


def _extreme(name: str, parts: list[BoundTerm], bound: Binding, better: str) -> BoundTerm:
    """Nulls are passed over; of equal values the first is it."""
    values = common(parts, bound, name)
    kind = values[0].kind
    if not (t.is_number(kind) or t.is_time(kind) or kind in (t.TEXT, t.BINARY, t.BOOL, t.NOTHING)):
        raise wrong(name, values[0], "values that can be compared")

    def run(frame: Frame) -> Result:
        best, failed = values[0].run(frame)
        for one in values[1:]:
            value, mine = one.run(frame)
            failed = both(failed, mine)
            there = pc.fill_null(compared(better, value, best), False).to_numpy(zero_copy_only=False)  # noqa: FBT003
            taken = (there | is_null(best)) & ~is_null(value)
            if taken.any():
                best = pc.if_else(pa.array(np.asarray(taken)), value, best)
        return best, failed

    return folded(BoundTerm(kind, run, all(one.total for one in values)), values)


def _tried(name: str, op: str) -> None:
    @function(name, "arithmetic", (2, 2))
    def _try(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        return arithmetic(op, parts[0], parts[1], bound, safe=True)


for _name, _op in (
    ("try_add", "+"), ("try_subtract", "-"), ("try_multiply", "*"), ("try_divide", "/"), ("try_mod", "%"),
):  # fmt: skip
    _tried(_name, _op)


@function("mod", "arithmetic", (2, 2))
def _mod(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return arithmetic("%", parts[0], parts[1], bound)


@function("pmod", "arithmetic", (2, 2))
def _pmod(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return arithmetic("pmod", parts[0], parts[1], bound)
