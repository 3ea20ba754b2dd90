"""Each aggregate against a plain-Python oracle, on random rows with nulls; then its edges and its errors."""

import math
import re
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from millstream.api import functions as ms
from millstream.core.aggregate import AggregateCall, Difference
from millstream.core.errors import AggregateError
from millstream.kernels.aggregates.aggregate_registry import FUNCTIONS, build
from millstream.kernels.aggregates.base import Algebra, Holistic, Work
from millstream.kernels.aggregates.parts.failed import ERROR, failing

CELLS = 7
ROWS = 300
NAN = float("nan")

# --- Running an aggregate in each way the host may ------------------------------------------------


def answer(call: AggregateCall, columns: Sequence[pa.Array], cells: Sequence[int] | np.ndarray, n: int) -> list[Any]:
    kernel = build(call, [column.type for column in columns])
    at = np.asarray(cells, dtype=np.int64)
    if isinstance(kernel, Holistic):
        found = evaluated(kernel, columns, at, n)
        assert found.type in (kernel.result_type, failing(kernel.result_type))
        return found.to_pylist()
    ways = [
        gathered(kernel, columns, at, n),
        lifted(kernel, columns, at, n),
        in_parts(kernel, columns, at, n),
    ]
    assert {way.type for way in ways} <= {kernel.result_type, failing(kernel.result_type)}
    assert 1 == len({way.type for way in ways})
    first, *others = (way.to_pylist() for way in ways)
    for other in others:
        assert_same(first, other)
    return first


def gathered(kernel: Algebra, columns: Sequence[pa.Array], cells: np.ndarray, n: int) -> pa.Array:
    return kernel.lower(stored(kernel, kernel.gather(columns, cells, n)))


def lifted(kernel: Algebra, columns: Sequence[pa.Array], cells: np.ndarray, n: int) -> pa.Array:
    work = kernel.lift(columns)
    return kernel.lower(stored(kernel, Work(kernel.reduce(work.columns, cells, n), work.pool)))


