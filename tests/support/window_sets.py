"""Sets of window queries over one stream of all types, and what each gives by itself or in company."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

import millstream as ms
from support.harness import cut, punctuated, stray

Row = dict[str, Any]
SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("k", pa.string()),
        ("r", pa.int64()),
        ("v", pa.int64()),
        ("f", pa.float64()),
        ("d", pa.decimal128(9, 2)),
        ("s", pa.string()),
        ("day", pa.date32()),
    ]
)
FLOATS = [None, math.nan, math.inf, -math.inf, -0.0, 0.0, 0.1, 1.5, -2.25, 1e6]
CALLS: dict[str, Any] = {
    "n": ms.count(),
    "nf": ms.count("f"),
    "total": ms.sum("v"),
    "sum_f": ms.sum("f"),
    "sum_d": ms.sum("d"),
    "avg_v": ms.avg("v"),
    "avg_f": ms.avg("f"),
    "low_f": ms.min("f"),
    "high_f": ms.max("f"),
    "high_d": ms.max("d"),
    "low_s": ms.min("s"),
    "high_day": ms.max("day"),
    "dev_v": ms.stddev("v"),
    "dev_f": ms.stddev("f"),
    "middle": ms.median("v"),
    "kinds": ms.count_distinct("s"),
    "first_v": ms.first("v"),
    "last_s": ms.last("s"),
    "least": ms.min_by("s", "d"),
    "some": ms.count(filter="v > 2"),
    "part": ms.sum("f", filter="s = 'x' OR v < 2"),
    "twice": ms.sum("v * 2 + r"),
}
CONDITIONS = [None, None, None, "v > 1", "v > 2", "(v > 1)", "r = 1", "f > 0", "s <> 'x'", "v > 1 AND r = 1"]
GROUPS: list[tuple[str, ...]] = [(), ("k",), ("k",), ("k", "r"), ("r",), ("r", "k")]


@dataclass(frozen=True)
class Asked:
    """One query of a set."""

    window: Mapping[str, Any]
    groups: tuple[str, ...]
    calls: tuple[str, ...]
    where: str | None

    def query(self, stream: ms.Stream) -> ms.Query:
        """On a stream."""
        rows = stream if self.where is None else stream.where(self.where)
        return rows.window("ts", **self.window).group_by(*self.groups).agg(**{name: CALLS[name] for name in self.calls})

    @property
    def grows(self) -> bool:
        """Are its windows those that only grow?"""
        return self.window["range"] == "all"


def some_asked(rnd: random.Random, *, landmark: bool = True) -> Asked:
    """A query at random."""
    slide = rnd.choice([1, 2, 3, 4, 5, 6, 10, 12])
    sizes: Any = rnd.choice([slide, slide, 2 * slide, 3 * slide, 7, 12, 20, 30, max(1, slide // 2)])
    if rnd.random() < 0.15:
        sizes = sorted({slide, 2 * slide, 24})
    if landmark and rnd.random() < 0.12:
        sizes = "all"
    window: Row = {"range": sizes, "slide": slide}
    if rnd.random() < 0.3:
        window["start"] = rnd.choice([0, 3, -5, 17])
    calls = tuple(rnd.sample(sorted(CALLS), rnd.randint(1, 4)))
    return Asked(window, rnd.choice(GROUPS), calls, rnd.choice(CONDITIONS))


def some_rows(rnd: random.Random, n: int, span: int, low: int = -20) -> list[Row]:
    """Rows of all types, in order of `ts`."""
    return [
        {
            "ts": ts,
            "k": rnd.choice(["a", "b", None]),
            "r": rnd.choice([None, 0, 1]),
            "v": rnd.choice([None, *range(6)]),
            "f": rnd.choice(FLOATS),
            "d": rnd.choice([None, Decimal("1.25"), Decimal("-7.50"), Decimal("0.01")]),
            "s": rnd.choice([None, "x", "y", ""]),
            "day": rnd.choice([None, date(2024, 2, 29), date(1969, 12, 31)]),
        }
        for ts in sorted(rnd.randint(low, low + span) for _ in range(n))
    ]


@dataclass(frozen=True)
class Feed:
    """A stream in epochs, and how it progresses."""

    epochs: list[ms.Epoch]
    progress: Any

    def rows(self) -> list[Row]:
        """All of them."""
        return [row for epoch in self.epochs for row in epoch.rows.to_pylist()]


def some_feed(rnd: random.Random, *, rows: int = 40, late: bool = True, orderly: bool = False) -> Feed:
    """Disordered rows in epochs, some of them late, some without a time."""
    disorder = 0 if orderly else rnd.choice([0, 3, 15])
    plain = stray(some_rows(rnd, rnd.randint(rows // 2, rows), rnd.choice([30, 60, 150])), disorder, rnd)
    parts = cut(plain, rnd, most=rnd.choice([3, 10, 20]))
    supplied = rnd.random() < 0.5
    promised = [list(one.punctuations) for one in punctuated(parts, rnd, group_wise=rnd.random() < 0.5)]
    if late:
        for i, part in enumerate(parts):
            for one in part:
                if rnd.random() < 0.04 and i:
                    one["ts"] -= rnd.choice([5, 40])
                elif rnd.random() < 0.03:
                    one["ts"] = None
    progress = ms.supplied("ts") if supplied else ms.bounded_disorder("ts", disorder)
    tables = [pa.Table.from_pylist(part, schema=SCHEMA) for part in parts]
    given = promised if supplied else [[] for _ in parts]
    return Feed([ms.Epoch(table, one) for table, one in zip(tables, given, strict=True)], progress)


@dataclass
class Left:
    """All that a query gave."""

    rows: list[Row]
    late: list[Row] = field(default_factory=list[Row])
    rejected: list[Row] = field(default_factory=list[Row])
    books: Row = field(default_factory=dict[str, Any])


def left_of(query: ms.Query, run: ms.Run) -> Left:
    """What a query has given, from memory."""
    late, rejected = (
        [_without_epoch(row) for row in side.table().to_pylist()] for side in (query.late, query.rejected)
    )
    return Left(query.table().to_pylist(), late, rejected, run.progress["queries"][query.name]["books"])


def _without_epoch(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "epoch"}


def play(engine: ms.Engine, asked: Mapping[str, Asked], feed: Feed) -> dict[str, Left]:
    """All queries in one engine, to the end of the stream."""
    stream = engine.stream("s", list(feed.epochs), schema=SCHEMA, progress=feed.progress)
    made = {name: one.query(stream).named(name) for name, one in asked.items()}
    run = engine.start(ms.available_now(), end_of_stream=True, allow_unbounded=True)
    run.await_termination()
    return {name: left_of(query, run) for name, query in made.items()}


def alone(one: Asked, feed: Feed) -> Left:
    """A query by itself, in memory."""
    return play(ms.Engine(host="local"), {"q": one}, feed)["q"]


def stored(root: Path, name: str, query: ms.Query) -> ms.Query:
    """The query, with all that it gives in folders."""
    query.to_parquet(root / name)
    query.late.to_parquet(root / f"{name}-late")
    query.rejected.to_parquet(root / f"{name}-rejected")
    return query


def near(expected: Iterable[Row], actual: Iterable[Row]) -> dict[str, list[Any]]:
    """Empty if two bags are the same; floats to nine digits."""
    wanted, got = Counter(map(_plain, expected)), Counter(map(_plain, actual))
    sides = {"missing": wanted - got, "unexpected": got - wanted}
    missing, unexpected = (sorted(side.elements(), key=repr) for side in sides.values())
    still: list[Any] = []
    for one in missing:  # a last digit may have been rounded the other way
        twin = next((other for other in unexpected if _close(one, other)), None)
        if twin is None:
            still.append(one)
        else:
            unexpected.remove(twin)
    found = {"missing": still, "unexpected": unexpected}
    return {name: side for name, side in found.items() if side}


def _plain(row: Row) -> Any:
    return tuple((name, _value(value)) for name, value in sorted(row.items()))


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    return tuple(value) if isinstance(value, list) else value


def _close(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(
        a == b and (x == y or (_number(x) and _number(y) and math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9)))
        for (a, x), (b, y) in zip(one, other, strict=True)
    )


def _number(value: Any) -> bool:
    return isinstance(value, float)
