"""What a strategy costs, in updates a window result, and which one that makes the cheapest.

T rows a window, P panes a window, k panes a slide, G groups a pane; a row reduced costs 1, a pane's partial
written costs 1 a group, a partial combined costs 1. Then, for one window result:

    wid           T                    every row updates each of its windows
    paned         k·(T/P + G) + P·G    panes once, then all of a window's panes
    differential  k·(T/P + G) + 2k·G   panes once, then those that enter and leave

The published model counts one pane a result; with more than one pane a slide its first terms are k times that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What the first rows showed."""

    rows: int
    panes: int
    cells: int
    """(group, pane) pairs that hold a row."""

    @property
    def rows_per_pane(self) -> float:
        """Rows that fall in a pane."""
        return self.rows / max(1, self.panes)

    @property
    def groups_per_pane(self) -> float:
        """Groups that show up in a pane."""
        return self.cells / max(1, self.panes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A strategy, and why."""

    strategy: str
    reason: str


def costs(*, rows_per_pane: float, groups_per_pane: float, length: int, step: int) -> dict[str, float]:
    """Updates a window result for each strategy; `length` and `step` are the window's in panes.

    >>> cost = costs(rows_per_pane=20, groups_per_pane=1, length=5, step=1)
    >>> cost["paned"] / cost["wid"]
    0.26
    """
    panes = step * (rows_per_pane + groups_per_pane)
    return {
        "wid": rows_per_pane * length,
        "paned": panes + length * groups_per_pane,
        "differential": panes + 2 * step * groups_per_pane,
    }


def choose(statistics: Statistics, *, length: int, step: int, differential: bool, holistic: bool) -> Choice:
    """The cheapest strategy for what was seen.

    >>> choose(Statistics(rows=20, panes=1, cells=1), length=1, step=1, differential=True, holistic=False).strategy
    'wid'
    """
    cost = costs(
        rows_per_pane=statistics.rows_per_pane,
        groups_per_pane=statistics.groups_per_pane,
        length=length,
        step=step,
    )
    if not differential:
        del cost["differential"]
    seen = (
        f"{statistics.rows_per_pane:.3g} rows and {statistics.groups_per_pane:.3g} groups a pane, "
        f"{length} panes a window, {step} a slide"
    )
    if holistic and statistics.cells > 0.5 * statistics.rows and length > 1:
        return Choice(strategy="buffered", reason=f"values cannot be folded and panes save nothing: {seen}")
    best = min(cost, key=lambda name: cost[name])
    return Choice(strategy=best, reason=f"updates a result {_shown(cost)}; {seen}")


def several(windows: int) -> Choice:
    """More than one window on the same rows: whatever the rows, panes are reduced once for all.

    >>> several(2).strategy
    'paned'
    """
    return Choice(strategy="paned", reason=f"{windows} windows share one set of panes")


def _shown(cost: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.4g}" for name, value in cost.items())
