"""Chains of slices: the shortest path is the best of all chains, and has the shapes that were reported."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.plan.rewrite.chain import Costs, Windows, by_table, cost, cpu_opt, flat, kept, linear, mem_opt

UNIFORM = tuple(2.5 * i for i in range(1, 13))
MOSTLY_SMALL = (*map(float, range(1, 11)), 20.0, 30.0)
SMALL_LARGE = (*map(float, range(1, 7)), *map(float, range(25, 31)))
"""The twelve queries of the experiments."""


@st.composite
def windows(draw: st.DrawFn, *, selective: bool) -> Windows:
    """Up to twelve windows; rows that reach a longer one are no more than those that reach a shorter one."""
    ends = tuple(sorted(draw(st.sets(st.integers(1, 60), min_size=1, max_size=12))))
    shares = sorted(draw(st.lists(st.floats(0, 1), min_size=len(ends), max_size=len(ends))), reverse=True)
    filters = st.lists(st.integers(0, 3), min_size=len(ends), max_size=len(ends))
    return Windows(
        ends=tuple(map(float, ends)),
        left_rate=draw(st.integers(1, 100)),
        right_rate=draw(st.integers(1, 100)),
        matching=draw(st.floats(0, 1)),
        passing=tuple(shares) if selective else (),
        filtered=tuple(draw(filters)) if selective else (),
    )


COSTS = st.builds(
    Costs, router=st.sampled_from([flat, linear, by_table]), overhead=st.floats(0, 50), memory=st.floats(0, 5)
)


def every_chain(given: Windows) -> list[tuple[float, ...]]:
    *inner, last = given.ends
    return [(*some, last) for n in range(len(inner) + 1) for some in combinations(inner, n)]


@pytest.mark.parametrize("selective", [False, True])
@given(data=st.data(), costs=COSTS)
def test_no_chain_costs_less_than_the_shortest_path(*, selective: bool, data: st.DataObject, costs: Costs) -> None:
    """Rows 14 and 17: equal to a search over all 2^(N-1) chains."""
    given = data.draw(windows(selective=selective))
    least = min(cost(given, chain, costs) for chain in every_chain(given))
    assert cost(given, cpu_opt(given, costs), costs) == pytest.approx(least)


@given(given=windows(selective=True), costs=COSTS)
def test_a_slice_for_each_window_keeps_the_fewest_rows(given: Windows, costs: Costs) -> None:
    """Rows 12 and 17: merging slices pulls selections up, and never keeps less."""
    assert kept(given, cpu_opt(given, costs)) >= kept(given, mem_opt(given)) - 1e-9


@given(given=windows(selective=False), costs=COSTS)
def test_without_selections_every_chain_keeps_what_the_longest_window_needs(given: Windows, costs: Costs) -> None:
    needed = (given.left_rate + given.right_rate) * given.ends[-1]
    assert kept(given, mem_opt(given)) == pytest.approx(needed) == kept(given, cpu_opt(given, costs))


@pytest.mark.parametrize(("rate", "overhead"), [(20, 0.35), (40, 1.0), (80, 2.0)])
@pytest.mark.parametrize(
    ("ends", "chain"),
    [(UNIFORM, UNIFORM), (MOSTLY_SMALL, (10.0, 20.0, 30.0)), (SMALL_LARGE, (6.0, 25.0, 30.0))],
)
def test_the_reported_shapes_of_twelve_queries(
    rate: int, overhead: float, ends: tuple[float, ...], chain: tuple[float, ...]
) -> None:
    """Row 15: with a flat router."""
    given = Windows(ends=ends, left_rate=rate, right_rate=rate, matching=0.025)
    assert chain == cpu_opt(given, Costs(overhead=overhead))


def test_a_weight_of_memory_takes_selections_back_in_between_slices() -> None:
    given = Windows(ends=(5.0, 10.0, 30.0), left_rate=1, right_rate=1, matching=0.01, passing=(1.0, 0.2, 0.2))
    light, heavy = Costs(overhead=50), Costs(overhead=50, memory=20)
    assert (30.0,) == cpu_opt(given, light)
    assert kept(given, cpu_opt(given, heavy)) == kept(given, mem_opt(given))
