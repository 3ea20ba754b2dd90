"""What sharing strategies cost: formulas beside counted runs, the reported tables, and the case study of join trees."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from comparators.slices import formulas, tree
from comparators.slices.formulas import Cost, Setting
from comparators.slices.rows import Marked, Share, poisson
from comparators.slices.strategies import STRATEGIES, Query, Ran, sliced
from comparators.slices.tree import Tree
from millstream.plan.chain import Costs, Windows, cpu_opt, mem_opt

SETTING = Setting(rate=40, short=2, long=6, passing=0.5, matching=0.1)
SECONDS = 30.0


@pytest.fixture(scope="module")
def ran() -> dict[str, Ran]:
    """Two queries, the second with a condition, by each strategy over the same rows."""
    rows = poisson(random.Random(5), SETTING.rate, SECONDS)
    queries = [Query(SETTING.short), Query(SETTING.long, Marked(SETTING.passing))]
    return {name: run(queries, rows, Share(SETTING.matching)) for name, run in STRATEGIES.items()}


@pytest.mark.parametrize(
    ("strategy", "formula"),
    [("pull-up", formulas.pull_up), ("push-down", formulas.push_down), ("slices", formulas.sliced)],
)
def test_what_is_counted_is_what_the_formula_says(
    strategy: str, formula: Callable[[Setting], Cost], ran: dict[str, Ran]
) -> None:
    """Rows 9, 10 and 12."""
    cost, counted = formula(SETTING), ran[strategy]
    seconds = SECONDS - SETTING.long
    assert counted.kept == pytest.approx(cost.kept, rel=0.05)
    assert counted.large / seconds == pytest.approx(cost.large, rel=0.05)
    assert (counted.comparisons - counted.large) / seconds == pytest.approx(cost.small, rel=0.05)


def test_the_four_savings_match_counted_runs(ran: dict[str, Ran]) -> None:
    """Row 13, within five points of a hundred."""
    ratio, passing, matching = SETTING.ratio, SETTING.passing, SETTING.matching
    mine = ran["slices"]
    for other, kept, compared in (
        (
            "pull-up",
            formulas.kept_less_than_pull_up(ratio, passing),
            formulas.compared_less_than_pull_up(ratio, passing, matching),
        ),
        (
            "push-down",
            formulas.kept_less_than_push_down(ratio, passing),
            formulas.compared_less_than_push_down(ratio, passing, matching),
        ),
    ):
        assert 1 - mine.kept / ran[other].kept == pytest.approx(kept, abs=0.05)
        assert 1 - mine.large / ran[other].large == pytest.approx(compared, abs=0.05)


@pytest.mark.parametrize("ratio", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("passing", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("matching", [0.0, 0.1, 0.4])
def test_savings_are_differences_of_costs(ratio: float, passing: float, matching: float) -> None:
    one = Setting(rate=100, short=10 * ratio, long=10, passing=passing, matching=matching)
    up, down, mine = formulas.pull_up(one), formulas.push_down(one), formulas.sliced(one)
    assert 1 - mine.kept / up.kept == pytest.approx(formulas.kept_less_than_pull_up(ratio, passing))
    assert 1 - mine.kept / down.kept == pytest.approx(formulas.kept_less_than_push_down(ratio, passing))
    assert 1 - mine.large / up.large == pytest.approx(formulas.compared_less_than_pull_up(ratio, passing, matching))
    assert 1 - mine.large / down.large == pytest.approx(formulas.compared_less_than_push_down(ratio, passing, matching))


WINDOWS = {"mostly small": (5, 10, 30), "uniform": (10, 20, 30), "mostly large": (20, 25, 30)}
KEPT = {
    (0.2, "mostly small"): (33.3, 11.1), (0.2, "uniform"): (26.7, 18.5), (0.2, "mostly large"): (13.3, 27.8),
    (0.5, "mostly small"): (20.8, 9.5), (0.5, "uniform"): (16.7, 16.7), (0.5, "mostly large"): (8.3, 26.7),
    (0.8, "mostly small"): (8.3, 8.3), (0.8, "uniform"): (6.7, 15.2), (0.8, "mostly large"): (3.3, 25.6),
}  # fmt: skip
"""By selectivity and windows: how much less slices keep than pull-up and than push-down, in hundredths (table 6.3)."""


@pytest.mark.parametrize(("passing", "name"), KEPT)
def test_the_table_of_rows_kept(passing: float, name: str) -> None:
    ratio = WINDOWS[name][0] / WINDOWS[name][-1]
    found = formulas.kept_less_than_pull_up(ratio, passing), formulas.kept_less_than_push_down(ratio, passing)
    assert KEPT[passing, name] == tuple(round(100 * one, 1) for one in found)


@pytest.mark.parametrize(("matching", "up", "down"), [(0.025, 36, 2), (0.1, 42, 7), (0.4, 56, 20)])
def test_the_table_of_comparisons(matching: float, up: int, down: int) -> None:
    assert up == round(100 * formulas.compared_less_than_pull_up(1 / 3, 0.5, matching))
    assert down == round(100 * formulas.compared_less_than_push_down(1 / 3, 0.5, matching))


def test_a_slice_for_each_window_keeps_what_the_longest_needs() -> None:
    """Row 12, without conditions, by counting."""
    rows = poisson(random.Random(3), 30, 20)
    ran = sliced([Query(1), Query(3), Query(5)], rows, Share(0.05))
    assert ran.kept == pytest.approx(2 * 30 * 5, rel=0.05)


def test_chains_by_cost_keep_as_much_or_more_and_compare_less() -> None:
    """Rows 14, 15 and 17, by counting: an operator is worth so many comparisons for each row that passes it."""
    rows = poisson(random.Random(3), 20, 20)
    ends = (1.0, 2.0, 3.0, 6.0)
    given = Windows(ends=ends, left_rate=20, right_rate=20, matching=0.01)
    overhead = 5.0
    chain = cpu_opt(given, Costs(overhead=overhead))
    queries = [Query(one) for one in ends]
    all_slices, few_slices = (sliced(queries, rows, Share(0.01), one) for one in (mem_opt(given), chain))
    assert len(chain) < len(ends)
    assert few_slices.answers == all_slices.answers
    assert few_slices.kept == pytest.approx(all_slices.kept, rel=0.01)

    def work(ran: Ran) -> float:
        return ran.comparisons - ran.counts["union"] + overhead * ran.counts["purge"]

    assert work(few_slices) < work(all_slices)


# --- row 21: join trees -------------------------------------------------------------------------------


def test_the_table_of_the_case_study_to_the_last_digit() -> None:
    base = Tree()
    kept = sum(tree.isolated_kept(base)), tree.pulled_up_kept(base), sum(tree.sliced_kept(base).values())
    compared = sum(tree.isolated_compared(base)), tree.pulled_up_compared(base), tree.sliced_compared(base)
    assert ("2329.175", "6484.5", "2308.21") == (f"{kept[0]:.3f}", f"{kept[1]:.1f}", f"{kept[2]:.2f}")
    assert ("5820.89", "27227.88", "6422.66") == tuple(f"{one:.2f}" for one in compared)


@pytest.mark.parametrize("m", [0.2, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("n", [0.2, 0.5, 0.8, 1.0])
def test_the_sweep_of_the_case_study(m: float, n: float) -> None:
    """Kept: to the terms of pairs. Compared: the corrected numerator, and never less than isolated."""
    one = Tree.at(m, n)
    kept = sum(tree.sliced_kept(one).values())
    assert kept / sum(tree.isolated_kept(one)) == pytest.approx(1 - 840 * m * n / (1500 * (m + n)), abs=0.01)
    assert kept / tree.pulled_up_kept(one) == pytest.approx((1500 * (m + n) - 840 * m * n) / 2160, abs=0.01)
    found, alone = tree.sliced_compared(one), sum(tree.isolated_compared(one))
    assert found / 60 == pytest.approx(41.11 * m * n + 206.33 * m + 206.25 * n + 0.1375, rel=0.001)
    assert 1.0 <= tree.sliced_compared(one, by_result=False) / alone <= 1.05
    assert 1.05 <= found / alone <= 1.21
    assert found / tree.pulled_up_compared(one) <= 1.01
