"""Queries that are odd in one way or another and share a store of panes: each gives what it gives by itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.plan import nodes
from support.disk import rows_of
from support.in_process import engine as engine_on_disk
from support.window_sets import Left, left_of, near

SCHEMA = pa.schema([("ts", pa.int64()), ("K", pa.string()), ("f", pa.float64()), ("v", pa.int64()), ("at", pa.int64())])
FLOATS = [math.nan, -0.0, 0.0, None, 1.5, math.inf]
ROWS = [
    {"ts": ts, "K": "ab"[ts % 2], "f": FLOATS[ts % 6], "v": ts % 7 if ts % 5 else None, "at": ts if ts % 8 else None}
    for ts in range(60)
]
TABLES = [pa.Table.from_pylist(ROWS[at : at + 10], schema=SCHEMA) for at in range(0, 60, 10)]
Ask = Callable[[ms.Stream], Any]


def widest(values: Any) -> float:
    return float(values.sort()[-1].as_py() - values.sort()[0].as_py())


def counts(stream: Any, *groups: str, **more: Any) -> Any:
    return stream.window("ts", range=10, slide=5).group_by(*groups).agg(n=ms.count(), **more)


def sets() -> dict[str, Sequence[Ask]]:
    width = ms.udaf(widest, "v", returns="float64")
    return {
        "the same text": [lambda s: counts(s, "K"), lambda s: counts(s, "K")],
        "NaN and zeros as groups": [lambda s: counts(s, "f"), lambda s: counts(s, "f", high=ms.max("v")), counts],
        "computed groups": [
            lambda s: counts(s.with_columns(odd="v % 2"), "odd"),
            lambda s: counts(s.with_columns(odd="v % 2"), "odd", total=ms.sum("v")),
            lambda s: counts(s.with_columns(odd="v % 3"), "odd"),
        ],
        "a group named as a column": [
            lambda s: counts(s.select("ts", "upper(K) AS K", "v"), "K"),
            lambda s: counts(s, "K"),
        ],
        "user-defined aggregates": [lambda s: counts(s, "K", w=width), lambda s: counts(s, "K", m=ms.median("v"))],
        "two options of one function": [
            lambda s: counts(s, "K", low=ms.quantile("v", 0.1), high=ms.quantile("v", 0.9)),
            lambda s: counts(s, "K", low=ms.quantile("v", 0.1), about=ms.approx_distinct("v")),
        ],
        "an attribute that is null for some": [
            lambda s: s.window("at", range=10).group_by("K").agg(n=ms.count()),
            lambda s: s.where("v > 2").window("at", range=10, slide=5).group_by("K").agg(n=ms.count()),
            lambda s: s.where("v > 3").window("at", range=20, slide=5).group_by("K").agg(n=ms.count()),
        ],
        "conditions that may fail for a row": [
            lambda s: counts(s.where("12 / (v - 3) > 2"), "K"),
            lambda s: counts(s.where("12 / (v - 4) > 2"), "K"),
            lambda s: counts(s, "K"),
        ],
        "one query upon the other": [
            lambda s: counts(s, "K"),
            lambda s: counts(s, "K").window("window_end", range=20).agg(most=ms.max("n"), total=ms.sum("n")),
            lambda s: counts(s, "K").window("window_end", range=40, slide=20).agg(least=ms.min("n")),
        ],
    }


def play(engine: ms.Engine, asked: Sequence[Ask]) -> list[Left]:
    stream = engine.stream("s", list(TABLES), schema=SCHEMA, progress=ms.bounded_disorder("ts", 3))
    queries = [ask(stream).named(f"q{i}") for i, ask in enumerate(asked)]
    run = engine.start(ms.available_now(), end_of_stream=True, allow_unbounded=True)
    run.await_termination()
    return [left_of(query, run) for query in queries]


@pytest.mark.parametrize("partitions", [0, 1, 3])
@pytest.mark.parametrize("case", sets())
def test_odd_queries_in_company_give_what_each_gives_alone(case: str, partitions: int, tmp_path: Path) -> None:
    asked = sets()[case]
    engine = engine_on_disk(tmp_path, partitions) if partitions else ms.Engine(host="local")
    together = play(engine, asked)
    for ask, found in zip(asked, together, strict=True):
        (alone,) = play(ms.Engine(host="local"), [ask])

        assert {} == near(alone.rows, found.rows)
        assert {} == near(alone.rejected, found.rejected)
        assert alone.books == found.books
        assert alone.rows


def test_names_in_other_capitals_are_one_column() -> None:
    texts = ["SELECT k, count(*) AS N FROM s [RANGE 10, WATTR ts] GROUP BY k"]
    texts += ["SELECT K AS key, count(*) AS n FROM S [RANGE 10, SLIDE 5, WATTR TS] GROUP BY K"]

    def left(*texts: str) -> tuple[int, list[list[dict[str, Any]]]]:
        engine = ms.Engine(host="local")
        engine.stream("s", list(TABLES), schema=SCHEMA, progress=ms.ordered("ts"))
        queries = [engine.sql(text, name=f"q{i}") for i, text in enumerate(texts)]
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        stores = [one for one in engine.host.graph.vertices.values() if isinstance(one.node, nodes.Panes)]
        return len(stores), [query.table().to_pylist() for query in queries]

    stores, together = left(*texts)

    assert 1 == stores
    assert {} == near(left(texts[0])[1][0], together[0])
    assert {} == near(left(texts[1])[1][0], together[1])


@pytest.mark.parametrize("partitions", [1, 3])
def test_draining_one_reader_of_a_store_leaves_the_others_alone(partitions: int, tmp_path: Path) -> None:
    asked: dict[str, Ask] = {
        "short": lambda s: s.window("ts", range=10, slide=5).group_by("K").agg(n=ms.count(), total=ms.sum("v")),
        "long": lambda s: s.window("ts", range=40, slide=5).group_by("K").agg(n=ms.count(), middle=ms.median("v")),
        "some": lambda s: s.where("v > 2").window("ts", range=20).group_by("K").agg(n=ms.count()),
    }

    def life(tables: int, names: Sequence[str]) -> ms.Engine:
        engine = engine_on_disk(tmp_path / "checkpoint", partitions)
        stream = engine.stream("s", list(TABLES[:tables]), schema=SCHEMA, progress=ms.ordered("ts"))
        for name in names:
            asked[name](stream).named(name).to_parquet(tmp_path / name)
        return engine

    def whole(name: str, tables: int) -> list[dict[str, Any]]:
        engine = ms.Engine(host="local")
        stream = engine.stream("s", list(TABLES[:tables]), schema=SCHEMA, progress=ms.ordered("ts"))
        query = asked[name](stream).named(name)
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return query.table().to_pylist()

    life(3, list(asked)).start(ms.available_now()).await_termination()
    drained = life(3, list(asked))
    drained.drain("long")
    drained.start(ms.available_now()).await_termination()  # the engine that drained can go on
    life(6, ["some", "short"]).start(ms.available_now(), end_of_stream=True).await_termination()

    assert {} == near(whole("long", 3), rows_of(tmp_path / "long"))
    assert {} == near(whole("short", 6), rows_of(tmp_path / "short"))
    assert {} == near(whole("some", 6), rows_of(tmp_path / "some"))


def test_a_query_that_has_another_name_after_a_restart_goes_on_in_its_store(tmp_path: Path) -> None:
    def life(tables: int, names: Sequence[str], *, end: bool = False) -> None:
        engine = engine_on_disk(tmp_path / "checkpoint", 2)
        stream = engine.stream("s", list(TABLES[:tables]), schema=SCHEMA, progress=ms.ordered("ts"))
        counts(stream, "K", total=ms.sum("v")).named(names[0]).to_parquet(tmp_path / "first")
        counts(stream.where("v > 2"), "K").named(names[1]).to_parquet(tmp_path / "second")
        engine.start(ms.available_now(), end_of_stream=end).await_termination()

    life(3, ["one", "two"])
    life(6, ["one", "other"], end=True)
    engine = ms.Engine(host="local")
    stream = engine.stream("s", list(TABLES), schema=SCHEMA, progress=ms.ordered("ts"))
    queries = [counts(stream, "K", total=ms.sum("v")).named("a"), counts(stream.where("v > 2"), "K").named("b")]
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert {} == near(queries[0].table().to_pylist(), rows_of(tmp_path / "first"))
    assert {} == near(queries[1].table().to_pylist(), rows_of(tmp_path / "second"))
