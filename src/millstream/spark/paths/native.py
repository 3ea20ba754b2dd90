"""Partials that Spark's own functions give: for each kernel the expressions whose values are its partial columns."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from millstream.core.quote import quoted
from millstream.kernels.aggregates.base import Algebra, Holistic
from millstream.kernels.aggregates.count import Count
from millstream.kernels.aggregates.extreme import Extreme
from millstream.kernels.aggregates.parts.selection import Selection
from millstream.kernels.aggregates.sum import ExactSum, FloatSum
from millstream.kernels.aggregates.variance import Variance
from millstream.kernels.partials import Bound

INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_FLOATS = (pa.float32(), pa.float64())
_LONGEST = 18
"""Digits of a decimal that fit 64 bits."""


def partial_texts(one: Bound, schema: pa.Schema) -> list[str] | None:
    """The partial columns of an aggregate as Spark's SQL; None if Spark has no functions that give exactly these."""
    kinds = [schema.field(name).type for name in one.arguments]
    if isinstance(one.kernel, Holistic) or len(kinds) > 1:
        return None
    argument = quoted(one.arguments[0]) if one.arguments else "1"
    made = _texts(one.kernel, argument, kinds[0] if kinds else pa.int64())
    if made is None or one.filter is None:
        return made
    return [f"{text} FILTER (WHERE {quoted(one.filter)})" for text in made]


def _texts(kernel: Algebra, x: str, kind: pa.DataType) -> list[str] | None:
    for known, make in _KERNELS.items():
        if isinstance(kernel, known):
            return make(kernel, x, kind)
    return None


def _count(_: Algebra, x: str, __: pa.DataType) -> list[str]:
    return [f"count({x})"]


def _exact_sum(_: Algebra, x: str, kind: pa.DataType) -> list[str] | None:
    if kind in INTEGERS:
        return [f"count({x})", f"sum(cast({x} as bigint) & 4294967295L)", f"sum(shiftright(cast({x} as bigint), 32))"]
    if pa.types.is_decimal(kind) and kind.precision <= _LONGEST and kind.scale >= 0:
        whole = f"cast(cast({x} as decimal(38, {kind.scale})) * {10**kind.scale}BD as bigint)"
        low, high = f"sum({whole} & 4294967295L)", f"sum(shiftright({whole}, 32) & 4294967295L)"
        sign = f"sum(shiftright({whole}, 63) & 4294967295L)"
        return [f"count({x})", low, high, sign, f"sum(shiftright({whole}, 63))"]
    return None


def _float_sum(_: Algebra, x: str, kind: pa.DataType) -> list[str] | None:
    return [f"count({x})", f"sum(cast({x} as double))"] if kind in (*_FLOATS, *INTEGERS) else None


def _moments(_: Algebra, x: str, kind: pa.DataType) -> list[str] | None:
    if kind not in _FLOATS:
        return None
    wide = f"cast({x} as double)"
    return [f"count({x})", f"avg({wide})", f"var_pop({wide}) * count({x})"]


def _extreme(kernel: Algebra, x: str, kind: pa.DataType) -> list[str] | None:
    assert isinstance(kernel, Extreme)
    function = "max" if kernel.greatest else "min"
    if kind in _FLOATS:
        return [f"{function}({x} + cast(0.0 as {'float' if kind == pa.float32() else 'double'}))"]
    known = kind in INTEGERS or pa.types.is_boolean(kind) or pa.types.is_date32(kind)
    return [f"{function}({x})"] if known or kind == pa.timestamp("us", tz="UTC") else None


def _selection(kernel: Algebra, x: str, kind: pa.DataType) -> list[str] | None:
    assert isinstance(kernel, Selection)
    if not (pa.types.is_string(kind) or pa.types.is_decimal128(kind)):
        return None
    return [f"{'max' if kernel.wants_greatest[0] else 'min'}({x})"]


_KERNELS: dict[type[Algebra], Callable[[Algebra, str, pa.DataType], list[str] | None]] = {
    Count: _count,
    ExactSum: _exact_sum,
    FloatSum: _float_sum,
    Variance: _moments,
    Extreme: _extreme,
    Selection: _selection,
}