def in_parts(kernel: Algebra, columns: Sequence[pa.Array], cells: np.ndarray, n: int) -> pa.Array:
    """Rows arrive in three epochs; their partials are stored, concatenated and merged."""
    third = -(-len(cells) // 3)
    epochs = [slice(i * third, (i + 1) * third) for i in range(3)]
    kept = [stored(kernel, kernel.gather([c[rows] for c in columns], cells[rows], n)) for rows in epochs]
    work = kernel.open([pa.concat_arrays(list(parts)) for parts in zip(*kept, strict=True)])
    merged = kernel.reduce(work.columns, np.tile(np.arange(n), len(epochs)), n)
    return kernel.lower(stored(kernel, Work(merged, work.pool)))


def stored(kernel: Algebra, work: Work) -> list[pa.Array]:
    partials = kernel.close(work)
    assert list(kernel.partial_types) == [partial.type for partial in partials]
    return partials


def evaluated(kernel: Holistic, columns: Sequence[pa.Array], cells: np.ndarray, n: int) -> pa.Array:
    """As the host does: without nulls, and each value once where only that matters."""
    there = np.array([all(c[i].is_valid for c in columns) for i in range(len(cells))], dtype=np.bool_)
    if kernel.distinct_only:
        seen: set[Any] = set()
        for i in np.flatnonzero(there):
            pair = (int(cells[i]), same_key(columns[0][i].as_py()))
            there[i] = pair not in seen
            seen.add(pair)
    kept = [c.filter(pa.array(there)) for c in columns]
    return kernel.evaluate(kept, np.ones(int(there.sum()), dtype=np.int64), cells[there], n)


def same_key(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def assert_same(expected: Any, actual: Any) -> None:
    if isinstance(expected, list):
        assert len(expected) == len(actual)
        for one, other in zip(expected, actual, strict=True):
            assert_same(one, other)
    elif isinstance(expected, dict):
        assert_same(list(expected.items()), list(actual.items()))
    elif isinstance(expected, tuple):
        assert_same(list(expected), list(actual))
    elif isinstance(expected, float) and isinstance(actual, float):
        assert expected == pytest.approx(actual, rel=1e-9, abs=1e-12, nan_ok=True)
    else:
        assert expected == actual
        assert type(expected) is type(actual)


# --- Columns --------------------------------------------------------------------------------------


def with_nulls(rng: np.random.Generator, values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    return pa.array([None if rng.random() < 0.2 else value for value in values], kind)


def column(name: str, seed: int) -> pa.Array:
    rng = np.random.default_rng(seed)
    small = [int(x) for x in rng.integers(-20, 20, ROWS)]
    large = [int(x) for x in rng.integers(-(2**62), 2**62, ROWS)]
    floats = [float(x) for x in rng.normal(0, 100, ROWS)]
    odd = [rng.choice([0.0, -0.0, 1.5, NAN, math.inf, -math.inf]) for _ in range(ROWS)]
    epoch = datetime(2024, 1, 1, tzinfo=UTC)
    values, kind = {
        "int64": (small, pa.int64()),
        "int8": (small, pa.int8()),
        "large": (large, pa.int64()),
        "uint64": ([x + 2**63 for x in large], pa.uint64()),
        "float64": (floats, pa.float64()),
        "float32": ([float(np.float32(x)) for x in floats], pa.float32()),
        "odd": (odd, pa.float64()),
        "decimal": ([Decimal(x).scaleb(-2) for x in small], pa.decimal128(9, 2)),
        "wide": ([Decimal(x * 10**12).scaleb(-6) for x in large], pa.decimal128(38, 6)),
        "bool": ([x > 0 for x in small], pa.bool_()),
        "string": ([f"w{x}" if x else "" for x in small], pa.string()),
        "binary": ([f"w{x}".encode() for x in small], pa.binary()),
        "timestamp": ([epoch + timedelta(microseconds=x) for x in small], pa.timestamp("us", tz="UTC")),
        "date": ([date(2024, 1, 31) + timedelta(days=x) for x in small], pa.date32()),
        "duration": ([timedelta(seconds=x) for x in small], pa.duration("ns")),
        "dictionary": ([f"w{x}" for x in small], pa.string()),
    }[name]
    array = with_nulls(rng, values, kind)
    return array.dictionary_encode() if name == "dictionary" else array


NUMBERS = ["int64", "int8", "large", "uint64", "float64", "float32", "decimal", "wide"]
TIMES = ["timestamp", "date", "duration"]
ORDERED = [*NUMBERS, "odd", *TIMES, "bool", "string", "binary", "dictionary"]


def by_cell(columns: Sequence[pa.Array], cells: np.ndarray, n: int) -> list[list[tuple[Any, ...]]]:
    """The rows of each cell without those that hold a null."""
    out: list[list[tuple[Any, ...]]] = [[] for _ in range(n)]
    for cell, *row in zip(cells, *(c.to_pylist() for c in columns), strict=True):
        if None not in row:
            out[cell].append(tuple(row))
    return out


def check(call: AggregateCall, names: Sequence[str], oracle: Callable[[list[Any]], Any]) -> None:
    """The last cells are empty and all null."""
    columns = [column(name, seed) for seed, name in enumerate(names)]
    cells = np.random.default_rng(99).integers(0, CELLS, ROWS)
    columns = [pa.concat_arrays([c, pa.nulls(2, c.type)]) for c in columns]
    cells = np.concatenate((cells, [CELLS, CELLS]))
    rows = by_cell(columns, cells, CELLS + 2)
    plain = [[row[0] if len(columns) == 1 else row for row in cell] for cell in rows]

    assert_same([oracle(cell) for cell in plain], answer(call, columns, cells, CELLS + 2))


def order(value: Any) -> Any:
    """Sort key: NaN after everything."""
    return (1, 0.0) if isinstance(value, float) and math.isnan(value) else (0, value)


def or_none(oracle: Callable[[list[Any]], Any], least: int = 1) -> Callable[[list[Any]], Any]:
    return lambda values: oracle(values) if len(values) >= least else None


# --- Oracles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ORDERED)
def test_count(name: str) -> None:
    check(ms.count("x"), [name], len)


@pytest.mark.parametrize("name", ["int64", "int8", "decimal", "wide"])
def test_sum_is_exact(name: str) -> None:
    check(ms.sum("x"), [name], or_none(sum))


@pytest.mark.parametrize("name", ["float64", "float32", "odd"])
def test_sum_of_floats(name: str) -> None:
    check(ms.sum("x"), [name], or_none(lambda values: float(sum(values))))


@pytest.mark.parametrize("name", ORDERED)
def test_min(name: str) -> None:
    check(ms.min("x"), [name], or_none(lambda values: min(values, key=order)))


@pytest.mark.parametrize("name", ORDERED)
def test_max(name: str) -> None:
    check(ms.max("x"), [name], or_none(lambda values: max(values, key=order)))


@pytest.mark.parametrize("name", ["int64", "int8", "large", "uint64"])
def test_avg_of_integers_is_the_nearest_float(name: str) -> None:
    column_ = column(name, 0)
    cells = np.zeros(ROWS, dtype=np.int64)
    values = [value for value in column_.to_pylist() if value is not None]

    assert [float(Fraction(sum(values), len(values)))] == answer(ms.avg("x"), [column_], cells, 1)
    check(ms.mean("x"), [name], or_none(lambda values: float(Fraction(sum(values), len(values)))))


@pytest.mark.parametrize(("name", "digits"), [("decimal", 6), ("wide", 10)])
def test_avg_of_decimals_rounds_half_up(name: str, digits: int) -> None:
    def oracle(values: list[Decimal]) -> Decimal:
        with localcontext(prec=100):
            return (sum(values, Decimal(0)) / len(values)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)

    check(ms.avg("x"), [name], or_none(oracle))


def test_avg_of_floats() -> None:
    check(ms.avg("x"), ["float64"], or_none(statistics.fmean))


@pytest.mark.parametrize("name", ["int64", "int8", "uint64", "float64", "float32", "decimal"])
def test_variance_and_deviation(name: str) -> None:
    def exact(values: list[Any], freedom: int) -> Fraction:
        numbers = [Fraction(value) for value in values]
        mean = sum(numbers, Fraction(0)) / len(numbers)
        return sum(((x - mean) * (x - mean) for x in numbers), Fraction(0)) / freedom

    sample = or_none(lambda values: float(exact(values, len(values) - 1)), 2)
    population = or_none(lambda values: float(exact(values, len(values))))
    check(ms.variance("x"), [name], sample)
    check(ms.var_pop("x"), [name], population)
    check(ms.stddev("x"), [name], lambda v: None if sample(v) is None else math.sqrt(sample(v)))
    check(ms.stddev_pop("x"), [name], lambda v: None if population(v) is None else math.sqrt(population(v)))


@pytest.mark.parametrize("value", ORDERED)
@pytest.mark.parametrize("key", ["timestamp", "string", "odd"])
def test_min_by_and_max_by_break_ties_by_the_smallest_value(value: str, key: str) -> None:
    def least(rows: list[Any]) -> Any:
        return min(rows, key=lambda row: (order(row[1]), order(row[0])))[0]

    def most(rows: list[Any]) -> Any:
        top = max((row[1] for row in rows), key=order)
        return min((row[0] for row in rows if order(row[1]) == order(top)), key=order)

    check(ms.min_by("v", "k"), [value, key], or_none(least))
    check(ms.max_by("v", "k"), [value, key], or_none(most))


def test_first_and_last_go_by_the_attribute_not_by_arrival() -> None:
    values, times = pa.array(["late", "early", None]), pa.array([9, 3, 1])

    assert ["early"] == answer(ms.first("v"), [values, times], [0, 0, 0], 1)
    assert ["late"] == answer(ms.last("v"), [values, times], [0, 0, 0], 1)


def test_bool_and_bool_or() -> None:
    check(ms.bool_and("x"), ["bool"], or_none(all))
    check(ms.bool_or("x"), ["bool"], or_none(any))


@pytest.mark.parametrize("name", ORDERED)
def test_count_distinct(name: str) -> None:
    check(ms.count_distinct("x"), [name], lambda values: len({same_key(value) for value in values}))


@pytest.mark.parametrize("name", ORDERED)
def test_approx_distinct_is_exact_for_few_values(name: str) -> None:
    check(ms.approx_distinct("x"), [name], lambda values: len({same_key(value) for value in values}))


@pytest.mark.parametrize("q", [0, 0.07, 0.25, 0.5, 0.9, 1])
@pytest.mark.parametrize("name", NUMBERS)
def test_quantile_of_numbers_interpolates(name: str, q: float) -> None:
    def oracle(values: list[Any]) -> float:
        return float(np.quantile(np.array(values, dtype=np.float64), q))

    check(ms.quantile("x", q), [name], or_none(oracle))


@pytest.mark.parametrize("q", [0, 0.07, 0.5, 1])
@pytest.mark.parametrize("name", TIMES)
def test_quantile_of_times_is_one_of_them(name: str, q: float) -> None:
    def oracle(values: list[Any]) -> Any:
        return sorted(values)[max(0, math.ceil(Fraction(str(q)) * len(values)) - 1)]

    check(ms.quantile("x", q), [name], or_none(oracle))


@pytest.mark.parametrize("name", NUMBERS)
def test_median(name: str) -> None:
    check(ms.median("x"), [name], or_none(lambda values: statistics.median(map(float, values))))


@pytest.mark.parametrize("q", [0, 0.25, 0.5, 1])
def test_approx_quantile_is_exact_for_few_values(q: float) -> None:
    def oracle(values: list[float]) -> float:
        return sorted(values)[max(0, math.ceil(q * len(values)) - 1)]

    check(ms.approx_quantile("x", q), ["float64"], or_none(oracle))


@pytest.mark.parametrize("name", ORDERED)
def test_mode(name: str) -> None:
    def oracle(values: list[Any]) -> Any:
        counts = Counter(same_key(value) for value in values)
        return min(values, key=lambda value: (-counts[same_key(value)], order(value)))

    check(ms.mode("x"), [name], or_none(oracle))


def heavy(values: list[Any], share: float) -> list[dict[str, Any]]:
    counts = Counter(same_key(value) for value in values)
    kept = {key: n for key, n in counts.items() if n >= Fraction(str(share)) * len(values)}
    undone = [(NAN if key == "NaN" else key, n) for key, n in kept.items()]
    return [{"value": v, "count": n} for v, n in sorted(undone, key=lambda pair: (-pair[1], order(pair[0])))]


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("function", [ms.heavy_hitters, ms.approx_heavy_hitters])
def test_heavy_hitters(name: str, function: Callable[..., AggregateCall]) -> None:
    if (name, function) != ("binary", ms.approx_heavy_hitters):
        check(function("x", 0.05), [name], lambda values: heavy(values, 0.05))


@pytest.mark.parametrize("function", [ms.min, ms.max, ms.mode, ms.median])
def test_no_negative_zero_tells_which_zero_came_first(function: Callable[..., AggregateCall]) -> None:
    for zeros in ([0.0, -0.0], [-0.0, 0.0], [-0.0]):
        (found,) = answer(function("x"), [pa.array(zeros)], [0] * len(zeros), 1)
        assert 1.0 == math.copysign(1.0, found)


# --- Edges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", sorted(set(FUNCTIONS) - {"user"}))
def test_no_rows_at_all_is_no_error(function: str) -> None:
    kind = pa.bool_() if function.startswith("bool") else pa.int64()
    two = function in {"min_by", "max_by", "first", "last"}
    call = AggregateCall(function, ("x",), None, {"q": 0.5, "share": 0.5})
    columns = [pa.array([], kind)] * (2 if two else 1)

    assert [] == answer(call, columns, [], 0)
    (empty,) = answer(call, columns, [], 1)
    assert empty in (None, 0, [])


@pytest.mark.parametrize("function", [ms.sum, ms.avg, ms.max, ms.variance])
def test_an_epoch_without_rows_keeps_the_types_of_partials(function: Callable[..., AggregateCall]) -> None:
    for kind in (pa.float64(), pa.decimal128(9, 2)):
        assert [None] == answer(function("x"), [pa.array([], kind)], [], 1)


def test_a_sum_of_integers_beyond_64_bits_is_an_error_with_the_sum() -> None:
    (found,) = answer(ms.sum("x"), [pa.array([2**62, 2**62])], [0, 0], 1)

    assert found["__ms_error"].startswith(f"sum(x) is {2**63}, which does not fit a 64-bit integer")


def test_a_sum_may_leave_64_bits_on_the_way() -> None:
    assert [2**62] == answer(ms.sum("x"), [pa.array([2**62, 2**62, 2**62, -(2**63)])], [0] * 4, 1)
    assert [-(2**63)] == answer(ms.sum("x"), [pa.array([-(2**62), -(2**62)])], [0, 0], 1)


def test_a_sum_of_decimals_beyond_38_digits_is_an_error_with_the_sum() -> None:
    nines = pa.array([Decimal("9" * 36 + ".99")] * 2, pa.decimal128(38, 2))
    (found,) = answer(ms.sum("x"), [nines], [0, 0], 1)

    assert "sum(x) is 1999999999999999999999999999999999999.98, beyond decimal128(38, 2)" == found["__ms_error"]


def test_an_average_of_decimals_beyond_its_type_is_an_error() -> None:
    nines = pa.array([Decimal("9" * 36 + ".99")], pa.decimal128(38, 2))
    (found,) = answer(ms.avg("x"), [nines], [0], 1)

    assert re.fullmatch(r"avg\(x\) is .* beyond decimal128\(38, 6\)", found["__ms_error"])


@pytest.mark.parametrize("sign", [1, -1])
def test_halves_of_decimals_round_away_from_zero(sign: int) -> None:
    prices = pa.array([sign * Decimal("0.0001")] + [Decimal(0)] * 31, pa.decimal128(9, 4))

    # 0.0001 / 32 is 0.000003125: the fifth of four more digits is a half.
    assert [sign * Decimal("0.00000313")] == answer(ms.avg("x"), [prices], [0] * 32, 1)


def test_variance_is_stable_far_from_zero() -> None:
    values = pa.array([1e9, 1e9 + 1, 1e9 + 2])

    assert [1.0] == answer(ms.variance("x"), [values], [0, 0, 0], 1)


def test_variance_with_an_infinite_value_is_nan_in_its_cell_only() -> None:
    found = answer(ms.var_pop("x"), [pa.array([math.inf, 1.0, 2.0, 4.0])], [0, 0, 1, 1], 2)

    assert_same([NAN, 1.0], found)


def test_sums_with_both_infinities_are_nan_and_too_large_ones_infinite() -> None:
    values = pa.array([math.inf, -math.inf, 1.5e308, 1.5e308])

    assert_same([NAN, math.inf], answer(ms.sum("x"), [values], [0, 0, 1, 1], 2))
    assert_same([NAN, math.inf], answer(ms.avg("x"), [values], [0, 0, 1, 1], 2))


def test_nan_is_the_greatest_value() -> None:
    values, cells = pa.array([NAN, 1.0, NAN, None]), [0, 0, 1, 2]

    assert_same([NAN, NAN, None], answer(ms.max("x"), [values], cells, 3))
    assert_same([1.0, NAN, None], answer(ms.min("x"), [values], cells, 3))
    assert_same([NAN, NAN, None], answer(ms.quantile("x", 1), [values], cells, 3))
    assert_same([1.0, NAN, None], answer(ms.quantile("x", 0), [values], cells, 3))
    assert_same([NAN, NAN, None], answer(ms.median("x"), [values], cells, 3))


def test_the_extremes_of_integers_are_told_from_nothing() -> None:
    least, most = -(2**63), 2**63 - 1
    values = pa.array([least, most, None], pa.int64())

    assert [least, most, None] == answer(ms.max("x"), [values], [0, 1, 2], 3)
    assert [least, most, None] == answer(ms.min("x"), [values], [0, 1, 2], 3)
    assert [2**64 - 1] == answer(ms.max("x"), [pa.array([2**64 - 1, 0], pa.uint64())], [0, 0], 1)


def test_a_median_between_infinities_stays_infinite() -> None:
    assert [math.inf] == answer(ms.median("x"), [pa.array([math.inf, math.inf])], [0, 0], 1)


def test_multiplicities_count() -> None:
    values, weights, cells = [pa.array([1, 5])], np.array([2, 3]), np.array([0, 0])

    for call, expected in ((ms.median("x"), 5.0), (ms.mode("x"), 5)):
        kernel = build(call, [pa.int64()])
        assert isinstance(kernel, Holistic)
        assert [expected] == kernel.evaluate(values, weights, cells, 1).to_pylist()


def test_a_share_is_the_fraction_that_was_written() -> None:
    # As floats, 0.07 · 100 is 7.000000000000001.
    values = pa.array([1] * 7 + [2] * 93)

    (found,) = answer(ms.heavy_hitters("x", 0.07), [values], [0] * 100, 1)
    assert [{"value": 2, "count": 93}, {"value": 1, "count": 7}] == found


# --- Sketches -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [pa.int64(), pa.string()])
def test_approx_distinct_is_within_three_standard_errors(kind: pa.DataType) -> None:
    values = pa.array(range(50_000)).cast(kind)
    (found,) = answer(ms.approx_distinct("x"), [values], np.zeros(50_000, dtype=np.int64), 1)

    assert abs(found - 50_000) <= 3 * 1.04 / math.sqrt(2**12) * 50_000


def test_approx_distinct_takes_strings_and_bytes_that_are_empty() -> None:
    assert [2] == answer(ms.approx_distinct("x"), [pa.array(["", "a", ""])], [0, 0, 0], 1)
    assert [2] == answer(ms.approx_distinct("x"), [pa.array([b"", b"\xff", b""])], [0, 0, 0], 1)


@pytest.mark.parametrize("q", [0.01, 0.5, 0.99])
def test_approx_quantile_is_within_its_rank_error(q: float) -> None:
    kernel = build(ms.approx_quantile("x", q), [pa.float64()])
    assert isinstance(kernel, Algebra)
    values = np.random.default_rng(3).permutation(20_000)
    cells = np.zeros(len(values), dtype=np.int64)

    # Twice the bound that holds 99 times of 100: the sketch is random, the test should not be.
    for way in (gathered, in_parts):
        rank = way(kernel, [pa.array(values.astype(np.float64))], cells, 1)[0].as_py() / len(values)
        assert abs(rank - q) <= 2 * 0.0133


def test_approx_heavy_hitters_miss_none_and_count_none_too_low() -> None:
    share = 0.02
    values = np.random.default_rng(4).zipf(1.2, 30_000) % 5_000
    kernel = build(ms.approx_heavy_hitters("x", share), [pa.int64()])
    assert isinstance(kernel, Algebra)

    counts = Counter(values.tolist())
    true = {value for value, n in counts.items() if n >= share * len(values)}
    for way in (gathered, in_parts):
        (found,) = way(kernel, [pa.array(values)], np.zeros(len(values), dtype=np.int64), 1).to_pylist()
        assert true <= {row["value"] for row in found}
        for row in found:
            assert 0 <= row["count"] - counts[row["value"]] <= share / 4 * len(values)


# --- User-defined ---------------------------------------------------------------------------------


def spread(prices: pa.Array, weights: pa.Array) -> float:
    return float(max(prices.to_pylist()) - min(prices.to_pylist())) * weights[0].as_py()


def broken(_prices: pa.Array) -> float:
    message = "no such thing"
    raise KeyError(message)


def test_a_function_of_ones_own_sees_the_rows_of_each_cell() -> None:
    columns = [pa.array([3, 8, None, 5]), pa.array([2, 2, 2, 2])]

    assert [10.0, 0.0, None] == answer(ms.udaf(spread, "p", "w", returns="double"), columns, [0, 0, 0, 1], 3)


def test_a_function_of_ones_own_that_raises_is_named() -> None:
    (found,) = answer(ms.udaf(broken, "p", returns="double"), [pa.array([1])], [0], 1)

    assert {"value": None, ERROR: "broken raised KeyError: 'no such thing'"} == found


def test_a_function_of_ones_own_must_answer_what_it_declared() -> None:
    (found,) = answer(ms.udaf(spread, "p", "w", returns="string"), [pa.array([1]), pa.array([1])], [0], 1)

    assert "spread answered what does not fit string" in found[ERROR]


def centre() -> AggregateCall:
    """The centre of mass: a partial of two numbers in a struct."""
    return ms.udaf_algebraic(
        "at",
        "mass",
        lift=lambda at, mass: {
            "moment": float(np.dot(at.to_numpy(), mass.to_numpy())),
            "mass": float(mass.to_numpy().sum()),
        },
        combine=lambda a, b: {name: a[name] + b[name] for name in a},
        lower=lambda p: p["moment"] / p["mass"],
        partial=pa.struct({"moment": pa.float64(), "mass": pa.float64()}),
        returns=pa.float64(),
    )


def test_an_algebra_of_ones_own_is_combined() -> None:
    columns = [pa.array([0.0, 4.0, None, 7.0]), pa.array([3.0, 1.0, 1.0, 2.0])]

    assert [1.0, 7.0, None] == answer(centre(), columns, [0, 0, 1, 1], 3)


def test_an_algebra_of_ones_own_may_keep_lists() -> None:
    call = ms.udaf_algebraic(
        "x",
        lift=lambda x: sorted(x.to_pylist())[-2:],
        combine=lambda a, b: sorted(a + b)[-2:],
        lower=sum,
        partial=pa.list_(pa.int64()),
        returns="int64",
    )

    assert [17, 3, None] == answer(call, [pa.array([1, 9, 8, 3, None])], [0, 0, 0, 1, 1], 3)


def test_a_lower_that_raises_is_named() -> None:
    call = ms.udaf_algebraic("x", lift=len, combine=max, lower=broken, partial="int64", returns="int64")
    (found,) = answer(call, [pa.array([1])], [0], 1)

    assert "broken raised KeyError: 'no such thing'" == found[ERROR]


def test_only_functions_and_types_make_an_aggregate() -> None:
    with pytest.raises(AggregateError, match="fn is 'price', which cannot be called"):
        ms.udaf("price", returns="double")  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(AggregateError, match='"text" is no Arrow type'):
        ms.udaf(spread, "price", returns="text")


# --- The registry ---------------------------------------------------------------------------------


def refused(call: AggregateCall, *types: pa.DataType) -> AggregateError:
    with pytest.raises(AggregateError) as caught:
        build(call, types)
    assert caught.value.hint
    return caught.value


def test_an_unknown_function_names_the_nearest() -> None:
    error = refused(AggregateCall("medain", ("x",)), pa.int64())

    assert 'there is no aggregate "medain"' == error.fact
    assert 'Did you mean "median"?' in str(error)


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (ms.sum("name"), pa.string()),
        (ms.avg("name"), pa.timestamp("us")),
        (ms.sum("name"), pa.bool_()),
        (ms.variance("name"), pa.string()),
        (ms.median("name"), pa.string()),
        (ms.approx_quantile("name", 0.5), pa.date32()),
        (ms.max("name"), pa.list_(pa.int64())),
        (ms.mode("name"), pa.struct({"a": pa.int64()})),
        (ms.bool_or("name"), pa.int64()),
        (ms.approx_heavy_hitters("name", 0.1), pa.binary()),
        (ms.sum("name"), pa.decimal256(50, 2)),
    ],
    ids=str,
)
def test_a_wrong_type_is_refused_with_the_column_and_both_types(call: AggregateCall, kind: pa.DataType) -> None:
    assert f"name is {kind}, and {call.function} takes" in refused(call, kind).fact


def test_the_second_argument_is_checked_as_the_first() -> None:
    error = refused(ms.max_by("name", "place"), pa.string(), pa.list_(pa.int64()))

    assert "place is list<item: int64>, and max_by takes numbers" in error.fact


def test_a_wrong_number_of_arguments_is_refused() -> None:
    assert "sum(x) has 2 arguments, and sum takes 1" == refused(ms.sum("x"), pa.int64(), pa.int64()).fact
    assert "first(x) has 1 arguments, and first takes 2" == refused(ms.first("x"), pa.int64()).fact
    assert "takes 0 to 1" in refused(ms.count("x"), pa.int64(), pa.int64()).fact
    assert "takes 1 or more" in refused(ms.udaf(spread, returns="double")).fact


@pytest.mark.parametrize(
    ("call", "fact"),
    [
        (ms.quantile("x", 1.5), "q = 1.5, which is not in [0, 1]"),
        (ms.quantile("x", NAN), "q = nan, which is not in [0, 1]"),
        (ms.approx_quantile("x", -1), "q = -1, which is not in [0, 1]"),
        (ms.approx_quantile("x", 0.5, k=7), "k = 7, which is not a whole number in [8, 65535]"),
        (ms.approx_distinct("x", lg_k=22), "lg_k = 22, which is not a whole number in [4, 21]"),
        (ms.heavy_hitters("x", 0), "share = 0, which is not in (0, 1]"),
        (ms.heavy_hitters("x", 2), "share = 2, which is not in [0, 1]"),
        (ms.approx_heavy_hitters("x", 1e-9), "share 1e-09, below 1e-06"),
        (AggregateCall("quantile", ("x",)), "q = None, which is not in [0, 1]"),
    ],
    ids=str,
)
def test_an_option_out_of_range_is_refused(call: AggregateCall, fact: str) -> None:
    assert fact in refused(call, pa.int64()).fact


def test_count_without_arguments_counts_rows() -> None:
    kernel = build(ms.count(), [])
    assert isinstance(kernel, Algebra)

    assert [2, 1] == gathered(kernel, [pa.array([7, 7, 7])], np.array([0, 0, 1]), 2).to_pylist()


def test_every_constructor_names_a_function_of_the_registry() -> None:
    calls = [
        ms.count(), ms.sum("x"), ms.min("x"), ms.max("x"), ms.avg("x"), ms.mean("x"), ms.variance("x"),
        ms.var_pop("x"), ms.stddev("x"), ms.stddev_pop("x"), ms.min_by("x", "y"), ms.max_by("x", "y"),
        ms.first("x"), ms.last("x"), ms.bool_and("x"), ms.bool_or("x"), ms.count_distinct("x"),
        ms.approx_distinct("x"), ms.median("x"), ms.quantile("x", 0.5), ms.approx_quantile("x", 0.5),
        ms.mode("x"), ms.heavy_hitters("x", 0.1), ms.approx_heavy_hitters("x", 0.1), centre(),
    ]  # fmt: skip
    aliases = {"mean", "var_samp", "stddev_samp", "approx_count_distinct"}

    assert set(FUNCTIONS) - aliases == {call.function for call in calls}
    assert ["x > 1"] * len(calls) == [call.where("x > 1").filter for call in calls]


def test_only_exact_partials_can_be_taken_apart() -> None:
    def difference(call: AggregateCall, kind: pa.DataType) -> Difference:
        return build(call, [kind]).difference

    exact = [pa.int64(), pa.decimal128(9, 2)]
    assert {Difference.FULL} == {difference(f("x"), kind) for f in (ms.sum, ms.avg, ms.count) for kind in exact}
    assert {Difference.NONE} == {
        difference(f("x"), pa.float64()) for f in (ms.sum, ms.avg, ms.variance, ms.min, ms.max)
    }
    kernel = build(ms.max("x"), [pa.int64()])
    assert isinstance(kernel, Algebra)
    with pytest.raises(AggregateError, match="Extreme has no inverse"):
        kernel.uncombine(kernel.identity(1), kernel.identity(1))
