"""Spark gives the bags that the local host gives: every window, strategy and aggregate, at 1, 2 and 5 partitions."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from support.harness import SCHEMA, cut, some_rows, stray

pytestmark = pytest.mark.spark

EVERY = {
    "n": ms.count(),
    "nv": ms.count("v"),
    "total": ms.sum("v"),
    "mean": ms.avg("v"),
    "low": ms.min("v"),
    "high": ms.max("v"),
    "word": ms.max("k"),
    "floats": ms.sum("f"),
    "spread": ms.var_pop("v"),
    "newest": ms.max_by("v", "ts"),
    "first": ms.first("v"),
    "different": ms.count_distinct("v"),
    "about": ms.approx_distinct("v"),
    "middle": ms.median("v"),
    "near_middle": ms.approx_quantile("v", 0.5),
    "often": ms.mode("v"),
    "heavy": ms.heavy_hitters("v", 0.4),
    "some": ms.sum("v", filter="v > 2"),
    "own": ms.udaf(lambda values: len(values), "v", returns="int64"),
    "own_partials": ms.udaf_algebraic(
        "v",
        lift=lambda values: sorted(values.to_pylist())[-2:],
        combine=lambda a, b: sorted(a + b)[-2:],
        lower=lambda most: sum(most),
        partial=pa.list_(pa.int64()),
        returns="int64",
    ),
    "average": ms.mean("v"),
    "sample": ms.variance("v"),
    "deviation": ms.stddev("v"),
    "deviation_of_all": ms.stddev_pop("v"),
    "oldest": ms.min_by("v", "ts"),
    "last_one": ms.last("v"),
    "all_large": ms.bool_and("v > 2"),
    "any_large": ms.bool_or("v > 2"),
    "quarter": ms.quantile("v", 0.25),
    "about_heavy": ms.approx_heavy_hitters("v", 0.4),
}
BOUNDED = {name: EVERY[name] for name in ("n", "total", "high", "floats", "newest")}
WINDOWS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sliding": ({"range": 20, "slide": 5}, EVERY),
    "tumbling": ({"range": 10}, BOUNDED),
    "gaps": ({"range": 3, "slide": 7}, BOUNDED),
    "from a start": ({"range": 20, "slide": 5, "start": 11}, BOUNDED),
    "several": ({"range": [10, 20, 40], "slide": 10}, BOUNDED),
    "landmark": ({"range": "all", "slide": 15}, EVERY),
    "session": ({"gap": 3}, BOUNDED),
    "slide by tuple": ({"range": 12, "per": "tuple"}, BOUNDED),
    "slide by rank": ({"range": 12, "slide": 3, "per": "rank"}, EVERY),
    "user-defined": ({"extent": lambda w: (w * 10, w * 10 + 4), "wids": lambda a: [a // 10] * (a % 10 < 4)}, BOUNDED),
}
STRATEGIES = ("wid", "paned", "differential", "buffered", "adaptive")


def epochs(seed: int) -> list[pa.Table]:
    rnd = random.Random(seed)
    rows = stray(some_rows(rnd, 120, 150), 8, rnd)
    return [pa.Table.from_pylist(one, schema=SCHEMA) for one in cut(rows, rnd, 60)]


def bag(query: ms.Query) -> list[str]:
    return sorted(map(repr, query.table().to_pylist()))


def ask(engine: ms.Engine, tables: list[pa.Table], window: dict[str, Any], calls: dict[str, Any], **more: Any) -> Any:
    stream = engine.stream("s", list(tables), schema=SCHEMA, progress=ms.bounded_disorder("ts", 8))
    query = stream.where("v > 0 OR v IS NULL").window("ts", **window).group_by("k").agg(**calls, **more).named("q")
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    return query, run


@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("kind", WINDOWS)
def test_every_window_answers_as_on_the_local_host(spark: Any, kind: str, partitions: int) -> None:
    window, calls = WINDOWS[kind]
    tables = epochs(len(kind))
    here, here_run = ask(ms.Engine(host="local"), tables, window, calls)

    there, there_run = ask(ms.Engine(spark, partitions=partitions), tables, window, calls)

    assert bag(here) == bag(there)
    assert here_run.progress["queries"]["q"]["books"] == there_run.progress["queries"]["q"]["books"]


@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_answers_as_on_the_local_host(spark: Any, strategy: str, partitions: int) -> None:
    tables = epochs(3)
    here, _ = ask(ms.Engine(host="local"), tables, {"range": 20, "slide": 5}, EVERY)

    engine = ms.Engine(spark, partitions=partitions)
    there, _ = ask(engine, tables, {"range": 20, "slide": 5}, EVERY, strategy=strategy)

    assert bag(here) == bag(there)


@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("partition_by", [(), ("k",)])
def test_row_windows_count_rows_in_the_order_they_came(
    spark: Any, partition_by: tuple[str, ...], partitions: int
) -> None:
    def rows(engine: ms.Engine) -> ms.Query:
        stream = engine.stream("s", epochs(5), schema=SCHEMA, progress=ms.bounded_disorder("ts", 8))
        windowed = stream.window(range=10, slide=4, by="rows", partition_by=partition_by)
        query = windowed.agg(n=ms.count(), high=ms.max("v"), first=ms.first("v")).named("q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return query

    assert bag(rows(ms.Engine(host="local"))) == bag(rows(ms.Engine(spark, partitions=partitions)))


def test_operators_in_a_row_and_several_streams_share_one_epoch(spark: Any) -> None:
    def chain(engine: ms.Engine) -> dict[str, list[str]]:
        one = engine.stream("one", epochs(6), schema=SCHEMA, progress=ms.bounded_disorder("ts", 8))
        two = engine.stream("two", epochs(7), schema=SCHEMA, progress=ms.bounded_disorder("ts", 8))
        both = one.union(two)
        counts = both.window("ts", range=10, slide=5).group_by("k").agg(n=ms.count())
        busiest = counts.window("window_end", range=20).agg(most=ms.max("n"), windows=ms.count()).named("busiest")
        seen = both.select("k", "v").distinct().named("seen")
        ordered = one.where("v = 3").sort("ts").named("ordered")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return {query.name or "": bag(query) for query in (busiest, seen, ordered)}

    assert chain(ms.Engine(host="local")) == chain(ms.Engine(spark, partitions=2))
