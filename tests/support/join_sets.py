"""Sets of joins that can share a store: random bands, kinds, conditions and columns over two disordered streams."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

import millstream as ms
from support.joins import arriving, rows

KINDS = ("inner", "left", "right", "full", "semi", "anti")
LEFT = (None, "v > 3", "v % 2 = 0", "j = 1 AND v < 8")
RIGHT = (None, "v2 < 6", "j2 IS NOT NULL")
PAIRS = (None, "v + v2 > 8", "10 / v2 > v")
"""The last one fails for some pairs."""
Keys = list[tuple[str, str]]


@dataclass(frozen=True)
class Asked:
    """One join."""

    how: str
    low: int
    width: int
    left: str | None
    right: str | None
    where: str | None
    computed: bool

    def over(self, a: ms.Stream, b: ms.Stream, keys: Keys) -> ms.Query:
        one = a if self.left is None else a.where(self.left)
        other = b if self.right is None else b.where(self.right)
        if self.computed:
            one = one.select("ts", "k", "j", "v", "id", "v * 2 AS twice")
        options = {} if self.where is None else {"where": self.where}
        within = (self.low, self.low + self.width)
        return one.join(other, on=keys, how=self.how, within=within, **options)


ASKED = st.builds(
    Asked,
    how=st.sampled_from(KINDS),
    low=st.integers(-8, 4),
    width=st.integers(0, 12),
    left=st.sampled_from(LEFT),
    right=st.sampled_from(RIGHT),
    where=st.sampled_from(PAIRS),
    computed=st.booleans(),
)
SETS = st.lists(ASKED, min_size=2, max_size=6)
KEYS = st.sampled_from([[("k", "k2")], [("k", "k2"), ("j", "j2")], []])


def some_asked(rnd: random.Random) -> Asked:
    """One of them, by a random generator."""
    return Asked(
        rnd.choice(KINDS),
        rnd.randint(-8, 4),
        rnd.randint(0, 12),
        rnd.choice([None, *LEFT]),
        rnd.choice([None, *RIGHT]),
        rnd.choice([None, *PAIRS]),
        rnd.random() < 0.3,
    )


def streams_of(seed: int) -> tuple[list[ms.Epoch], list[ms.Epoch]]:
    """Both streams, in epochs."""
    rnd = random.Random(seed)
    left, right = rows(rnd, 36, span=50), rows(rnd, 32, span=50)
    return arriving(rnd, left), arriving(rnd, right, name="ts2")


def latest(row: dict[str, Any]) -> int:
    """The time of the latest row of a result."""
    return max(row[name] for name in ("ts", "ts2") if row.get(name) is not None)
