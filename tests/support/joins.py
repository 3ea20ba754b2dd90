"""Joins to order: two disordered, skewed streams in random epochs, and what DuckDB makes of all rows at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

import millstream as ms
from support.harness import cut, stray

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("j", pa.int64()), ("v", pa.int64()), ("id", pa.int64())])
Row = dict[str, Any]
KINDS = ("inner", "left", "right", "full", "semi", "anti")
SHAPES: dict[str, dict[str, Any]] = {
    "one key": {"keys": ("k",)},
    "two keys": {"keys": ("k", "j")},
    "no key": {"keys": ()},
    "a condition": {"keys": ("k",), "where": "v + v2 > 8"},
    "no key and a condition": {"keys": (), "where": "abs(v - v2) < 3"},
}


@dataclass(frozen=True)
class Case:
    """A join as it is asked for, and as SQL over whole tables a and b."""

    how: str
    keys: tuple[str, ...] = ("k",)
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    near: str = "TRUE"
    where: str | None = None
    in_sql: bool = False
    """Is Millstream asked in SQL, too?"""

    @classmethod
    def of(cls, how: str, near: str, **shape: Any) -> Case:
        """A join whose rows are near as one of ANY_NEAR says."""
        if near in STRICT:
            return cls(how, near=STRICT[near], in_sql=True, **shape)
        options, text = NEAR[near]
        return cls(how, options=options, near=text, **shape)

    def join(self, left: ms.Stream, right: ms.Stream) -> ms.Query:
        """On Millstream, with all columns."""
        if self.in_sql:
            return left.engine.sql(self._statement("*"))
        where: dict[str, Any] = {} if self.where is None else {"where": self.where}
        return left.join(right, on=[(key, key + "2") for key in self.keys], how=self.how, **self.options, **where)

    def query(self, left: ms.Stream, right: ms.Stream) -> ms.Query:
        """On Millstream, with the columns of the answer."""
        joined = self.join(left, right)
        return joined if self.how in ("semi", "anti") else joined.select("id", "id2", "ts", "ts2")

    def answer(self, left: pa.Table, right: pa.Table) -> Counter[tuple[Any, ...]]:
        """By DuckDB, over everything."""
        what = "a.id" if self.how in ("semi", "anti") else "a.id, b.id2, a.ts, b.ts2"
        with duckdb.connect() as db:
            db.register("a", left)
            db.register("b", right)
            return Counter(db.execute(self._statement(what)).fetchall())

    def _statement(self, what: str) -> str:
        parts = [*(f"a.{key} = b.{key}2" for key in self.keys), self.near, *([self.where] if self.where else ())]
        word = {"full": "FULL OUTER", "semi": "SEMI", "anti": "ANTI"}.get(self.how, self.how.upper())
        return f"SELECT {what} FROM a {word} JOIN b ON {' AND '.join(parts)}"

    def got(self, table: pa.Table) -> Counter[tuple[Any, ...]]:
        """What left, in the same shape."""
        names = ["id"] if self.how in ("semi", "anti") else ["id", "id2", "ts", "ts2"]
        return Counter(zip(*(table[name].to_pylist() for name in names), strict=True))


NEAR: dict[str, tuple[dict[str, Any], str]] = {
    "closed band": ({"within": (-4, 6)}, "b.ts2 - a.ts BETWEEN -4 AND 6"),
    "band of the future": ({"within": (3, 9)}, "b.ts2 - a.ts BETWEEN 3 AND 9"),
    "equal times": ({"within": 0}, "b.ts2 = a.ts"),
    "tumbling": ({"window": 7}, "floor(a.ts / 7) = floor(b.ts2 / 7)"),
}
"""Bounds that the fluent form can say; strict ones are said in SQL."""
STRICT = {
    "lower end strict": "b.ts2 > a.ts - 4 AND b.ts2 <= a.ts + 6",
    "upper end strict": "b.ts2 >= a.ts - 4 AND b.ts2 < a.ts + 6",
    "both ends strict": "b.ts2 > a.ts - 4 AND b.ts2 < a.ts + 6",
}
ANY_NEAR = (*NEAR, *STRICT)


def rows(rnd: random.Random, n: int, *, span: int, keys: Sequence[Any] = ("a", "b", "c", None)) -> list[Row]:
    """Rows in order of time, with ties and null keys."""
    return [
        {"ts": ts, "k": rnd.choice(keys), "j": rnd.choice([0, 1, None]), "v": rnd.randint(0, 9), "id": i}
        for i, ts in enumerate(sorted(rnd.randint(-10, span) for _ in range(n)))
    ]


def arriving(rnd: random.Random, given: list[Row], *, name: str = "ts", most: int = 9) -> list[ms.Epoch]:
    """The rows disordered, in epochs, each with the best promise there is, a weaker one, or none."""
    epochs = cut(stray(given, rnd.choice([0, 3, 12]), rnd), rnd, most)
    out: list[ms.Epoch] = []
    promised = -(10**6)
    for i, some in enumerate(epochs):
        later = [row["ts"] for epoch in epochs[i + 1 :] for row in epoch]
        best = min(later, default=promised) - rnd.choice([0, 0, 2])
        promises: list[Any] = []
        if later and best > promised and rnd.random() < 0.7:
            promised = best
            promises.append(ms.punctuation(name, before=best))
        out.append(ms.Epoch(table(some, second=name != "ts"), promises))
    # One side may be silent for a while.
    silent = [ms.Epoch(table([], second=name != "ts"), [])] * rnd.choice([0, 0, 5])
    return [*silent, *out]


def table(some: Sequence[Row], *, second: bool = False) -> pa.Table:
    """Rows as a table; the columns of the second stream end with a 2."""
    made = pa.Table.from_pylist(list(some), schema=SCHEMA)
    return made.rename_columns([f"{name}2" for name in SCHEMA.names]) if second else made


def streams(engine: ms.Engine, left: list[ms.Epoch], right: list[ms.Epoch]) -> tuple[ms.Stream, ms.Stream]:
    """Both sides as streams whose progress is supplied."""
    a = engine.stream("a", left, schema=table([]).schema, progress=ms.supplied("ts"))
    b = engine.stream("b", right, schema=table([], second=True).schema, progress=ms.supplied("ts2"))
    return a, b
