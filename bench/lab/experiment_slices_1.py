"""Sliced joins 6.1: what slices save beside pull-up and push-down, by formula, over windows and selectivities.

Published: all savings are positive; at the corners half of the rows, and nearly all comparisons beside pull-up.
"""

from __future__ import annotations

from itertools import product

from comparators.slices.formulas import (
    compared_less_than_pull_up,
    compared_less_than_push_down,
    kept_less_than_pull_up,
    kept_less_than_push_down,
)
from lab.outcome import Outcome, Panel, Verdict

MATCHING = (0.025, 0.1, 0.4)


def run(scale: float) -> Outcome:
    """A grid, finer with the scale; and the corners."""
    steps = max(10, int(100 * scale))
    grid = [i / steps for i in range(1, steps)]
    savings = {
        "rows ÷ pull-up": [kept_less_than_pull_up(r, s) for r, s in product(grid, grid)],
        "rows ÷ push-down": [kept_less_than_push_down(r, s) for r, s in product(grid, grid)],
    }
    for matching in MATCHING:
        savings[f"comparisons ÷ pull-up, {matching} match"] = [
            compared_less_than_pull_up(r, s, matching) for r, s in product(grid, grid)
        ]
        savings[f"comparisons ÷ push-down, {matching} match"] = [
            compared_less_than_push_down(r, s, matching) for r, s in product(grid, grid)
        ]
    least = min(min(some) for some in savings.values())
    tiny = 1e-6
    rows, compared = kept_less_than_pull_up(tiny, tiny), compared_less_than_pull_up(tiny, tiny, tiny)
    return Outcome(
        title=f"savings of slices by formula, {len(grid)} ratios of windows and as many selectivities",
        columns=["what", "least saved", "most saved", "mean"],
        rows=[[name, min(some), max(some), sum(some) / len(some)] for name, some in savings.items()],
        panels=[
            Panel(
                title="rows saved, windows 1 to 3",
                x="selectivity",
                y="share",
                lines={
                    "beside pull-up": [(s, kept_less_than_pull_up(1 / 3, s)) for s in grid],
                    "beside push-down": [(s, kept_less_than_push_down(1 / 3, s)) for s in grid],
                },
            )
        ],
        verdicts=[
            Verdict(
                claim="slices 6.1",
                published="no saving is negative",
                found=f"the least is {least:.4f}",
                agrees=least >= 0,
                why="" if least >= 0 else "the formulas are not those of the specification.",
            ),
            Verdict(
                claim="slices 6.1",
                published="at the corner 50 % of the rows and 100 % of the comparisons of pull-up",
                found=f"{rows:.1%} and {compared:.1%}",
                agrees=abs(rows - 0.5) < 1e-3 and abs(compared - 1) < 1e-3,
                why="" if abs(compared - 1) < 1e-3 else "the formulas are not those of the specification.",
            ),
        ],
        notes=["comparisons that grow only with the rate are left out, as published"],
    )
