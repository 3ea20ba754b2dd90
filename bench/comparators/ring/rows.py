"""Rows of several streams, conditions on them, and the answer that everything is compared with."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product


@dataclass(frozen=True, slots=True, order=True)
class RingRow:
    """A row: its time, which no other row has, its stream and a value."""

    at: float
    stream: int
    value: int


Partial = Mapping[int, RingRow]
"""By stream: the row of a combination that is there."""
Agree = Callable[[Partial, RingRow], bool]
"""Does a row go with a partial combination?"""
Found = Counter[tuple[RingRow, ...]]


def near_values(there: Partial, row: RingRow) -> bool:
    """Values that are at most one apart, seen in a circle of four."""
    return all((one.value - row.value) % 4 in (0, 1, 3) for one in there.values())


def arriving(number: int, streams: int, rnd: random.Random, gap: float = 1.0) -> list[RingRow]:
    """Rows in order of time, from streams at random."""
    at, out = 0.0, list[RingRow]()
    for _ in range(number):
        at += rnd.expovariate(1 / gap) + 1e-6
        out.append(RingRow(at, rnd.randrange(streams), rnd.randrange(4)))
    return out


def expected(rows: Sequence[RingRow], windows: Sequence[float], agree: Agree = near_values) -> Found:
    """By brute force: each row with all earlier ones that are in their windows."""
    out: Found = Counter()
    for row in rows:
        held = [
            [one for one in rows if one.stream == stream and 0 < row.at - one.at < windows[stream]]
            for stream in range(len(windows))
        ]
        held[row.stream] = [row]
        for combination in product(*held):
            there: dict[int, RingRow] = {}
            for one in combination:
                if not agree(there, one):
                    break
                there[one.stream] = one
            else:
                out[combination] += 1
    return out
