"""Rows of two streams in order, and what joins of them are by definition."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple


class Row(NamedTuple):
    """A row: its time, its stream, its number there, and what conditions look at."""

    at: float
    stream: str
    number: int
    value: int = 0
    mark: float = 0.0

    def __str__(self) -> str:
        """As in traces.

        >>> str(Row(3, "a", 2))
        'a2'
        """
        return f"{self.stream}{self.number}"


Pair = tuple[Row, Row]
Matches = Callable[[Row, Row], bool]
Condition = Callable[[Row], bool]


def everything(_: Row, __: Row) -> bool:
    """Every pair belongs together."""
    return True


@dataclass(frozen=True, slots=True)
class Share:
    """A share of all pairs belongs together: whether one does depends on its rows alone."""

    of: float

    def __call__(self, one: Row, other: Row) -> bool:
        """Do these?"""
        return (one.value + other.value) % 1000 < self.of * 1000


@dataclass(frozen=True, slots=True)
class Marked:
    """A condition that a share of the rows satisfies."""

    below: float

    def __call__(self, row: Row) -> bool:
        """Does this one?"""
        return row.mark < self.below


def inside(age: float, width: float, *, closed: bool = False) -> bool:
    """Is a pair of this age in a window? Windows are half-open, unless they are `closed`.

    >>> inside(2, 2), inside(2, 2, closed=True)
    (False, True)
    """
    return age <= width if closed else age < width


def poisson(rnd: random.Random, rate: float, seconds: float) -> list[Row]:
    """Rows of streams a and b with random distances, in order."""
    out: list[Row] = []
    for stream in "ab":
        at, number = 0.0, 0
        while (at := at + rnd.expovariate(rate)) < seconds:
            out.append(Row(at, stream, number, rnd.randrange(1000), rnd.random()))
            number += 1
    return sorted(out)


def few(rnd: random.Random, rows: int, span: int, streams: str = "ab") -> list[Row]:
    """A few rows with whole times, and so with many ties."""
    counts: Counter[str] = Counter()
    out: list[Row] = []
    for at in sorted(rnd.randint(0, span) for _ in range(rows)):
        stream = rnd.choice(streams)
        counts[stream] += 1
        out.append(Row(at, stream, counts[stream], rnd.randrange(1000), rnd.random()))
    return sorted(out)


def joined(rows: Sequence[Row], width: float, matches: Matches = everything, *, closed: bool = False) -> Counter[Pair]:
    """All pairs by definition: every row of a with every row of b."""
    left, right = ([row for row in rows if row.stream == name] for name in "ab")
    near = ((a, b) for a, b in product(left, right) if inside(abs(a.at - b.at), width, closed=closed))
    return Counter(pair for pair in near if matches(*pair))


def joined_by_count(rows: Sequence[Row], width: int, matches: Matches = everything) -> Counter[Pair]:
    """All pairs by definition, where a row meets the last so many of the other stream."""
    before: dict[str, list[Row]] = {"a": [], "b": []}
    out: Counter[Pair] = Counter()
    for row in rows:
        for other in before["b" if row.stream == "a" else "a"][-width:] if width else ():
            pair = _ordered(row, other)
            out[pair] += matches(*pair)
        before[row.stream].append(row)
    return +out


def joined_many(
    rows: Sequence[Row], widths: Sequence[float], matches: Callable[..., bool]
) -> Iterator[tuple[Row, ...]]:
    """All combinations of a row of each stream a, b, c, … that are near to the latest of them, by definition."""
    names = [chr(ord("a") + i) for i in range(len(widths))]
    for some in product(*([row for row in rows if row.stream == name] for name in names)):
        latest = max(row.at for row in some)
        if all(latest - row.at < width for row, width in zip(some, widths, strict=True)) and matches(*some):
            yield some


def _ordered(one: Row, other: Row) -> Pair:
    return (one, other) if one.stream == "a" else (other, one)
