"""Sharing: how much of their state queries have in common. Answers are the same; work and rows kept are not.

The engine shares what it can. To measure what that is worth, or to keep queries apart, another strategy can be forced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.core.domain import Domain
from millstream.core.errors import PlanError, nearest
from millstream.plan.chain import Costs, Windows, cpu_opt

AUTO, ISOLATED, PULL_UP, MEM_OPT, CPU_OPT = STRATEGIES = ("auto", "isolated", "pull-up", "mem-opt", "cpu-opt")
Asked = tuple[int, bool]
"""Of a join and one of its sides: how far the last partner lies above a row, and whether it asks for all rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """Which strategy; and for `cpu-opt`, what the cost model must know of the rows."""

    strategy: str = AUTO
    rate: float = 1000.0
    """Rows of each side in a second, or in a unit of an attribute that is no time."""
    matching: float = 0.001
    """The share of pairs in a window that belong together."""
    passing: float = 0.5
    """The share of rows that satisfy a condition."""
    overhead: float = 100.0
    """What a slice costs for each row that passes it, in comparisons."""
    memory: float = 0.0
    """What a row kept costs in each unit of time, in comparisons."""

    def __post_init__(self) -> None:
        """Refuse a strategy that there is not, and numbers that are none."""
        if self.strategy not in STRATEGIES:
            raise PlanError(f"there is no sharing {self.strategy!r}", hint=nearest(str(self.strategy), STRATEGIES))
        if min(self.rate, self.matching, self.passing, self.overhead, self.memory) < 0:
            raise PlanError("rates, shares and costs of sharing are not negative", hint="Give 0 or more.")

    @property
    def together(self) -> bool:
        """Do queries share state?"""
        return self.strategy != ISOLATED

    def ends(self, asked: Sequence[Asked], domain: Domain) -> tuple[int, ...]:
        """Where slices end in which a store keeps the rows of one side; the rows of a join stay to the end of a slice.

        >>> from millstream.core.domain import Kind
        >>> asked, ticks = [(1, True), (2, True), (30, True)], Domain(kind=Kind.INTEGER)
        >>> Sharing().ends(asked, ticks), Sharing(strategy="pull-up").ends(asked, ticks)
        ((1, 2, 30), (30,))
        >>> Sharing(strategy="cpu-opt", rate=20, matching=0.025, overhead=0.3).ends(asked, ticks)
        (2, 30)
        """
        lasts = sorted({last for last, _ in asked})
        if self.strategy == PULL_UP:
            return (lasts[-1],)
        if self.strategy != CPU_OPT or len(lasts) == 1:
            return tuple(lasts)
        base = min(0, lasts[0] - 1)
        ends = {domain.seconds(last - base) or float(last - base): last for last in lasts}
        whole = [any(every for other, every in asked if other >= last) for last in lasts]
        some = [sum(not every for other, every in asked if other >= last) for last in lasts]
        windows = Windows(
            ends=tuple(ends),
            left_rate=self.rate,
            right_rate=self.rate,
            matching=self.matching,
            passing=tuple(1.0 if every else self.passing for every in whole),
            filtered=tuple(number if every else 0 for number, every in zip(some, whole, strict=True)),
        )
        chain = cpu_opt(windows, Costs(overhead=self.overhead, memory=self.memory))
        return tuple(ends[end] for end in chain)

    def why(self, slices: int, windows: int) -> str:
        """What was chosen for a store, and why."""
        match self.strategy:
            case "pull-up":
                return "as asked: every row stays as long as the widest join asks, and conditions are looked at by pair"
            case "cpu-opt":
                return f"as asked: {slices} of {windows} slices, which cost the least comparisons"
            case "mem-opt":
                return f"as asked: {slices} slices, one for each window, keep the fewest rows"
            case _:
                return ""


def sharing_of(given: str | Sharing) -> Sharing:
    """What a user may say: a strategy by its name, or with figures.

    >>> sharing_of("isolated").together
    False
    """
    return given if isinstance(given, Sharing) else Sharing(strategy=given)
