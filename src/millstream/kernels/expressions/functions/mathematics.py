"""Functions of numbers. The last bit of a transcendental one may differ from Java's."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.arithmetic import absolute, negative
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, Value, constant, is_null, rowwise, strict
from millstream.kernels.expressions.casts import numpy_of
from millstream.kernels.expressions.fit import double, whole
from millstream.kernels.expressions.function_registry import function

_FAMILY = "numbers"
Compute = Callable[[np.ndarray], np.ndarray]


def _of_double(name: str, compute: Compute, *aliases: str, above: float | None = None) -> None:
    """A function of a DOUBLE; of what is not above a limit it is null."""

    @function(name, _FAMILY, (1, 1), *aliases)
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        def run(value: Value) -> Value:
            made = numpy_of(compute, value, t.DOUBLE)
            if above is None:
                return made
            return pc.if_else(pc.less_equal(value, above), pa.scalar(None, t.DOUBLE), made)

        return strict(t.DOUBLE, [double(parts[0], bound, name)], run)


def _log2(numbers: np.ndarray) -> np.ndarray:
    return np.log(numbers) / math.log(2.0)


for _name, _compute in {
    "sqrt": np.sqrt, "cbrt": np.cbrt, "exp": np.exp, "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "rint": np.rint,
}.items():  # fmt: skip
    _of_double(_name, _compute)
_of_double("ln", np.log, above=0.0)
_of_double("log10", np.log10, above=0.0)
_of_double("log2", _log2, above=0.0)
_of_double("log1p", np.log1p, above=-1.0)
_of_double("degrees", lambda x: x * 57.29577951308232)
_of_double("radians", lambda x: x * 0.017453292519943295)
_of_double("sign", lambda x: np.where(x == 0, x, np.sign(x)), "signum")
_of_double("cot", lambda x: 1.0 / np.tan(x))


@function("log", _FAMILY, (1, 2))
def _log(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    values = [double(part, bound, "log") for part in parts]
    if len(values) == 1:
        return strict(t.DOUBLE, values, lambda value: _positive(numpy_of(np.log, value, t.DOUBLE), value))

    def run(base: Value, value: Value) -> Value:
        one, other = numpy_of(np.log, value, t.DOUBLE), numpy_of(np.log, base, t.DOUBLE)
        return _positive(_positive(pc.divide(one, other), value), base)

    return strict(t.DOUBLE, values, run)


def _positive(made: Value, value: Value) -> Value:
    return pc.if_else(pc.less_equal(value, 0.0), pa.scalar(None, t.DOUBLE), made)


@function("pow", _FAMILY, (2, 2), "power")
def _pow(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    def compute(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        made = np.power(a, b)
        # Java: one to the power of what is no number, or infinite, is no number.
        return np.where((np.abs(a) == 1) & ~np.isfinite(b), np.nan, made)

    return _of_two("pow", parts, bound, compute)


@function("atan2", _FAMILY, (2, 2))
def _atan2(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _of_two("atan2", parts, bound, lambda a, b: np.arctan2(a + 0.0, b + 0.0))


@function("hypot", _FAMILY, (2, 2))
def _hypot(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _of_two("hypot", parts, bound, np.hypot)


def _of_two(name: str, parts: list[BoundTerm], bound: Binding, compute: Callable[..., np.ndarray]) -> BoundTerm:
    def run(one: Value, other: Value) -> Value:
        nulls = is_null(one) | is_null(other)
        a, b = (pc.fill_null(side, 0.0).to_numpy(zero_copy_only=False) for side in (one, other))
        with np.errstate(all="ignore"):
            return pa.array(compute(a, b), t.DOUBLE, mask=nulls)

    return strict(t.DOUBLE, [double(part, bound, name) for part in parts], run)


@function("abs", _FAMILY, (1, 1))
def _abs(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return absolute(parts[0], bound)


@function("negative", _FAMILY, (1, 1))
def _negative(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return negative(parts[0], bound)


@function("positive", _FAMILY, (1, 1))
def _positively(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return parts[0] if t.is_number(parts[0].kind) else double(parts[0], bound, "positive")


@function("factorial", _FAMILY, (1, 1))
def _factorial(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    value = whole(parts[0], bound, "factorial")
    return rowwise(t.LONG, [value], lambda n: math.factorial(n) if 0 <= n <= 20 else None)


@function("pi", _FAMILY, (0, 0))
def _pi(_parts: list[BoundTerm], _bound: Binding) -> BoundTerm:
    return constant(math.pi, t.DOUBLE)


@function("e", _FAMILY, (0, 0))
def _e(_parts: list[BoundTerm], _bound: Binding) -> BoundTerm:
    return constant(math.e, t.DOUBLE)
