"""Every bounded aggregate is a commutative monoid, and each shorter way to compute it gives the same answer.

Answers are compared after lowering. Numbers are eighths of small integers, so that float sums are exact and
only the variance of floats needs a tolerance.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.api import functions as ms
from millstream.core.aggregate import AggregateCall, Difference
from millstream.kernels.aggregates.aggregate_registry import build
from millstream.kernels.aggregates.base import Algebra, Columns, Work

INTEGERS = st.integers(-(2**40), 2**40)
EIGHTHS = st.integers(-800, 800).map(lambda n: n / 8)
FLOATS = st.one_of(EIGHTHS, st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan]))
DECIMALS = st.integers(-(10**9), 10**9).map(lambda n: Decimal(n).scaleb(-2))
WORDS = st.text("ab", max_size=2)
DAYS = st.dates(date(1969, 12, 1), date(1970, 2, 1))
FEW = st.integers(0, 3)


@dataclass(frozen=True)
class Case:
    """An aggregate, the types of its arguments, and values for them."""

    call: AggregateCall
    kinds: tuple[pa.DataType, ...]
    values: tuple[st.SearchStrategy[Any], ...]
    algebra: Algebra = field(init=False)

    def __post_init__(self) -> None:
        algebra = build(self.call, self.kinds)
        assert isinstance(algebra, Algebra)
        object.__setattr__(self, "algebra", algebra)

    def __str__(self) -> str:
        return f"{self.call}:{self.kinds[0]}"

    def rows(self, size: int) -> st.SearchStrategy[list[pa.Array]]:
        """Columns of the given length, with nulls."""
        lists = [st.lists(st.none() | value, min_size=size, max_size=size) for value in self.values]
        return st.tuples(*lists).map(
            lambda columns: [pa.array(c, kind) for c, kind in zip(columns, self.kinds, strict=True)]
        )


def largest_two(x: pa.Array) -> list[int]:
    return sorted(x.to_pylist())[-2:]


OWN = ms.udaf_algebraic(
    "x",
    lift=largest_two,
    combine=lambda a, b: sorted(a + b)[-2:],
    lower=lambda p: p[0],
    partial=pa.list_(pa.int64()),
    returns="int64",
)

CASES = [
    Case(ms.count("x"), (pa.int64(),), (INTEGERS,)),
    Case(ms.sum("x"), (pa.int64(),), (INTEGERS,)),
    Case(ms.sum("x"), (pa.decimal128(12, 2),), (DECIMALS,)),
    Case(ms.sum("x"), (pa.decimal128(38, 2),), (DECIMALS,)),
    Case(ms.sum("x"), (pa.float64(),), (EIGHTHS,)),
    Case(ms.avg("x"), (pa.int64(),), (INTEGERS,)),
    Case(ms.avg("x"), (pa.decimal128(12, 2),), (DECIMALS,)),
    Case(ms.avg("x"), (pa.float64(),), (EIGHTHS,)),
    Case(ms.min("x"), (pa.int64(),), (INTEGERS,)),
    Case(ms.max("x"), (pa.date32(),), (DAYS,)),
    Case(ms.min("x"), (pa.float64(),), (FLOATS,)),
    Case(ms.max("x"), (pa.float64(),), (FLOATS,)),
    Case(ms.min("x"), (pa.string(),), (WORDS,)),
    Case(ms.max("x"), (pa.decimal128(38, 2),), (DECIMALS,)),
    Case(ms.bool_and("x"), (pa.bool_(),), (st.booleans(),)),
    Case(ms.bool_or("x"), (pa.bool_(),), (st.booleans(),)),
    Case(ms.variance("x"), (pa.float64(),), (FLOATS,)),
    Case(ms.stddev_pop("x"), (pa.int64(),), (INTEGERS,)),
    Case(ms.variance("x"), (pa.int8(),), (FEW,)),
    Case(ms.min_by("x", "y"), (pa.string(), pa.int64()), (WORDS, FEW)),
    Case(ms.max_by("x", "y"), (pa.float64(), pa.float64()), (EIGHTHS, FLOATS)),
    Case(ms.approx_distinct("x"), (pa.string(),), (WORDS,)),
    Case(ms.approx_distinct("x", lg_k=4), (pa.int64(),), (INTEGERS,)),
    Case(ms.approx_quantile("x", 0.5), (pa.float64(),), (FLOATS,)),
    Case(ms.approx_heavy_hitters("x", 0.25), (pa.int64(),), (FEW,)),
    Case(OWN, (pa.int64(),), (INTEGERS,)),
]

every_algebra = pytest.mark.parametrize("case", CASES, ids=str)
# Each law is tried on every algebra, so that fewer examples of each will do.
some = settings(max_examples=max(1, settings().max_examples // 4))
SIZE = 12


def lowered(algebra: Algebra, columns: Columns, pool: Any) -> list[Any]:
    return algebra.lower(algebra.close(Work(tuple(np.array(c) for c in columns), pool))).to_pylist()


def assert_same(case: Case, expected: list[Any], actual: list[Any]) -> None:
    if any(isinstance(value, float) for value in expected) and not pa.types.is_integer(case.kinds[0]):
        blank = [None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9, nan_ok=True) for value in expected]
        assert blank == actual
    else:
        assert expected == actual


def at(columns: Columns, rows: Any) -> Columns:
    return tuple(column[rows] for column in columns)


def fold(algebra: Algebra, columns: Columns, cells: Sequence[int], n: int) -> Columns:
    """The plain meaning of `reduce`: combine the rows one by one."""
    parts: list[Columns] = []
    for cell in range(n):
        whole = algebra.identity(1)
        for row in range(len(cells)):
            if cells[row] == cell:
                whole = algebra.combine(whole, at(columns, slice(row, row + 1)))
        parts.append(whole)
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


@every_algebra
@some
@given(data=st.data())
def test_combine_is_associative_and_commutative_with_identity(case: Case, data: st.DataObject) -> None:
    algebra = case.algebra
    work = algebra.lift(data.draw(case.rows(SIZE)))
    a, b, c = (at(work.columns, slice(start, start + SIZE // 3)) for start in range(0, SIZE, SIZE // 3))

    def answers(columns: Columns) -> list[Any]:
        return lowered(algebra, columns, work.pool)

    combine = algebra.combine
    assert_same(case, answers(combine(combine(a, b), c)), answers(combine(a, combine(b, c))))
    assert_same(case, answers(combine(a, b)), answers(combine(b, a)))
    nothing = algebra.identity(SIZE // 3)
    assert_same(case, answers(a), answers(combine(a, nothing)))
    assert_same(case, answers(a), answers(combine(nothing, a)))


@every_algebra
@some
@given(data=st.data())
def test_reduce_and_gather_are_combine_over_the_cells(case: Case, data: st.DataObject) -> None:
    algebra, rows = case.algebra, data.draw(case.rows(SIZE))
    cells = data.draw(st.lists(st.integers(0, 3), min_size=SIZE, max_size=SIZE))
    work, n = algebra.lift(rows), 5
    short = algebra.gather(rows, np.array(cells), n)

    expected = lowered(algebra, fold(algebra, work.columns, cells, n), work.pool)
    assert_same(case, expected, lowered(algebra, algebra.reduce(work.columns, np.array(cells), n), work.pool))
    assert_same(case, expected, lowered(algebra, short.columns, short.pool))


@every_algebra
@some
@given(data=st.data())
def test_accumulate_is_the_running_combine(case: Case, data: st.DataObject) -> None:
    algebra = case.algebra
    work = algebra.lift(data.draw(case.rows(SIZE)))
    before = lowered(algebra, work.columns, work.pool)
    width = data.draw(st.sampled_from([1, 3, 4, 12]))
    shaped = tuple(column.reshape(-1, width) for column in work.columns)

    for reverse in (False, True):
        order = range(width - 1, -1, -1) if reverse else range(width)
        running = algebra.identity(SIZE // width)
        found = algebra.accumulate(shaped, reverse=reverse)
        for step in order:
            running = algebra.combine(running, at(shaped, (slice(None), step)))
            here = at(found, (slice(None), step))
            assert_same(case, lowered(algebra, running, work.pool), lowered(algebra, here, work.pool))
    assert_same(case, before, lowered(algebra, work.columns, work.pool))


@every_algebra
@some
@given(data=st.data())
def test_any_cut_into_epochs_and_any_order_gives_the_same_answer(case: Case, data: st.DataObject) -> None:
    algebra, rows, n = case.algebra, data.draw(case.rows(SIZE)), 3
    cells = np.array(data.draw(st.lists(st.integers(0, n - 1), min_size=SIZE, max_size=SIZE)))
    order = np.array(data.draw(st.permutations(range(SIZE))))
    cut = data.draw(st.integers(0, SIZE))
    whole = algebra.gather(rows, cells, n)

    epochs = [order[:cut], order[cut:]]
    kept = [algebra.close(algebra.gather([r.take(pa.array(e)) for r in rows], cells[e], n)) for e in epochs]
    work = algebra.open([pa.concat_arrays(list(parts)) for parts in zip(*kept, strict=True)])
    merged = algebra.reduce(work.columns, np.tile(np.arange(n), 2), n)
    assert_same(case, lowered(algebra, whole.columns, whole.pool), lowered(algebra, merged, work.pool))


@pytest.mark.parametrize("case", [c for c in CASES if c.algebra.difference is Difference.FULL], ids=str)
@some
@given(data=st.data())
def test_uncombine_takes_a_part_away(case: Case, data: st.DataObject) -> None:
    algebra = case.algebra
    work = algebra.lift(data.draw(case.rows(SIZE)))
    a, b = at(work.columns, slice(0, SIZE // 2)), at(work.columns, slice(SIZE // 2, SIZE))

    rest = algebra.uncombine(algebra.combine(a, b), b)
    assert [part.to_pylist() for part in algebra.close(Work(a))] == [
        part.to_pylist() for part in algebra.close(Work(rest))
    ]


@some
@given(st.lists(st.integers(-(2**63), 2**63 - 1) | FEW, min_size=2, max_size=9), st.booleans())
def test_the_variance_of_integers_is_the_true_one_rounded_once(values: list[int], small: bool) -> None:  # noqa: FBT001
    numbers = [value >> 40 for value in values] if small else values
    algebra = build(ms.variance("x"), (pa.int64(),))
    assert isinstance(algebra, Algebra)
    work = algebra.gather([pa.array(numbers, pa.int64())], np.zeros(len(numbers), int), 1)

    mean = Fraction(sum(numbers), len(numbers))
    true = sum((x - mean) ** 2 for x in numbers) / (len(numbers) - 1)
    assert [float(true)] == lowered(algebra, work.columns, None)


def merged_in(tree: Callable[[int], int], sketches: list[Columns], algebra: Algebra) -> Columns:
    """Combine neighbours, chosen by `tree`, until one is left."""
    parts = list(sketches)
    while len(parts) > 1:
        i = tree(len(parts) - 1)
        parts[i : i + 2] = [algebra.combine(parts[i], parts[i + 1])]
    return parts[0]


@some
@given(st.integers(0, 2_000), st.lists(st.integers(0, 2_000), max_size=4), st.randoms(use_true_random=False))
def test_approx_distinct_does_not_depend_on_the_order_of_rows_or_merges(
    count: int, cuts: list[int], random: Any
) -> None:
    # With lg_k 8 the sketch leaves its exact mode at about 24 values.
    algebra = build(ms.approx_distinct("x", lg_k=8), [pa.int64()])
    assert isinstance(algebra, Algebra)
    values = np.arange(count)
    shuffled = np.random.default_rng(random.randrange(2**32)).permutation(values)

    def sketch(rows: np.ndarray) -> Columns:
        return algebra.gather([pa.array(rows)], np.zeros(len(rows), dtype=np.int64), 1).columns

    parts = [sketch(part) for part in np.split(shuffled, sorted(min(cut, count) for cut in cuts))]
    random.shuffle(parts)
    (expected,) = lowered(algebra, sketch(values), None)
    assert [expected] == lowered(algebra, merged_in(lambda n: random.randrange(n), parts, algebra), None)
    # Five standard errors of 2⁸ registers.
    assert abs(expected - count) <= 5 * 1.04 / math.sqrt(2**8) * count + 1
