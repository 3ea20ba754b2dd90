"""PSP: a ring of nodes that each hold one slice of every stream; rows go round, and so does what they find.

Links are queues, and any node that has a message may be next: nothing else orders the nodes. Section 3.3 and 3.4 of the
specification; PSP-I (`interleaved`) and PSP-D (`dynamic`) change what a node keeps and when.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from comparators.ring.rows import Agree, Found, Partial, RingRow, near_values


@dataclass(frozen=True, slots=True)
class Build:
    """A row that moves on to the next slice."""

    row: RingRow


@dataclass(frozen=True, slots=True)
class Probing:
    """A row on its way past all nodes; `left` of them are still ahead. `safe` is the oldest row under way."""

    number: int
    row: RingRow
    head: int
    left: int
    safe: float


@dataclass(frozen=True, slots=True)
class Inter:
    """A partial combination on its way round; without one, it is a bare END."""

    number: int
    row: RingRow
    head: int
    there: Partial | None
    origin: int
    end: bool
    depth: int


@dataclass(frozen=True, slots=True)
class Done:
    """A row's cycle is over: what was kept for it may go."""

    number: int
    row: RingRow
    left: int


Message = Build | Probing | Inter | Done


class Ring:
    """The sequential ring: a row enters when the cycle of the one before is over."""

    concurrent = 1

    def __init__(
        self,
        windows: Sequence[float],
        nodes: int,
        rnd: random.Random,
        *,
        orders: Sequence[Sequence[int]] | None = None,
        agree: Agree = near_values,
        wait: bool = True,
    ) -> None:
        """`orders` are by stream; without `wait`, rows enter although others are under way, which is wrong."""
        self.windows, self.nodes, self.rnd, self.agree, self.wait = list(windows), nodes, rnd, agree, wait
        self.streams = len(windows)
        every = range(self.streams)
        self.orders = [list(one) for one in orders or ([o for o in every if o != s] for s in every)]
        if orders is None:
            for one in self.orders:
                rnd.shuffle(one)
        self.links: list[deque[Message]] = [deque() for _ in range(nodes)]
        self.state: list[list[list[RingRow]]] = [[[] for _ in every] for _ in range(nodes)]
        self.under_way: dict[int, RingRow] = {}
        self.found: Found = Counter()
        self.hops: Counter[str] = Counter()
        self.most = self.ends = self.inserted = self.purged = 0

    def run(self, rows: Iterable[RingRow]) -> Found:
        """Take all rows, in an order of events that is drawn at random."""
        waiting = deque(enumerate(rows))
        while True:
            live = [i for i in range(self.nodes) if self.links[i]]
            may = bool(waiting) and self.admits(live)
            if not live and not may:
                return self.found
            if may and (not live or self.rnd.random() < 0.5):
                self.enter(*waiting.popleft())
            elif live:
                self.step(self.rnd.choice(live))
            self.most = max(self.most, self.kept)
            self.ends = max(self.ends, self._ends_alive())

    @property
    def kept(self) -> int:
        """Rows on all nodes."""
        return sum(len(rows) for node in self.state for rows in node)

    def admits(self, live: Sequence[int]) -> bool:
        """May the next row enter?"""
        return len(self.under_way) < self.concurrent or not self.wait

    def _ends_alive(self) -> int:
        alive = Counter(one.number for link in self.links for one in link if isinstance(one, Inter) and one.end)
        return max(alive.values(), default=0)

    # --- what differs between rings

    def head(self, row: RingRow) -> int:
        """The node where a row enters."""
        return 0

    def low(self, node: int, stream: int) -> float:
        """Where a node's slice of a stream begins."""
        return self.windows[stream] * node / self.nodes

    def high(self, node: int, stream: int) -> float:
        """Where it ends."""
        return self.windows[stream] * (node + 1) / self.nodes

    def insert(self, row: RingRow) -> None:
        """Keep a new row."""
        self.state[0][row.stream].append(row)
        self.inserted += 1

    def purge(self, node: int, row: RingRow, safe: float) -> None:
        """Rows of every stream that are too old for the slice move on, before the row that shows it."""
        for stream in range(self.streams):
            held = self.state[node][stream]
            while held and row.at - held[0].at >= self.high(node, stream):
                self._pass_on(node, held.pop(0))

    def candidates(self, node: int, stream: int, row: RingRow) -> list[RingRow]:
        """The rows of a slice that a row under way may meet."""
        return [one for one in self.state[node][stream] if one.at < row.at]

    def over(self, number: int, row: RingRow) -> None:
        """A row's cycle is over."""

    # --- messages

    def enter(self, number: int, row: RingRow) -> None:
        """A row enters at its head."""
        head = self.head(row)
        self.under_way[number] = row
        safe = min(one.at for one in self.under_way.values())
        self.before(row)
        self._probe(head, Probing(number, row, head, self.nodes - 1, safe))
        self.after(row)
        if self.streams == 2:
            self.finish(number)

    def before(self, row: RingRow) -> None:
        """Before a row probes its head."""

    def after(self, row: RingRow) -> None:
        """After it has."""
        self.insert(row)

    def finish(self, number: int) -> None:
        """The last END was born at the head: the next row may enter."""
        row = self.under_way.pop(number, None)
        if row is not None:
            self.over(number, row)

    def send(self, node: int, message: Message) -> None:
        """To the next node."""
        self.links[(node + 1) % self.nodes].append(message)
        self.hops[type(message).__name__] += 1

    def _pass_on(self, node: int, row: RingRow) -> None:
        if node < self.nodes - 1:
            self.send(node, Build(row))
        else:
            self.purged += 1

    def step(self, node: int) -> None:
        """A node takes the first message of its link."""
        match message := self.links[node].popleft():
            case Build(row):
                self.state[node][row.stream].append(row)
            case Probing():
                self._probe(node, message)
            case Inter():
                self._inter(node, message)
            case Done():
                self.done(node, message)

    def done(self, node: int, message: Done) -> None:
        """Only interleaved rings send it."""

    def _probe(self, node: int, message: Probing) -> None:
        row = message.row
        self.purge(node, row, message.safe)
        if message.left:
            self.send(node, Probing(message.number, row, message.head, message.left - 1, message.safe))
        stream = self.orders[row.stream][0]
        there = {row.stream: row}
        found = [{**there, stream: one} for one in self.candidates(node, stream, row) if self.agree(there, one)]
        self._emit(node, message.number, row, message.head, found, end=node == message.head, depth=2)

    def _inter(self, node: int, message: Inter) -> None:
        home = message.origin == node
        if not home:  # it probes the slice that it was born in last, when it has come round
            self.send(node, message)
        found: list[Partial] = []
        if message.there is not None:
            there = message.there
            stream = next(one for one in self.orders[message.row.stream] if one not in there)
            rows = self.candidates(node, stream, message.row)
            found = [{**there, stream: one} for one in rows if self.agree(there, one)]
        if message.end and not home:
            self.passed_by_end(node, message)
        end = message.end and home
        self._emit(node, message.number, message.row, message.head, found, end=end, depth=message.depth + 1)

    def passed_by_end(self, node: int, message: Inter) -> None:
        """An END goes by."""

    def _emit(
        self, node: int, number: int, row: RingRow, head: int, found: Sequence[Partial], *, end: bool, depth: int
    ) -> None:
        if depth == self.streams:
            for one in found:
                self.found[tuple(one[stream] for stream in range(self.streams))] += 1
            if end and self.streams > 2:
                self.finish(number)
            return
        for one in found:
            self.send(node, Inter(number, row, head, one, node, end=False, depth=depth))
        if end:  # behind the last of them, and alone if there are none
            self.send(node, Inter(number, row, head, None, node, end=True, depth=depth))
