"""Many joins of many streams on one ring (section 4): slices at all windows, a guard, one running bitmap a probe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from comparators.ring.rows import Agree, Found, RingRow, near_values

Keeps = Callable[[RingRow], bool]


@dataclass(frozen=True, slots=True)
class RingQuery:
    """Windows and conditions of one query, by stream."""

    windows: tuple[float, ...]
    keeps: tuple[Keeps, ...]


@dataclass(frozen=True, slots=True)
class Masks:
    """By stream: where slices end, and which queries a row of each slice serves."""

    edges: list[list[float]]
    masks: list[list[int]]

    @classmethod
    def of(cls, queries: Sequence[RingQuery]) -> Masks:
        """Per stream, queries in order of their windows: slice i serves those from i on (lemma 9)."""
        edges: list[list[float]] = []
        masks: list[list[int]] = []
        for stream in range(len(queries[0].windows)):
            order = sorted(range(len(queries)), key=lambda q, s=stream: queries[q].windows[s])
            edges.append([queries[q].windows[stream] for q in order])
            masks.append(suffixes([1 << q for q in order]))
        return cls(edges, masks)


def suffixes(bits: Sequence[int]) -> list[int]:
    """Of each place, the bits from there on, all together.

    >>> a, b, c = suffixes([0b010, 0b100, 0b001]), suffixes([0b001, 0b010, 0b100]), suffixes([0b100, 0b001, 0b010])
    >>> f"{0b111 & b[1] & c[2]:03b}"
    '010'
    """
    out: list[int] = []
    for bit in reversed(bits):
        out.insert(0, bit | (out[0] if out else 0))
    return out


class SharedRing:
    """All queries at once; each row is kept once, as long as some query that it is good for needs it."""

    def __init__(self, queries: Sequence[RingQuery], *, guard: bool = True, agree: Agree = near_values) -> None:
        self.queries, self.guard, self.agree = queries, guard, agree
        self.streams = len(queries[0].windows)
        self.masks = Masks.of(queries)
        self.probes = self.most = 0

    def bits(self, row: RingRow) -> int:
        """The queries whose condition a row satisfies; evaluated once a row."""
        return sum(1 << q for q, one in enumerate(self.queries) if one.keeps[row.stream](row))

    def run(self, rows: Sequence[RingRow]) -> list[Found]:
        """The answer of each query."""
        out: list[Found] = [Counter() for _ in self.queries]
        kept: list[list[tuple[RingRow, int]]] = [[] for _ in range(self.streams)]
        for row in rows:
            mine = self.bits(row)
            kept = [[(one, b) for one, b in held if self._needed(one, b, row.at)] for held in kept]
            partial = [({row.stream: row}, mine)] if mine else []
            for stream in ((row.stream + k) % self.streams for k in range(1, self.streams)):
                partial = self._step(stream, partial, kept[stream], row)
            for there, bits in partial:
                for q in range(len(self.queries)):
                    if bits >> q & 1:
                        out[q][tuple(there[i] for i in range(self.streams))] += 1
            if mine:
                kept[row.stream].append((row, mine))
            self.most = max(self.most, sum(map(len, kept)))
        return out

    def _needed(self, row: RingRow, bits: int, now: float) -> bool:
        """σ̂: does a query whose window still reaches the row want it?"""
        mask = self._mask(row.stream, now - row.at)
        return bool(bits & mask)

    def _mask(self, stream: int, age: float) -> int:
        edges = self.masks.edges[stream]
        place = next((i for i, edge in enumerate(edges) if age < edge), None)
        return 0 if place is None else self.masks.masks[stream][place]

    def _step(
        self,
        stream: int,
        partial: Sequence[tuple[dict[int, RingRow], int]],
        held: Sequence[tuple[RingRow, int]],
        row: RingRow,
    ) -> list[tuple[dict[int, RingRow], int]]:
        out: list[tuple[dict[int, RingRow], int]] = []
        for there, bits in partial:
            for one, own in held:
                mask = self._mask(stream, row.at - one.at)
                if self.guard and not bits & mask:
                    continue
                self.probes += 1
                left = bits & mask & own
                if left and self.agree(there, one):
                    out.append(({**there, stream: one}, left))
        return out
