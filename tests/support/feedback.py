"""Random queries and feedback over them; runs with it, without it, and with any part of it heeded."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.ops.distinct import Distinct
from millstream.ops.guard import Guards, wanted
from millstream.ops.operator import Operator
from millstream.ops.top import Top
from support.bags import freeze

SCHEMA = pa.schema(
    [
        pa.field("ts", pa.int64()),
        pa.field("k", pa.string()),
        pa.field("v", pa.int64()),
        pa.field("w", pa.int64(), nullable=False),
    ]
)
Rows = list[dict[str, Any]]
Ask = Callable[[ms.Stream, ms.Stream], ms.Query]

ITEMS = [{"k": "a", "name": "ann"}, {"k": "a", "name": "abe"}, {"k": "b", "name": "bob"}]

QUESTIONS: dict[str, Ask] = {
    "select": lambda a, _: a.where("v > 1"),
    "project": lambda a, _: a.select("ts", x="k", y="v", twice="w * 2", again="k"),
    "union": lambda a, b: a.union(b),
    "tumbling": lambda a, _: a.window("ts", range=5).group_by("k").agg(n=ms.count(), top=ms.max("v")),
    "sliding": lambda a, _: a.window("ts", range=10, slide=4).group_by("k").agg(n=ms.count(), low=ms.min("v")),
    "average": lambda a, _: a.window("ts", range=6, slide=3).agg(avg=ms.avg("v")),
    "maximum": lambda a, _: a.window("ts", range=6, slide=3).group_by("k").agg(top=ms.max("w")),
    "minimum": lambda a, _: a.window("ts", range=6).agg(low=ms.min("w")),
    "gaps": lambda a, _: a.window("ts", range=3, slide=7, start=2).group_by("k").agg(n=ms.count()),
    "several": lambda a, _: a.window("ts", range=[4, 8]).group_by("k").agg(n=ms.count()),
    "session": lambda a, _: a.window("ts", gap=3).group_by("k").agg(n=ms.count()),
    "rows": lambda a, _: a.window("ts", range=3, by="rows", partition_by="k").agg(n=ms.sum("v")),
    "inner": lambda a, b: a.join(b, on="k", within=4),
    "same time": lambda a, b: a.join(b, on="k", within=0),
    "left": lambda a, b: a.join(b, on="k", how="left", within=4),
    "right": lambda a, b: a.join(b, on="k", how="right", within=4),
    "full": lambda a, b: a.join(b, on="k", how="full", within=4),
    "semi": lambda a, b: a.join(b, on="k", how="semi", within=4),
    "anti": lambda a, b: a.join(b, on="k", how="anti", within=4),
    "difference": lambda a, b: a.difference(b),
    "intersect": lambda a, b: a.intersect(b),
    "distinct": lambda a, _: a.distinct("ts", "k"),
    "top": lambda a, _: a.window("ts", range=5).group_by("k").agg(n=ms.count()).top(1, per="window_end", by="n DESC"),
    "top rows": lambda a, _: a.top(2, per=["ts", "k"], by="w DESC", number="place"),
    "sort": lambda a, _: a.sort("ts"),
    "as of": lambda a, b: a.join_as_of(b, on="k", within=5),
    "as of left": lambda a, b: a.join_as_of(b, on="k", how="left", within=5),
    "enrich": lambda a, _: a.enrich("items", on="k"),
    "enrich left": lambda a, _: a.enrich("items", on="k", how="left"),
    "joined averages": lambda a, b: (
        a.join(b, on=["k", "ts"], within=0).window("ts", range=5).group_by("k").agg(n=ms.count())
    ),
    "averages joined": lambda a, b: (
        a.window("ts", range=5)
        .group_by("k")
        .agg(n=ms.count())
        .join(
            b.window("ts", range=5).group_by("k").agg(m=ms.max("v")),
            on=["k", "window_end"],
            within=0,
            time="window_end",
        )
    ),
    "filtered counts": lambda a, _: (
        a.where("w > 0").select("ts", key="k").window("ts", range=4).group_by("key").agg(n=ms.count()).where("n > 1")
    ),
    "windows of windows": lambda a, _: (
        a.window("ts", range=4)
        .group_by("k")
        .agg(n=ms.count())
        .window("window_end", range=8)
        .group_by("k")
        .agg(total=ms.sum("n"))
    ),
    "united counts": lambda a, b: a.union(b).window("ts", range=5).group_by("k").agg(n=ms.count()),
}


@dataclass
class Case:
    """Two streams in epochs, one query, and what its reader says and takes back after which epochs."""

    question: str
    left: list[Rows]
    right: list[Rows]
    said: list[tuple[int, dict[str, Any], int]] = field(default_factory=list[tuple[int, dict[str, Any], int]])
    """After so many epochs: conditions as text and a ttl."""
    taken_back: dict[int, int] = field(default_factory=dict[int, int])
    """By place of what was said: after so many epochs."""


def some_case(rnd: random.Random, question: str) -> Case:
    epochs = rnd.randint(2, 6)
    sides = [_some_epochs(rnd, epochs) for _ in range(2)]
    case = Case(question, sides[0], sides[1])
    columns = query_of(ms.Engine(host="local"), case)[0].schema
    for _ in range(rnd.randint(1, 3)):
        at = rnd.choice([0, 0, rnd.randint(0, epochs - 1)])
        ttl = rnd.choice([10**6, 10**6, rnd.randint(1, 4)])
        case.said.append((at, {"text": some_text(rnd, columns)}, ttl))
        if rnd.random() < 0.5:
            case.taken_back[len(case.said) - 1] = rnd.randint(at, epochs - 1)
    return case


def _some_epochs(rnd: random.Random, epochs: int) -> list[Rows]:
    rows = [
        {"ts": ts, "k": rnd.choice(["a", "b", "c", None]), "v": rnd.choice([None, 0, 1, 2, 3]), "w": rnd.randint(0, 3)}
        for ts in sorted(rnd.randint(0, 24) for _ in range(rnd.randint(0, 30)))
    ]
    rows = sorted(rows, key=lambda row: row["ts"] + rnd.randint(0, 3))
    cuts = sorted(rnd.randint(0, len(rows)) for _ in range(epochs - 1))
    return [rows[low:high] for low, high in zip([0, *cuts], [*cuts, len(rows)], strict=True)]


def some_text(rnd: random.Random, schema: pa.Schema) -> str:
    """Conditions on one to three columns."""
    names = rnd.sample(schema.names, rnd.randint(1, min(3, len(schema.names))))
    return " and ".join(_some_condition(rnd, schema.field(name)) for name in names)


def _some_condition(rnd: random.Random, column: pa.Field) -> str:
    name = column.name
    if pa.types.is_string(column.type):
        return rnd.choice([f"{name} = 'a'", f"{name} in ('a', 'b')", f"{name} <= 'a'", f"{name} > 'a'"])
    if pa.types.is_floating(column.type):
        return f"{name} {rnd.choice(['<', '<=', '>', '>='])} {rnd.choice([0.5, 1.0, 2.5])}"
    most = 28 if name.startswith(("ts", "window", "left_ts", "right_ts")) else 3
    value = rnd.randint(0, most)
    return rnd.choice(
        [
            f"{name} = {value}",
            f"{name} in ({value}, {value + 1})",
            f"{name} {rnd.choice(['<', '<=', '>', '>='])} {value}",
        ]
    )


def run_together(cases: list[Case], engine: ms.Engine) -> dict[str, Outcome]:
    """Several queries over the streams of the first case, each with its own reader."""
    engine.table("items", ITEMS)
    streams = _streams(engine, cases[0])
    queries = {f"q{i}": QUESTIONS[case.question](*streams).named(f"q{i}") for i, case in enumerate(cases)}
    readers = [Reader(case, query) for case, query in zip(cases, queries.values(), strict=True)]
    started = _started(engine, readers)
    return {
        name: Outcome(rows_in(query), started.progress["queries"][name]["books"], reader.said, engine)
        for (name, query), reader in zip(queries.items(), readers, strict=True)
    }


def query_of(engine: ms.Engine, case: Case) -> tuple[ms.Query, ms.Engine]:
    engine.table("items", ITEMS)
    return QUESTIONS[case.question](*_streams(engine, case)).named("q"), engine


def _streams(engine: ms.Engine, case: Case) -> list[ms.Stream]:
    return [
        engine.stream(
            name,
            [pa.Table.from_pylist(rows, schema=SCHEMA) for rows in epochs],
            schema=SCHEMA,
            progress=ms.bounded_disorder("ts", 3),
        )
        for name, epochs in (("left_rows", case.left), ("right_rows", case.right))
    ]


class Reader:
    """Says what a case says, and takes it back, between the epochs that it says."""

    def __init__(self, case: Case, query: ms.Query) -> None:
        self.case, self.query = case, query
        self.handles: dict[int, Any] = {}
        self.said: list[Any] = []

    def speak(self, after: int) -> None:
        for i, (at, conditions, ttl) in enumerate(self.case.said):
            if at == after:
                try:
                    self.handles[i] = self.query.feedback(ms.assumed(conditions["text"], ttl=ttl))
                except ms.PatternError:
                    continue  # two conditions that no value satisfies
                self.said.extend(one.pattern for one in self.handles[i].bound)
            if self.case.taken_back.get(i) == after and i in self.handles:
                self.handles[i].cancel()


def _started(engine: ms.Engine, readers: list[Reader]) -> ms.Run:
    def speak(after: int) -> None:
        for reader in readers:
            reader.speak(after)

    if readers:
        speak(0)
        engine.on_epoch(lambda report: speak(report["epoch"] + 1))
    started = engine.start(ms.available_now(), end_of_stream=True, allow_unbounded=True)
    started.await_termination()
    return started


def rows_in(query: ms.Query) -> list[Any]:
    return [freeze(row) for row in query.table().to_pylist()]


@dataclass
class Outcome:
    rows: list[Any]
    books: dict[str, int]
    said: list[Any]
    engine: ms.Engine


def run(case: Case, *, heeding: bool = True, engine: ms.Engine | None = None) -> Outcome:
    query, engine = query_of(engine or ms.Engine(host="local"), case)
    reader = Reader(case, query)
    started = _started(engine, [reader] if heeding else [])
    return Outcome(rows_in(query), started.progress["queries"]["q"]["books"], reader.said, engine)


def ignored(row: Any, patterns: Iterable[Any]) -> bool:
    return any(pattern.matches(dict(row)) for pattern in patterns)


def check_def_1(without: list[Any], with_it: list[Any], said: list[Any]) -> None:
    """SR - subset(SR, f) <= S <= SR, as bags."""
    full, heeded = Counter(without), Counter(with_it)

    assert {} == dict(heeded - full), "rows that are not in the output without feedback"
    assert [] == [row for row in (full - heeded) if not ignored(row, said)], "wanted rows are missing"


@contextmanager
def partly(rnd: random.Random, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Operators leave out any part of what they may, but results that they know to have lost rows."""

    def some(records: Any, rows: pa.Table) -> pa.Array:
        keep = wanted(records, rows)
        drawn = [True] * rows.num_rows if keep is None else [bool(one) or rnd.random() < 0.5 for one in keep]
        return pa.array(drawn, pa.bool_())

    def let_in(self: Operator, port: int, rows: pa.Table) -> pa.Table:
        records = () if self.guards is None else self.guards.inputs.get(port, ())
        left = rows.filter(some(records, rows)) if records else rows
        self.meter.guarded += rows.num_rows - left.num_rows
        return left

    def let_out(self: Operator, rows: pa.Table, guards: Guards) -> pa.Table:
        keep = wanted(guards.output, rows)
        if guards.ignored or isinstance(self, Top | Distinct):
            left = rows if keep is None else rows.filter(pa.array(keep))
        else:
            left = rows.filter(some(guards.output, rows))
        self.meter.guarded += 0 if guards.makes_rows else rows.num_rows - left.num_rows
        return left

    with monkeypatch.context() as patched:
        patched.setattr(Operator, "let_in", let_in)
        patched.setattr(Operator, "_let_out", let_out)
        yield
