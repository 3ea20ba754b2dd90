"""Patterns, held to enumeration: the domain is wider than the constants, so that open ends show."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.core.errors import PatternError
from millstream.core.parse import parse_pattern
from millstream.core.pattern import (
    ANY,
    Between,
    Equal,
    From,
    OneOf,
    Pattern,
    UpTo,
    ValuePattern,
    value_intersects,
    value_matches,
    value_meet,
    value_subsumes,
)
from millstream.core.punctuation import Punctuation
from millstream.kernels.match import matching

CONSTANTS = st.integers(0, 4)
DOMAIN = (None, *range(-2, 8))

value_patterns: st.SearchStrategy[ValuePattern] = st.one_of(
    st.just(ANY),
    CONSTANTS.map(Equal),
    CONSTANTS.map(UpTo),
    CONSTANTS.map(From),
    st.tuples(CONSTANTS, CONSTANTS).filter(lambda ends: ends[0] < ends[1]).map(lambda ends: Between(*ends)),
    st.frozensets(CONSTANTS, min_size=1).map(OneOf),
)
patterns = st.fixed_dictionaries({"a": value_patterns, "b": value_patterns}).map(Pattern)
ROWS = [{"a": a, "b": b} for a, b in product(DOMAIN, DOMAIN)]


def members(pattern: ValuePattern) -> set[int | None]:
    """The definition of each form, in so many words."""
    match pattern:
        case Equal(value):
            return {value}
        case UpTo(bound):
            return {v for v in DOMAIN if v is not None and v < bound}
        case From(bound):
            return {v for v in DOMAIN if v is not None and v >= bound}
        case Between(low, high):
            return {v for v in DOMAIN if v is not None and low <= v < high}
        case OneOf(values):
            return set(values)
        case _:
            return set(DOMAIN)


@given(value_patterns)
def test_a_value_matches_as_defined_and_null_only_any(pattern: ValuePattern) -> None:
    assert members(pattern) == {v for v in DOMAIN if value_matches(pattern, v)}


@given(value_patterns, value_patterns)
def test_a_value_pattern_subsumes_another_iff_it_has_all_its_values(outer: ValuePattern, inner: ValuePattern) -> None:
    assert (members(inner) <= members(outer)) == value_subsumes(outer, inner)


@given(value_patterns, value_patterns)
def test_value_patterns_intersect_iff_they_share_a_value(one: ValuePattern, other: ValuePattern) -> None:
    assert bool(members(one) & members(other)) == value_intersects(one, other)


@given(value_patterns, value_patterns)
def test_the_meet_of_value_patterns_has_the_values_of_both(one: ValuePattern, other: ValuePattern) -> None:
    both = value_meet(one, other)

    assert members(one) & members(other) == (set() if both is None else members(both))


@given(patterns, patterns)
def test_the_meet_of_patterns_matches_the_rows_that_both_match(one: Pattern, other: Pattern) -> None:
    both = one.meet(other)
    expected = [row for row in ROWS if one.matches(row) and other.matches(row)]

    assert expected == [row for row in ROWS if both is not None and both.matches(row)]


@given(patterns)
def test_a_row_matches_iff_every_attribute_does(pattern: Pattern) -> None:
    expected = [row for row in ROWS if row["a"] in members(pattern.on("a")) and row["b"] in members(pattern.on("b"))]

    assert expected == [row for row in ROWS if pattern.matches(row)]


@given(patterns, patterns)
def test_a_pattern_subsumes_another_iff_it_matches_all_its_rows(outer: Pattern, inner: Pattern) -> None:
    expected = all(outer.matches(row) for row in ROWS if inner.matches(row))

    assert expected == outer.subsumes(inner)


@given(patterns, patterns)
def test_patterns_intersect_iff_one_row_matches_both(one: Pattern, other: Pattern) -> None:
    assert any(one.matches(row) and other.matches(row) for row in ROWS) == one.intersects(other)


@given(patterns)
def test_the_columnar_match_is_the_row_match(pattern: Pattern) -> None:
    table = pa.Table.from_pylist(ROWS, schema=pa.schema([("a", pa.int64()), ("b", pa.int64())]))

    assert [pattern.matches(row) for row in ROWS] == matching(pattern, table, {"a"}).tolist()


@given(patterns)
def test_a_pattern_reads_back_as_it_is_written(pattern: Pattern) -> None:
    assert pattern == parse_pattern(str(pattern))


@given(patterns)
def test_a_punctuation_rules_out_exactly_what_its_pattern_matches(pattern: Pattern) -> None:
    assert [pattern.matches(row) for row in ROWS] == [Punctuation(pattern).rules_out(row) for row in ROWS]


@given(patterns, patterns)
def test_patterns_that_are_equal_hash_alike(one: Pattern, other: Pattern) -> None:
    assert (one == other) <= (hash(one) == hash(other))


@pytest.mark.parametrize("make", [lambda: Between(3, 3), lambda: Between(4, 3), lambda: OneOf(frozenset())])
def test_a_pattern_that_matches_nothing_cannot_be_made(make: object) -> None:
    assert callable(make)
    with pytest.raises(PatternError) as caught:
        make()

    assert caught.value.hint
