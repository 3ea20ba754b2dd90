"""The aggregates: `ms.max("price", filter="price > 0")`.

Arguments are SQL expressions over the columns of the stream. Only rows that satisfy `filter` count. The names are those
of SQL, even if Python has a builtin with the same name: read them as `ms.sum`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from millstream.core.aggregate import AggregateCall
from millstream.core.errors import AggregateError
from millstream.kernels.aggregates.user import arrow_type, function_name


def count(column: str | None = None, *, filter: str | None = None) -> AggregateCall:
    """The number of rows; with a column, of rows where it is not null.

    >>> str(count()), str(count("price", filter="price > 10"))
    ('count(*)', 'count(price) FILTER (WHERE price > 10)')
    """
    return AggregateCall("count", () if column is None else (column,), filter)


def sum(column: str, *, filter: str | None = None) -> AggregateCall:
    """The sum. Exact for integers and decimals; a sum that does not fit its type is rejected."""
    return AggregateCall("sum", (column,), filter)


def min(column: str, *, filter: str | None = None) -> AggregateCall:
    """The smallest value, of any ordered type. NaN is greater than all other values."""
    return AggregateCall("min", (column,), filter)


def max(column: str, *, filter: str | None = None) -> AggregateCall:
    """The greatest value, of any ordered type. NaN is greater than all other values.

    >>> str(max("price").where("bidder <> 7"))
    'max(price) FILTER (WHERE bidder <> 7)'
    """
    return AggregateCall("max", (column,), filter)


def avg(column: str, *, filter: str | None = None) -> AggregateCall:
    """The average: for integers the nearest float, for decimals a decimal with four more digits."""
    return AggregateCall("avg", (column,), filter)


def mean(column: str, *, filter: str | None = None) -> AggregateCall:
    """The same as `avg`."""
    return avg(column, filter=filter)


def variance(column: str, *, filter: str | None = None) -> AggregateCall:
    """The variance of a sample (divided by n − 1); null for fewer than two values."""
    return AggregateCall("variance", (column,), filter)


def var_pop(column: str, *, filter: str | None = None) -> AggregateCall:
    """The variance of the whole population (divided by n)."""
    return AggregateCall("var_pop", (column,), filter)


def stddev(column: str, *, filter: str | None = None) -> AggregateCall:
    """The standard deviation of a sample; null for fewer than two values."""
    return AggregateCall("stddev", (column,), filter)


def stddev_pop(column: str, *, filter: str | None = None) -> AggregateCall:
    """The standard deviation of the whole population."""
    return AggregateCall("stddev_pop", (column,), filter)


def min_by(value: str, key: str, *, filter: str | None = None) -> AggregateCall:
    """The value in the row with the smallest key; among equal keys, the smallest value."""
    return AggregateCall("min_by", (value, key), filter)


def max_by(value: str, key: str, *, filter: str | None = None) -> AggregateCall:
    """The value in the row with the greatest key; among equal keys, the smallest value.

    >>> str(max_by("bidder", "price"))
    'max_by(bidder, price)'
    """
    return AggregateCall("max_by", (value, key), filter)


def first(column: str, *, filter: str | None = None) -> AggregateCall:
    """The value of the earliest row by the windowing attribute, not by arrival."""
    return AggregateCall("first", (column,), filter)


def last(column: str, *, filter: str | None = None) -> AggregateCall:
    """The value of the latest row by the windowing attribute, not by arrival."""
    return AggregateCall("last", (column,), filter)


def bool_and(condition: str, *, filter: str | None = None) -> AggregateCall:
    """Whether the condition holds in every row where it is not null."""
    return AggregateCall("bool_and", (condition,), filter)


def bool_or(condition: str, *, filter: str | None = None) -> AggregateCall:
    """Whether the condition holds in any row."""
    return AggregateCall("bool_or", (condition,), filter)


def count_distinct(column: str, *, filter: str | None = None) -> AggregateCall:
    """The exact number of different values."""
    return AggregateCall("count_distinct", (column,), filter)


def approx_distinct(column: str, *, lg_k: int = 12, filter: str | None = None) -> AggregateCall:
    """The approximate number of different values, in at most 2^lg_k bytes; 12 gives a standard error of 1.6 %."""
    return AggregateCall("approx_distinct", (column,), filter, {"lg_k": lg_k})


def median(column: str, *, filter: str | None = None) -> AggregateCall:
    """The exact median; for an even number of numbers, the mean of the two in the middle."""
    return AggregateCall("median", (column,), filter)


def quantile(column: str, q: float, *, filter: str | None = None) -> AggregateCall:
    """The exact q-quantile: interpolated for numbers, an actual value for times.

    >>> str(quantile("price", 0.99))
    'quantile(price, 0.99)'
    """
    return AggregateCall("quantile", (column,), filter, {"q": q})


def approx_quantile(column: str, q: float, *, k: int = 200, filter: str | None = None) -> AggregateCall:
    """The approximate q-quantile; with k = 200 its rank is within 1.33 % of q, 99 times of 100."""
    return AggregateCall("approx_quantile", (column,), filter, {"q": q, "k": k})


def mode(column: str, *, filter: str | None = None) -> AggregateCall:
    """The most frequent value; if several, the smallest."""
    return AggregateCall("mode", (column,), filter)


def heavy_hitters(column: str, share: float, *, filter: str | None = None) -> AggregateCall:
    """The values that make up at least a `share` of the rows, with their counts, the most frequent first."""
    return AggregateCall("heavy_hitters", (column,), filter, {"share": share})


def approx_heavy_hitters(column: str, share: float, *, filter: str | None = None) -> AggregateCall:
    """All values with at least a `share`, and possibly others, from a bounded sketch; counts are never too low."""
    return AggregateCall("approx_heavy_hitters", (column,), filter, {"share": share})


def aggregate(
    function: str, *columns: str, options: Mapping[str, Any] | None = None, filter: str | None = None
) -> AggregateCall:
    """An aggregate by its name, whichever there are.

    >>> str(aggregate("quantile", "price", options={"q": 0.5}))
    'quantile(price, 0.5)'
    """
    return AggregateCall(function, columns, filter, dict(options or {}))


def udaf(fn: Callable[..., Any], *columns: str, returns: pa.DataType | str, filter: str | None = None) -> AggregateCall:
    """Your own aggregate: `fn` is called once per window and group, with Arrow arrays of its rows.

    The order of the rows is not defined. Rows with a null argument are left out.

    >>> def width(prices):
    ...     return prices.sort()[-1].as_py() - prices.sort()[0].as_py()
    >>> str(udaf(width, "price", returns="double"))
    'user(price, width)'
    """
    _check_callable("fn", fn)
    options = {"name": function_name(fn), "fn": fn, "returns": arrow_type(returns)}
    return AggregateCall("user", columns, filter, options)


def udaf_algebraic(
    *columns: str,
    lift: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    lower: Callable[[Any], Any],
    partial: pa.DataType | str,
    returns: pa.DataType | str,
    filter: str | None = None,
) -> AggregateCall:
    """Your own aggregate for overlapping windows: rows are lifted once, and partials are combined.

    `lift` takes Arrow arrays of some rows and returns a partial: a value of the Arrow type `partial`. `combine` returns
    a new partial from two, in any order and any grouping. `lower` turns a partial into the result.

    >>> smallest = udaf_algebraic(
    ...     "price", lift=lambda x: x.sort()[0], combine=min, lower=abs, partial="double", returns="double"
    ... )
    >>> sorted(smallest.options)
    ['combine', 'lift', 'lower', 'name', 'partial', 'returns']
    """
    for name, fn in (("lift", lift), ("combine", combine), ("lower", lower)):
        _check_callable(name, fn)
    options = {
        "name": function_name(lift),
        "lift": lift,
        "combine": combine,
        "lower": lower,
        "partial": arrow_type(partial),
        "returns": arrow_type(returns),
    }
    return AggregateCall("user", columns, filter, options)


def _check_callable(name: str, fn: object) -> None:
    if not callable(fn):
        raise AggregateError(
            f"{name} is {fn!r}, which cannot be called",
            hint='Give the function first, then the columns: udaf(width, "price", returns="double").',
        )
