"""What a strategy costs, and which one `auto` takes.

The published model counts updates for each window result. There are T rows per window, P panes per window, k panes per
slide and G groups per pane. A row reduced costs 1, a pane's partial written costs 1 per group, a partial combined
costs 1. Then, for one window result:

    wid           T                    every row updates each of its windows
    paned         k·(T/P + G) + P·G    panes once, then all of a window's panes
    differential  k·(T/P + G) + 2k·G   panes once, then those that enter and leave

The published model counts one pane per result; with more than one pane per slide its first terms are k times that.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """What the first rows showed."""

    rows: int
    panes: int
    cells: int
    """(group, pane) pairs that hold a row."""
    groups: int = 1
    """Groups that hold a row."""

    @property
    def rows_per_pane(self) -> float:
        """Rows that fall in a pane."""
        return self.rows / max(1, self.panes)

    @property
    def groups_per_pane(self) -> float:
        """Groups that show up in a pane."""
        return self.cells / max(1, self.panes)

    def groups_in(self, panes: int) -> float:
        """Groups that show up in so many panes together, if every pane draws from the same groups.

        >>> few, many = (Statistics(rows=100, panes=10, cells=40, groups=n) for n in (4, 40))
        >>> round(few.groups_in(100)), round(many.groups_in(100))
        (4, 400)
        """
        drawn = self.groups_per_pane * panes
        if self.groups >= 0.95 * self.cells:  # hardly a group was seen twice: how many there are is not known
            return drawn
        low, high = float(self.groups), float(self.groups) * max(1, self.cells)
        for _ in range(60):  # the number of groups of which so many draws would show those that were seen
            middle = (low + high) / 2
            low, high = (middle, high) if _distinct(middle, self.cells) < self.groups else (low, middle)
        return min(drawn, max(_distinct(low, drawn), min(drawn, float(self.groups))))


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a strategy costs for each slide of a window: time in units of a row, and rows and partials in memory."""

    time: float
    state: float


def weighed(statistics: Statistics, *, length: int, step: int) -> dict[str, Cost]:
    """Time and state of each strategy, as our kernels were measured (ADR 14): the model that `auto` goes by.

    The published model charges `paned` every pane of a window for every result. Our combine looks at each pane once,
    whatever the length of windows, so that results and not panes decide; and all that is kept is merged as it grows, so
    that the many partials of `wid` cost time, too. The rows of a slide are in memory anyway when they come, so they
    are in every strategy's state: partials that are few beside them decide nothing.

    >>> sparse = weighed(Statistics(rows=1000, panes=1000, cells=1000, groups=1000), length=60, step=1)
    >>> round(sparse["wid"].state / sparse["paned"].state), sparse["differential"].time < sparse["paned"].time
    (59, True)
    """
    rows, cells = statistics.rows_per_pane, statistics.groups_per_pane
    answers = statistics.groups_in(length)
    come, kept = step * rows, cells * length
    return {
        "paned": Cost(time=step * (2 * rows + cells) + answers, state=come + kept),
        "differential": Cost(time=step * (2 * rows + 6 * cells) + 0.6 * answers, state=come + kept + 0.2 * answers),
        "wid": Cost(time=2 * length * (rows + cells), state=come + answers * length / step),
    }


def choose(statistics: Statistics, *, length: int, step: int, differential: bool, holistic: bool) -> Choice:
    """The strategy that is nearest to the best in whichever it is worse at, time or state.

    >>> seen = Statistics(rows=20, panes=1, cells=1, groups=1)
    >>> choose(seen, length=5, step=1, differential=True, holistic=False).strategy
    'paned'
    """
    seen = (
        f"{statistics.rows_per_pane:.3g} rows and {statistics.groups_per_pane:.3g} groups per pane, "
        f"{length} panes per window, {step} per slide"
    )
    if holistic and statistics.cells > 0.5 * statistics.rows and length > 1:
        return Choice(strategy="buffered", reason=f"values cannot be folded and panes save nothing: {seen}")
    cost = weighed(statistics, length=length, step=step)
    if not differential:
        del cost["differential"]
    if length == step:  # panes are windows, and closing some of them takes `paned` less time than `wid`
        del cost["wid"]
    worst = _worst(cost)
    best = min(worst, key=lambda name: worst[name])
    return Choice(strategy=best, reason=f"times the best in time or state: {_shown(worst)}; {seen}")


def better(statistics: Statistics, now: str, *, length: int, step: int) -> Choice | None:
    """Another choice between `paned` and `differential`, if it is so much better that changing pays.

    >>> dense = Statistics(rows=20_000, panes=2, cells=2, groups=1)
    >>> better(dense, "differential", length=5, step=1) is None
    True
    """
    cost = weighed(statistics, length=length, step=step)
    del cost["wid"]
    if now not in cost:
        return None
    worst = _worst(cost)
    best = min(worst, key=lambda name: worst[name])
    if worst[now] < _CHANGE * worst[best]:
        return None
    return Choice(strategy=best, reason=f"changed from {now}; times the best in time or state: {_shown(worst)}")


_CHANGE = 1.15
"""How much better another strategy must look before an operator changes."""


def _worst(cost: Mapping[str, Cost]) -> dict[str, float]:
    """How far each is from the best, in time or in state, whichever is farther."""
    time, state = (max(1e-9, min(getattr(one, what) for one in cost.values())) for what in ("time", "state"))
    return {name: max(one.time / time, one.state / state) for name, one in cost.items()}


def several(windows: int) -> Choice:
    """More than one window on the same rows: whatever the rows, panes are reduced once for all.

    >>> several(2).strategy
    'paned'
    """
    return Choice(strategy="paned", reason=f"{windows} windows share one set of panes")


def _distinct(groups: float, draws: float) -> float:
    """How many of so many groups show up in so many draws."""
    return groups * -math.expm1(draws * math.log1p(-1 / groups)) if groups > 1 else 1.0


def _shown(cost: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {value:.3g}" for name, value in cost.items())
