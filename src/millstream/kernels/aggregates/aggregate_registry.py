"""From the name of a function and the types of its arguments to the aggregate that computes it.

The only place that knows all aggregates. What a call may be is decided here, before a row is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from millstream.core.aggregate import AggregateCall
from millstream.core.errors import AggregateError, nearest
from millstream.kernels.aggregates.approx_distinct import ApproxDistinct
from millstream.kernels.aggregates.approx_heavy_hitters import ApproxHeavyHitters
from millstream.kernels.aggregates.approx_quantile import ApproxQuantile
from millstream.kernels.aggregates.average import DecimalAverage, FloatAverage, IntegerAverage
from millstream.kernels.aggregates.base import Algebra, Holistic
from millstream.kernels.aggregates.boolean import BoolAnd, BoolOr
from millstream.kernels.aggregates.count import Count
from millstream.kernels.aggregates.count_distinct import CountDistinct
from millstream.kernels.aggregates.exact_variance import ExactVariance
from millstream.kernels.aggregates.extreme import extreme
from millstream.kernels.aggregates.heavy_hitters import HeavyHitters
from millstream.kernels.aggregates.min_by import MaxBy, MinBy
from millstream.kernels.aggregates.mode import Mode
from millstream.kernels.aggregates.parts.order import decoded_type, sortable, temporal
from millstream.kernels.aggregates.quantile import Quantile
from millstream.kernels.aggregates.sum import ExactSum, FloatSum
from millstream.kernels.aggregates.user import UserAlgebra, UserBag
from millstream.kernels.aggregates.variance import Variance

Aggregate = Algebra | Holistic
Types = Sequence[pa.DataType]

# A smaller share would need a sketch of more than 2²⁴ entries a cell.
_LEAST_APPROXIMATE_SHARE = 1e-6


@dataclass(frozen=True, slots=True)
class ArgumentKind:
    """A kind of argument: which types it admits, and how to say so."""

    admits: Callable[[pa.DataType], bool]
    words: str
    hint: str


def _exact(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or (pa.types.is_decimal(kind) and kind.precision <= 38)


def _numeric(kind: pa.DataType) -> bool:
    return _exact(kind) or pa.types.is_floating(kind)


def _anything(_kind: pa.DataType) -> bool:
    return True


ANY = ArgumentKind(_anything, "anything", "")
NUMBER = ArgumentKind(
    _numeric,
    "integers, floats, or decimals of at most 38 digits",
    'Cast it to a number first: "cast(x as double)".',
)
PLACED = ArgumentKind(
    lambda kind: _numeric(kind) or temporal(kind),
    "numbers, dates, times, timestamps or durations",
    'Cast it to a number first: "cast(x as double)".',
)
ORDERED = ArgumentKind(
    lambda kind: sortable(decoded_type(kind)),
    "numbers, booleans, times, strings or binary",
    "Lists, structs and maps have no order: name one of their fields.",
)
TEXT = ArgumentKind(
    lambda kind: sortable(decoded_type(kind)) and not _bytes(decoded_type(kind)),
    "numbers, booleans, times or strings",
    'Write bytes as text first: "hex(x)".',
)
TRUTH = ArgumentKind(pa.types.is_boolean, "booleans", 'Compare first: "x > 0".')


def _bytes(kind: pa.DataType) -> bool:
    is_type = pa.types
    return is_type.is_binary(kind) or is_type.is_large_binary(kind) or is_type.is_fixed_size_binary(kind)


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """The arguments a function takes, and how it is built once they are known to be right."""

    arguments: tuple[ArgumentKind, ...]
    make: Callable[[AggregateCall, Types], Aggregate]
    optional: int = 0
    """How many of the last arguments may be left out."""
    rest: ArgumentKind | None = None
    """What any further arguments may be."""
    parameters: tuple[str, ...] = ()
    """The names of numbers that SQL writes after the first argument."""


def _sum(call: AggregateCall, types: Types) -> Aggregate:
    return ExactSum(types[0], str(call)) if _exact(types[0]) else FloatSum()


def _avg(call: AggregateCall, types: Types) -> Aggregate:
    if not _exact(types[0]):
        return FloatAverage()
    average = DecimalAverage if pa.types.is_decimal(types[0]) else IntegerAverage
    return average(types[0], str(call))


def _quantile(call: AggregateCall, types: Types) -> Aggregate:
    return Quantile(types[0], _option(call, "q", 0, 1))


def _approx_quantile(call: AggregateCall, _types: Types) -> Aggregate:
    return ApproxQuantile(_option(call, "q", 0, 1), _whole(call, "k", 8, 65535, default=200))


def _approx_distinct(call: AggregateCall, _types: Types) -> Aggregate:
    return ApproxDistinct(_whole(call, "lg_k", 4, 21, default=12))


def _heavy_hitters(call: AggregateCall, types: Types) -> Aggregate:
    return HeavyHitters(types[0], _share(call))


def _approx_heavy_hitters(call: AggregateCall, types: Types) -> Aggregate:
    share = _share(call)
    if share < _LEAST_APPROXIMATE_SHARE:
        raise AggregateError(
            f"{call} has the share {share}, below {_LEAST_APPROXIMATE_SHARE}",
            hint="A sketch for so small a share outgrows the values: use heavy_hitters, which is exact.",
        )
    return ApproxHeavyHitters(types[0], share)


def _variance(types: Types, *, sample: bool, root: bool = False) -> Aggregate:
    chosen = ExactVariance if pa.types.is_integer(types[0]) else Variance
    return chosen(sample=sample, root=root)


def _user(call: AggregateCall, types: Types) -> Aggregate:
    options = call.options
    if "fn" in options:
        return UserBag(options["fn"], types, options["returns"])
    return UserAlgebra(
        lift=options["lift"],
        combine=options["combine"],
        lower=options["lower"],
        partial=options["partial"],
        returns=options["returns"],
    )


_MIN_BY = AggregateFunction((ORDERED, ORDERED), lambda _call, types: MinBy(*types))
_MAX_BY = AggregateFunction((ORDERED, ORDERED), lambda _call, types: MaxBy(*types))
_AVG = AggregateFunction((NUMBER,), _avg)
_VAR_SAMP = AggregateFunction((NUMBER,), lambda _call, types: _variance(types, sample=True))
_STDDEV_SAMP = AggregateFunction((NUMBER,), lambda _call, types: _variance(types, sample=True, root=True))
_APPROX_DISTINCT = AggregateFunction((ORDERED,), _approx_distinct, parameters=("lg_k",))

FUNCTIONS: dict[str, AggregateFunction] = {
    "count": AggregateFunction((ANY,), lambda _call, _types: Count(), optional=1),
    "sum": AggregateFunction((NUMBER,), _sum),
    "min": AggregateFunction((ORDERED,), lambda _call, types: extreme(types[0], greatest=False)),
    "max": AggregateFunction((ORDERED,), lambda _call, types: extreme(types[0], greatest=True)),
    "avg": _AVG,
    "mean": _AVG,
    "variance": _VAR_SAMP,
    "var_samp": _VAR_SAMP,
    "var_pop": AggregateFunction((NUMBER,), lambda _call, types: _variance(types, sample=False)),
    "stddev": _STDDEV_SAMP,
    "stddev_samp": _STDDEV_SAMP,
    "stddev_pop": AggregateFunction((NUMBER,), lambda _call, types: _variance(types, sample=False, root=True)),
    "min_by": _MIN_BY,
    "max_by": _MAX_BY,
    # The planner adds the window attribute as their second argument.
    "first": _MIN_BY,
    "last": _MAX_BY,
    "bool_and": AggregateFunction((TRUTH,), lambda _call, _types: BoolAnd()),
    "bool_or": AggregateFunction((TRUTH,), lambda _call, _types: BoolOr()),
    "count_distinct": AggregateFunction((ORDERED,), lambda _call, types: CountDistinct(types[0])),
    "approx_distinct": _APPROX_DISTINCT,
    "approx_count_distinct": _APPROX_DISTINCT,
    "median": AggregateFunction((PLACED,), lambda _call, types: Quantile(types[0], 0.5)),
    "quantile": AggregateFunction((PLACED,), _quantile, parameters=("q",)),
    "approx_quantile": AggregateFunction((NUMBER,), _approx_quantile, parameters=("q", "k")),
    "mode": AggregateFunction((ORDERED,), lambda _call, types: Mode(types[0])),
    "heavy_hitters": AggregateFunction((ORDERED,), _heavy_hitters, parameters=("share",)),
    "approx_heavy_hitters": AggregateFunction((TEXT,), _approx_heavy_hitters, parameters=("share",)),
    "user": AggregateFunction((ANY,), _user, rest=ANY),
}
"""By name: what `build` knows, and SQL."""


def build(call: AggregateCall, argument_types: Sequence[pa.DataType]) -> Aggregate:
    """The aggregate that a call names, for arguments of the given types.

    `count` without arguments counts rows: it is given one column without nulls, whichever.

    >>> build(AggregateCall("sum", ("price",)), [pa.decimal128(9, 2)]).result_type
    Decimal128Type(decimal128(38, 2))
    >>> build(AggregateCall("summ", ("price",)), [pa.int64()])
    Traceback (most recent call last):
    millstream.core.errors.AggregateError: there is no aggregate "summ"
    Hint: Did you mean "sum"? ...
    """
    function = FUNCTIONS.get(call.function)
    if function is None:
        raise AggregateError(f'there is no aggregate "{call.function}"', hint=nearest(call.function, FUNCTIONS))
    _check_number(call, function, len(argument_types))
    for place, kind in enumerate(argument_types):
        wanted = function.arguments[place] if place < len(function.arguments) else function.rest or ANY
        if not wanted.admits(kind):
            name = call.arguments[place] if place < len(call.arguments) else f"argument {place + 1}"
            raise AggregateError(
                f"{call}: {name} is {kind}, and {call.function} takes {wanted.words}",
                hint=f'Give it a type: "cast({name} AS BIGINT)".' if pa.types.is_null(kind) else wanted.hint,
            )
    return function.make(call, argument_types)


def _check_number(call: AggregateCall, function: AggregateFunction, given: int) -> None:
    most = len(function.arguments)
    least = most - function.optional
    if least <= given and (given <= most or function.rest is not None):
        return
    more = " or more" if function.rest is not None else ""
    takes = f"{least} to {most}" if function.optional else f"{most}{more}"
    raise AggregateError(
        f"{call} has {given} arguments, and {call.function} takes {takes}",
        hint="An argument is one SQL expression, such as a column; parameters are given by name.",
    )


def _option(call: AggregateCall, name: str, low: float, high: float) -> float:
    value = call.options.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise AggregateError(
        f"{call} has {name} = {value}, which is not in [{low}, {high}]",
        hint=f"Give {name} as a number from {low} to {high}.",
    )


def _whole(call: AggregateCall, name: str, low: int, high: int, *, default: int) -> int:
    value = call.options.get(name, default)
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise AggregateError(
        f"{call} has {name} = {value}, which is not a whole number in [{low}, {high}]",
        hint=f"Leave {name} out for {default}, which suits most.",
    )


def _share(call: AggregateCall) -> float:
    share = _option(call, "share", 0, 1)
    if share > 0:
        return share
    raise AggregateError(
        f"{call} has share = {share}, which is not in (0, 1]",
        hint="Give the part of the rows that a value must make up: 0.01 is one in a hundred.",
    )
