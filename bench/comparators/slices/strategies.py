"""Four ways to answer joins that differ in their windows and conditions: isolated, pull-up, push-down, slices.

All count comparisons of every kind alike: probes, purge checks, routing, conditions on rows and on results, unions.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from comparators.slices.chain import Chain
from comparators.slices.rows import Condition, Matches, Pair, Row


@dataclass(frozen=True, slots=True)
class Query:
    """A join within `window`, of rows of a that satisfy a condition."""

    window: float
    condition: Condition | None = None


@dataclass(slots=True)
class Ran:
    """What a strategy gave and did."""

    answers: list[Counter[Pair]]
    counts: Counter[str] = field(default_factory=Counter[str])
    kept: float = 0.0
    """Rows in states, on the average once windows are full."""

    @property
    def comparisons(self) -> int:
        """Of all kinds."""
        return sum(self.counts.values())

    @property
    def large(self) -> int:
        """Those that grow with the square of the rate: the published savings leave the others out."""
        return sum(self.counts[kind] for kind in ("probe", "route", "filter", "union results"))


class WindowJoin:
    """The regular join: purge the other side, probe it, insert."""

    def __init__(self, window: float, matches: Matches, counts: Counter[str]) -> None:
        """Count in `counts`."""
        self.window, self.matches, self.counts = window, matches, counts
        self.states: dict[str, deque[Row]] = {"a": deque(), "b": deque()}

    def take(self, row: Row) -> list[Pair]:
        """The pairs that a row makes."""
        other = self.states["b" if row.stream == "a" else "a"]
        self.counts["purge"] += 1
        while other and row.at - other[0].at >= self.window:
            other.popleft()
        self.counts["probe"] += len(other)
        pairs = [(row, kept) if row.stream == "a" else (kept, row) for kept in other]
        self.states[row.stream].append(row)
        return [pair for pair in pairs if self.matches(*pair)]

    def held(self) -> int:
        """Rows in both states."""
        return sum(map(len, self.states.values()))


def isolated(queries: Sequence[Query], rows: Sequence[Row], matches: Matches) -> Ran:
    """A join for each query."""
    ran = Ran([Counter() for _ in queries])
    joins = [WindowJoin(one.window, matches, ran.counts) for one in queries]

    def take(row: Row) -> None:
        for query, join, answer in zip(queries, joins, ran.answers, strict=True):
            if query.condition is not None and row.stream == "a":
                ran.counts["select"] += 1
                if not query.condition(row):
                    continue
            answer.update(join.take(row))

    return _watched(ran, queries, rows, take, lambda: sum(join.held() for join in joins))


def pull_up(queries: Sequence[Query], rows: Sequence[Row], matches: Matches) -> Ran:
    """One join of the longest window; its pairs are routed by age, then looked at by conditions.

    A condition that several queries have is looked at once for a pair.
    """
    ran = Ran([Counter() for _ in queries])
    join = WindowJoin(max(one.window for one in queries), matches, ran.counts)

    def take(row: Row) -> None:
        for pair in join.take(row):
            _route(queries, pair, ran, conditions=True)

    return _watched(ran, queries, rows, take, join.held)


def push_down(queries: Sequence[Query], rows: Sequence[Row], matches: Matches) -> Ran:
    """Rows of a are split by the one condition: those that do not satisfy it meet b only as long as queries without it.

    Each part has a join of its own, with a copy of b. Queries without a condition get a union of both.
    """
    ran = Ran([Counter() for _ in queries])
    condition = next(one.condition for one in queries if one.condition is not None)
    plain = [i for i, one in enumerate(queries) if one.condition is None]
    short = WindowJoin(max(queries[i].window for i in plain), matches, ran.counts)
    long = WindowJoin(max(one.window for one in queries), matches, ran.counts)

    def take(row: Row) -> None:
        first, second = True, True
        if row.stream == "a":
            ran.counts["split"] += 1
            second = condition(row)
            first = not second
        if first:
            for pair in short.take(row):
                for i in plain:
                    ran.counts["union results"] += 1
                    ran.answers[i][pair] += 1
        if second:
            for pair in long.take(row):
                for i in _route(queries, pair, ran, conditions=False):
                    ran.counts["union results"] += i in plain

    return _watched(ran, queries, rows, take, lambda: short.held() + long.held())


def sliced(queries: Sequence[Query], rows: Sequence[Row], matches: Matches, ends: Sequence[float] | None = None) -> Ran:
    """A chain with conditions in between; by default a slice for each window.

    Results of a slice that a query with a condition reads are looked at, unless only such rows reach the slice. In a
    slice in which several windows end, pairs are routed.
    """
    windows = sorted({one.window for one in queries})
    by_window = {one.window: one.condition for one in queries}
    chain = Chain(
        ends or windows, matches, conditions={"a": [by_window[window] for window in windows]}, windows=windows
    )
    ran = Ran([Counter() for _ in queries], chain.counts)

    def end(number: int, _: Row) -> None:
        """A probe leaves a slice: it is the punctuation of a union for each query that reads up to there."""
        mine = chain.slices[number]
        chain.counts["union"] += sum(number > 0 and mine.start < one.window <= mine.end for one in queries)

    chain.left = end

    def take(row: Row) -> None:
        before = len(chain.results)
        chain.arrive(row)
        chain.run()
        for pair, number, _ in chain.results[before:]:
            here = chain.slices[number]
            inner = [one for one in queries if here.start < one.window < here.end]
            age = abs(pair[0].at - pair[1].at)
            chain.counts["route"] += bool(inner)
            reach = [one for one in queries if one.window > here.start]
            mixed = len({one.condition for one in reach}) > 1
            looked = {one.condition for one in reach if one.condition is not None} if mixed else set[Condition]()
            chain.counts["filter"] += len(looked)
            for i, one in enumerate(queries):
                if age < one.window and (one.condition is None or one.condition(pair[0])):
                    ran.answers[i][pair] += 1

    return _watched(ran, queries, rows, take, chain.held)


def _route(queries: Sequence[Query], pair: Pair, ran: Ran, *, conditions: bool) -> list[int]:
    """A comparison finds out which windows a pair is in; then, for each condition, one more."""
    ran.counts["route"] += 1
    age = abs(pair[0].at - pair[1].at)
    near = [i for i, one in enumerate(queries) if age < one.window]
    if conditions:
        ran.counts["filter"] += len({queries[i].condition for i in range(len(queries))} - {None})
        near = [i for i in near if (condition := queries[i].condition) is None or condition(pair[0])]
    for i in near:
        ran.answers[i][pair] += 1
    return near


def _watched(
    ran: Ran, queries: Sequence[Query], rows: Sequence[Row], take: Callable[[Row], None], held: Callable[[], int]
) -> Ran:
    """Run it; what is held is looked at after each row, once the longest window is full, and so is what is compared."""
    full = max(one.window for one in queries)
    before: Counter[str] | None = None
    sizes: list[int] = []
    for row in rows:
        if row.at >= full:
            before = Counter(ran.counts) if before is None else before
            take(row)
            sizes.append(held())
        else:
            take(row)
    if before is not None:
        ran.counts.subtract(before)
    ran.kept = sum(sizes) / len(sizes) if sizes else 0.0
    return ran


STRATEGIES: dict[str, Callable[[Sequence[Query], Sequence[Row], Matches], Ran]] = {
    "isolated": isolated,
    "pull-up": pull_up,
    "push-down": push_down,
    "slices": sliced,
}
