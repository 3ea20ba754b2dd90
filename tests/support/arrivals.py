"""Two inputs that arrive interleaved, each disordered and punctuated as far as its rows to come allow."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa

SCHEMA = pa.schema([("ts", pa.int64()), ("key", pa.int64()), ("row", pa.int64())])
END = 2**62


@dataclass(frozen=True)
class Two:
    """Rows (ts, key) of two inputs in order of arrival, and how to mix them."""

    sides: tuple[list[tuple[int, int]], list[tuple[int, int]]]
    seed: int

    def table(self, side: int, first: int, last: int) -> pa.Table:
        """Some rows of one side; `row` is their number."""
        rows = [{"ts": ts, "key": key, "row": first + i} for i, (ts, key) in enumerate(self.sides[side][first:last])]
        return pa.Table.from_pylist(rows, schema=SCHEMA)

    def steps(self) -> Iterator[tuple[int, pa.Table | int]]:
        """(port, rows or bound), until both have ended."""
        rnd = random.Random(self.seed)
        at = [0, 0]
        while any(at[side] < len(self.sides[side]) for side in (0, 1)):
            side = rnd.choice([one for one in (0, 1) if at[one] < len(self.sides[one])])
            n = rnd.randint(1, 4)
            yield side, self.table(side, at[side], at[side] + n)
            at[side] = min(at[side] + n, len(self.sides[side]))
            if rnd.random() < 0.6:
                port = rnd.choice((0, 1))
                yield port, min((ts for ts, _ in self.sides[port][at[port] :]), default=END)
        yield 0, END
        yield 1, END

    def band(self, low: int, high: int) -> Counter[tuple[int, int]]:
        """The pairs with equal keys and low <= right − left <= high, by trying all of them; by row numbers."""
        return Counter(
            (i, j)
            for i, (left, key) in enumerate(self.sides[0])
            for j, (right, other) in enumerate(self.sides[1])
            if key == other and low <= right - left <= high
        )


def feed(comparator: Any, steps: Iterator[tuple[int, pa.Table | int]]) -> pa.Table:
    """Everything that leaves a comparator, in the order in which it left."""
    out: list[pa.Table] = []
    for port, given in steps:
        out.append(comparator.advance(port, given) if isinstance(given, int) else comparator.take(port, given))
    return pa.concat_tables([table for table in out if table.num_rows] or out[:1])


def ordered(rows: Sequence[int]) -> bool:
    """Is each at least the one before?"""
    return all(a <= b for a, b in pairwise(rows))
