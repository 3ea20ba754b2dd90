"""Chains of slices: where to cut the windows of joins that share, for the least memory or the least work.

N joins with windows w1 < … < wN can be answered by slices `[0, w1), [w1, w2), …`, or by fewer, wider ones whose pairs
are routed to the joins that end inside. A chain is the list of the ends of its slices. What a slice costs does not
depend on the others, so the best chain is a shortest path over the windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

Router = Callable[[int], float]
"""The comparisons that it takes to route a pair, by how many windows end in its slice."""


def flat(ends: int) -> float:
    """One comparison, however many windows end in a slice: pairs are put in order of distance once.

    >>> flat(1), flat(2), flat(9)
    (0, 1, 1)
    """
    return int(ends > 1)


def linear(ends: int) -> float:
    """A comparison for each window but one."""
    return ends - 1


def by_table(ends: int) -> float:
    """A search in a table of windows.

    >>> by_table(1), by_table(2), by_table(9)
    (0, 1, 4)
    """
    return math.ceil(math.log2(ends))


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Windows of joins over the same rows, and how the rows come. The share of rows is by window, the first first."""

    ends: tuple[float, ...]
    """In order, each once."""
    left_rate: float
    right_rate: float
    matching: float
    """The share of pairs in a window that belong together."""
    passing: tuple[float, ...] = ()
    """By window: the share of left rows that some join of this or a longer window asks for; none: all rows."""
    filtered: tuple[int, ...] = ()
    """By window: how many joins that read its pairs ask for fewer rows than are there; none: no join does."""

    def share(self, i: int) -> float:
        """The share of left rows that reach the slice which begins where window i - 1 ends."""
        return self.passing[i] if self.passing else 1.0

    def to_filter(self, i: int) -> int:
        """The joins whose condition must be looked at for each pair of a slice that begins there."""
        return self.filtered[i] if self.filtered else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What work is worth: in comparisons, but for `memory`, which weighs a row kept against them."""

    router: Router = field(default=flat)
    overhead: float = 0.0
    """Of an operator, for each row that passes it."""
    memory: float = 0.0

    def slice(self, windows: Windows, i: int, j: int) -> float:
        """What the slice from the end of window i - 1 to the end of window j - 1 costs, in each unit of time."""
        start = windows.ends[i - 1] if i else 0.0
        width = windows.ends[j - 1] - start
        left, right = windows.share(i) * windows.left_rate, windows.right_rate
        probes = 2 * left * right * width
        pairs = probes * windows.matching
        work = probes + (left + right) * (1 + self.overhead)
        work += pairs * (self.router(j - i) + windows.to_filter(i))
        return work + self.memory * (left + right) * width


def mem_opt(windows: Windows) -> tuple[float, ...]:
    """One slice a window: no row is kept twice, and none longer than a join asks for it.

    >>> mem_opt(Windows(ends=(1, 5), left_rate=1, right_rate=1, matching=0.1))
    (1, 5)
    """
    return windows.ends


def cpu_opt(windows: Windows, costs: Costs) -> tuple[float, ...]:
    """The chain that costs least: with `memory` a compromise between work and rows kept.

    >>> few = Windows(ends=(1, 2, 30), left_rate=20, right_rate=20, matching=0.025)
    >>> cpu_opt(few, Costs()), cpu_opt(few, Costs(overhead=100))
    ((2, 30), (30,))
    """
    best: list[tuple[float, int]] = [(0.0, 0)]
    for j in range(1, len(windows.ends) + 1):
        best.append(min((best[i][0] + costs.slice(windows, i, j), i) for i in range(j)))
    chain: list[float] = []
    j = len(windows.ends)
    while j:
        chain.append(windows.ends[j - 1])
        j = best[j][1]
    return tuple(reversed(chain))


def cost(windows: Windows, chain: Sequence[float], costs: Costs) -> float:
    """What a chain costs."""
    places = [0, *(windows.ends.index(end) + 1 for end in chain)]
    return sum(costs.slice(windows, i, j) for i, j in pairwise(places))


def kept(windows: Windows, chain: Sequence[float]) -> float:
    """The rows that the slices of a chain keep.

    >>> kept(Windows(ends=(1, 5), left_rate=2, right_rate=3, matching=0.1), (1, 5))
    25.0
    """
    places = [0, *(windows.ends.index(end) + 1 for end in chain)]
    starts = [0.0, *windows.ends]
    return sum(
        (windows.share(i) * windows.left_rate + windows.right_rate) * (starts[j] - starts[i])
        for i, j in pairwise(places)
    )
