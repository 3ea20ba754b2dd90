"""What sharing strategies cost, by formula: two queries of windows w1 < w2, the second with a condition on stream a.

Rows come at one rate in both streams. Costs are rows kept, and comparisons in each unit of time. Where the published
formulas were wrong, the corrected ones are here; see `tree.py` for the case study of join trees.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """Two queries, and how rows come."""

    rate: float
    short: float
    long: float
    passing: float
    """The share of rows of a that satisfy the condition."""
    matching: float
    """The share of pairs that belong together."""

    @property
    def ratio(self) -> float:
        """Of the windows."""
        return self.short / self.long


@dataclass(frozen=True, slots=True)
class Cost:
    """Rows kept; comparisons that grow with the square of the rate; and those that grow with the rate."""

    kept: float
    large: float
    small: float


def pull_up(one: Setting) -> Cost:
    """One join of the long window, a router, and the condition on its results.

    >>> pull_up(Setting(rate=10, short=1, long=2, passing=0.5, matching=0.1))
    Cost(kept=40, large=480.0, small=20)
    """
    probes = 2 * one.rate**2 * one.long
    return Cost(2 * one.rate * one.long, probes * (1 + 2 * one.matching), 2 * one.rate)


def push_down(one: Setting) -> Cost:
    """Stream a is split; each part has a join with all of b."""
    s, square = one.passing, 2 * one.rate**2
    probes = square * ((1 - s) * one.short + s * one.long)
    routed = square * one.matching * (s * one.long + one.short)
    kept = one.rate * ((2 - s) * one.short + (1 + s) * one.long)
    return Cost(kept, probes + routed, 4 * one.rate)


def sliced(one: Setting) -> Cost:
    """Two slices with the condition in between. Of purge checks there are (3 + passing) times the rate."""
    s, square = one.passing, 2 * one.rate**2
    probes = square * (one.short + s * (one.long - one.short))
    kept = one.rate * (2 * one.short + (1 + s) * (one.long - one.short))
    return Cost(kept, probes + square * one.matching * one.short, one.rate * (1 + (3 + s) + (1 + s)))


def kept_less_than_pull_up(ratio: float, passing: float) -> float:
    """The share of rows that slices need not keep.

    >>> round(kept_less_than_pull_up(1 / 3, 0.2), 4)
    0.2667
    """
    return (1 - ratio) * (1 - passing) / 2


def kept_less_than_push_down(ratio: float, passing: float) -> float:
    """The same beside the other strategy.

    >>> round(kept_less_than_push_down(1 / 3, 0.2), 4)
    0.1852
    """
    return ratio / (1 + 2 * ratio + (1 - ratio) * passing)


def compared_less_than_pull_up(ratio: float, passing: float, matching: float) -> float:
    """The share of large comparisons that slices need not make."""
    return ((1 - ratio) * (1 - passing) + (2 - ratio) * matching) / (1 + 2 * matching)


def compared_less_than_push_down(ratio: float, passing: float, matching: float) -> float:
    """The same beside the other strategy."""
    return passing * matching / (ratio * (1 - passing) + passing + passing * matching + ratio * matching)
