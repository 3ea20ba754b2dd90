"""A chain of sliced joins over queues: rows age from slice to slice, and probes follow them.

Each row has two copies. The *build* copy is stored, and is handed on when a probe finds it too old for the slice. The
*probe* copy meets what the slice has, and is handed on after all that it made too old. One queue between two slices
keeps that order, so slices may run in any order at all.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, NamedTuple

from comparators.slices.rows import Condition, Matches, Pair, Row, everything, inside

Copy = Literal["build", "probe"]


class Item(NamedTuple):
    """What is in a queue: a copy of a row, and the window that it serves last."""

    copy: Copy
    row: Row
    serves: float


class Result(NamedTuple):
    """A pair, the slice that made it, and the probe."""

    pair: Pair
    slice: int
    probe: Row


@dataclass(slots=True)
class Slice:
    """A sliced join: the rows of both streams whose age is from `start` to `end`."""

    start: float
    end: float
    states: dict[str, deque[tuple[Row, float]]] = field(default_factory=lambda: {"a": deque(), "b": deque()})
    queue: deque[Item] = field(default_factory=deque[Item])

    def rows(self, stream: str) -> list[Row]:
        """What it stores, the oldest first."""
        return [row for row, _ in self.states[stream]]


class Chain:
    """Slices that end where windows end. With `by_count`, windows are of so many rows."""

    def __init__(
        self,
        ends: Sequence[float],
        matches: Matches = everything,
        *,
        conditions: Mapping[str, Sequence[Condition | None]] | None = None,
        closed: bool = False,
        by_count: bool = False,
        windows: Sequence[float] | None = None,
    ) -> None:
        """`conditions` has, by stream, one for each of the `windows` of the queries, which slices may join or cut."""
        self.slices = [Slice(start, end) for start, end in pairwise((0, *ends))]
        self.windows = tuple(ends if windows is None else windows)
        self.matches, self.closed, self.by_count = matches, closed, by_count
        self.conditions = conditions or {}
        self.results: list[Result] = []
        self.counts: Counter[str] = Counter()
        self.left: Callable[[int, Row], None] = lambda _slice, _probe: None
        """Told when a probe has met all that a slice has."""
        self.made: Callable[[Result], None] = lambda _: None
        self._known: dict[tuple[Row, int], bool] = {}

    # --- rows --------------------------------------------------------------------------------------

    def holds(self, row: Row, query: int) -> bool:
        """Does a row satisfy the condition of a query? It is looked at once for each row and query."""
        conditions = self.conditions.get(row.stream)
        condition = None if conditions is None else conditions[query]
        if condition is None:
            return True
        if (row, query) not in self._known:
            self.counts["select"] += 1
            self._known[row, query] = condition(row)
        return self._known[row, query]

    def lineage(self, row: Row) -> float:
        """The longest window that a row is asked for in; 0 if in none. The longest is looked at first."""
        found = (w for i, w in reversed(list(enumerate(self.windows))) if self.holds(row, i))
        return next(found, 0)

    def arrive(self, row: Row, copies: Iterable[Copy] = ("probe", "build")) -> None:
        """A row comes, as both copies: its probe goes first, so that it does not meet its own stream's later rows."""
        serves = self.lineage(row)
        if serves:
            self.slices[0].queue.extend(Item(copy, row, serves) for copy in copies)

    def step(self, number: int) -> bool:
        """Let a slice take one item from its queue; False if there is none."""
        mine = self.slices[number]
        if not mine.queue:
            return False
        item = mine.queue.popleft()
        if item.copy == "build":
            mine.states[item.row.stream].append((item.row, item.serves))
            if self.by_count and len(mine.states[item.row.stream]) > mine.end - mine.start:
                self._hand_on(number, "build", *mine.states[item.row.stream].popleft())
        else:
            self._probe(number, item)
        return True

    def _probe(self, number: int, item: Item) -> None:
        mine, row = self.slices[number], item.row
        other = mine.states["b" if row.stream == "a" else "a"]
        if not self.by_count:
            self.counts["purge"] += 1
            while other and not inside(row.at - other[0][0].at, mine.end, closed=self.closed):
                self._hand_on(number, "build", *other.popleft())
        for kept, _ in other:
            self.counts["probe"] += 1
            pair = (row, kept) if row.stream == "a" else (kept, row)
            if self.matches(*pair):
                self.results.append(Result(pair, number, row))
                self.made(self.results[-1])
        self._hand_on(number, "probe", row, item.serves)
        self.left(number, row)

    def _hand_on(self, number: int, copy: Copy, row: Row, serves: float) -> None:
        """To the next slice, if it is there and some query that asks for the row reads it."""
        if number + 1 < len(self.slices) and self.slices[number + 1].start < serves:
            self.slices[number + 1].queue.append(Item(copy, row, serves))

    def live(self) -> list[int]:
        """The slices that have something to do."""
        return [i for i, one in enumerate(self.slices) if one.queue]

    def run(self, choose: Callable[[list[int]], int] = min) -> None:
        """Let slices run, in the order that somebody chooses, until there is nothing to do."""
        while live := self.live():
            self.step(choose(live))

    def held(self) -> int:
        """Rows in states; queues are not counted."""
        return sum(len(state) for one in self.slices for state in one.states.values())

    # --- other slices while it runs ----------------------------------------------------------------

    def split(self, number: int, end: float) -> None:
        """Cut a slice: what is too old for its first half goes on with the next probes, and nothing is moved now."""
        mine = self.slices[number]
        assert mine.start < end < mine.end
        self.slices.insert(number + 1, Slice(end, mine.end))
        mine.end = end

    def merge(self, number: int, *, drain: bool = True) -> None:
        """Make one slice of two. What waits between them must have been taken: without `drain` it is lost."""
        while drain and self.step(number + 1):
            pass
        mine, older = self.slices[number], self.slices.pop(number + 1)
        for stream, state in mine.states.items():
            state.extendleft(reversed(older.states[stream]))
        mine.end = older.end

    # --- queries -----------------------------------------------------------------------------------

    def answers(self, query: int) -> Counter[Pair]:
        """The pairs of a query, routed by their age: slices may have been cut or joined meanwhile."""
        width = self.windows[query]
        near = (one.pair for one in self.results if self._near(one, width))
        return Counter(pair for pair in near if all(self.holds(row, query) for row in pair))

    def _near(self, one: Result, width: float) -> bool:
        if self.by_count:
            return self.slices[one.slice].end <= width
        return inside(abs(one.pair[0].at - one.pair[1].at), width, closed=self.closed)
