"""Joins of many streams to order: disordered streams in random epochs, and what DuckDB makes of all rows at once."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise, product
from re import findall
from types import SimpleNamespace
from typing import Any

import duckdb
import pyarrow as pa

import millstream as ms
from support.harness import cut, stray

NAMES = "abcdef"
SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("x", pa.int64()), ("y", pa.int64()), ("id", pa.int64())])
Row = dict[str, Any]
SHAPES = ("common", "two keys", "chain", "star", "no key", "common and condition", "chain and condition", "may fail")
NEAR = ("one length", "a stream", "pairs", "bands along a chain")


@dataclass(frozen=True)
class Case:
    """A join of some streams as it is asked for, and as SQL over whole tables."""

    streams: int
    on: Any
    within: Any
    held: list[str]
    """Everything that must hold, as SQL."""
    where: str | None = None
    how: str = "inner"
    rows: list[list[Row]] = field(default_factory=list[list[Row]])

    @property
    def names(self) -> list[str]:
        return list(NAMES[: self.streams])

    def query(self, streams: Sequence[ms.Stream]) -> ms.Query:
        """On Millstream: the numbers of the rows, and their times."""
        joined = ms.join(*streams, on=self.on, within=self.within, where=self.where, how=self.how)
        return joined.select(*(f"{name}_id" for name in self.names), *(f"{name}_ts" for name in self.names))

    def answer(self) -> Counter[tuple[Any, ...]]:
        """By DuckDB, over everything."""
        with duckdb.connect() as db:
            for name, rows in zip(self.names, self.rows, strict=True):
                db.register(name, pa.Table.from_pylist(rows, schema=SCHEMA))
            columns = ", ".join(f"{name}.id" for name in self.names)
            text = f"SELECT {columns} FROM {', '.join(self.names)} WHERE {' AND '.join(self.held)}"
            found = Counter(db.execute(text).fetchall())
        if self.how == "left":
            there = {one[0] for one in found}
            nothing = (None,) * (self.streams - 1)
            found.update((row["id"], *nothing) for row in self.rows[0] if row["id"] not in there)
        return found

    def got(self, table: pa.Table) -> Counter[tuple[Any, ...]]:
        """What left, in the same shape."""
        return Counter(zip(*(table[f"{name}_id"].to_pylist() for name in self.names), strict=True))


def case(rnd: random.Random, streams: int, shape: str, near: str, how: str = "inner") -> Case:
    """A join of that many streams."""
    names = NAMES[:streams]
    most = {2: 60, 3: 50, 4: 30, 5: 16, 6: 11}[streams]
    keyed = shape not in ("no key", "may fail")
    rows = [
        some_rows(
            rnd, rnd.choice([0, 3, most, most, most] if i else [most]), span=60 if keyed else 90, keys=4 if keyed else 9
        )
        for i in range(streams)
    ]
    on, equal = _keys(names, shape)
    within, limits = _near(rnd, names, near)
    where, held = _where(names, shape)
    return Case(streams, on, within, [*equal, *limits, *held, "TRUE"], where, how, rows)


def _keys(names: str, shape: str) -> tuple[Any, list[str]]:
    first = names[0]
    if shape.startswith("common"):
        return "k", [f"{first}.k = {name}.k" for name in names[1:]]
    if shape == "two keys":
        return ["k", "x"], [f"{first}.{key} = {name}.{key}" for name in names[1:] for key in "kx"]
    if shape.startswith("chain"):
        pairs = [(one, "xy"[i % 2], other, "xy"[i % 2]) for i, (one, other) in enumerate(pairwise(names))]
    elif shape == "star":
        pairs = [(first, "xyk"[i % 3], name, "xyk"[i % 3]) for i, name in enumerate(names[1:])]
    else:
        return None, []
    return [(f"{a}.{p}", f"{b}.{q}") for a, p, b, q in pairs], [f"{a}.{p} = {b}.{q}" for a, p, b, q in pairs]


def _near(rnd: random.Random, names: str, near: str) -> tuple[Any, list[str]]:
    pairs = [(one, other) for i, one in enumerate(names) for other in names[i + 1 :]]
    if near == "one length":
        length = rnd.choice([0, 3, 8])
        return length, [f"abs({a}.ts - {b}.ts) <= {length}" for a, b in pairs]
    if near == "a stream":
        lengths = {name: rnd.choice([0, 2, 9]) for name in names}
        latest = f"greatest({', '.join(f'{name}.ts' for name in names)})"
        return lengths, [f"{latest} - {name}.ts <= {length}" for name, length in lengths.items()]
    if near == "pairs":
        lengths = {pair: rnd.choice([2, 5, 9]) for pair in pairs}
        return lengths, [f"abs({a}.ts - {b}.ts) <= {length}" for (a, b), length in lengths.items()]
    bands = {
        (one, other): (low, low + rnd.choice([0, 4, 7]))
        for one, other in pairwise(names)
        for low in (rnd.choice([-5, -1, 0, 3]),)
    }
    return bands, [f"{b}.ts - {a}.ts BETWEEN {low} AND {high}" for (a, b), (low, high) in bands.items()]


def _where(names: str, shape: str) -> tuple[str | None, list[str]]:
    first, last = names[0], names[-1]
    if shape == "may fail":  # no row makes it fail, but nobody can know
        where = f"10 / ({first}_x + 1) > {last}_y AND {first}_y < 3"
        return where, [f"10 / ({first}.x + 1) > {last}.y AND {first}.y < 3"]
    if "condition" not in shape and shape != "no key":
        return None, []
    where = f"abs({first}_y - {last}_y) < 2 AND {first}_id % 5 <> 3 AND {last}_y + {names[len(names) // 2]}_x > 1"
    held = f"abs({first}.y - {last}.y) < 2 AND {first}.id % 5 <> 3 AND {last}.y + {names[len(names) // 2]}.x > 1"
    return where, [held]


def some_rows(rnd: random.Random, n: int, *, span: int, keys: int = 4) -> list[Row]:
    """Rows in order of time, with ties and null keys."""
    numbers = [*range(keys), None]
    return [
        {"ts": ts, "k": rnd.choice(["p", "q", "r", None]), "x": rnd.choice(numbers), "y": rnd.choice(numbers), "id": i}
        for i, ts in enumerate(sorted(rnd.randint(-10, span) for _ in range(n)))
    ]


def arriving(rnd: random.Random, given: list[Row], most: int = 6) -> list[ms.Epoch]:
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
            promises.append(ms.punctuation("ts", before=best))
        out.append(ms.Epoch(pa.Table.from_pylist(some, schema=SCHEMA), promises))
    silent = [ms.Epoch(SCHEMA.empty_table(), [])] * rnd.choice([0, 0, 3])
    return [*silent, *out]


def streams(engine: ms.Engine, rnd: random.Random, made: Case) -> list[ms.Stream]:
    """The streams of a case, whose progress is supplied."""
    return [
        engine.stream(name, arriving(rnd, rows), schema=SCHEMA, progress=ms.supplied("ts"))
        for name, rows in zip(made.names, made.rows, strict=True)
    ]


def play(engine: ms.Engine, rnd: random.Random, made: Case) -> ms.Query:
    """Run a case to the end, and compare."""
    query = made.query(streams(engine, rnd, made)).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    assert made.answer() == made.got(query.table())
    return query


def last_rows(made: Case, last: Sequence[int]) -> Counter[tuple[Any, ...]]:
    """By brute force: each row beside the last rows of the others, rows coming in order of time."""
    order = [
        (row["ts"], stream, tuple((row[name] is None, row[name]) for name in SCHEMA.names[1:]), row)
        for stream, rows in enumerate(made.rows)
        for row in rows
    ]
    kept: list[list[Row]] = [[] for _ in made.rows]
    found: Counter[tuple[Any, ...]] = Counter()
    wanted = [part for part in made.held if ".ts" not in part]
    for _, stream, _, row in sorted(order, key=lambda one: one[:3]):
        kept[stream] = [*kept[stream], row][-last[stream] :]
        for others in product(*([row] if i == stream else kept[i] for i in range(len(kept)))):
            found[tuple(one["id"] for one in others)] += _agree(wanted, made.names, others)
    return +found


def _agree(wanted: Sequence[str], names: Sequence[str], rows: Sequence[Row]) -> bool:
    """Do conditions hold of some rows? Those of a case are Python as much as SQL, but for these words."""
    known = {name: SimpleNamespace(**row) for name, row in zip(names, rows, strict=True)}
    try:
        return all(
            eval(
                part.replace(" = ", " == ").replace("<>", "!=").replace("AND", "and").replace("TRUE", "True"),
                dict(known),
            )
            and all(getattr(known[a], b) is not None for a, b in findall(r"\b([a-f])\.(\w)\b", part))
            for part in wanted
        )
    except TypeError:  # a null
        return False
