"""What is named twice counts once; and thousands of queries are declared, explained and started in linear time."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

import millstream as ms

ROWS = [{"ts": i, "k": "ab"[i % 2], "v": i} for i in range(6)]


def answer(ask: Callable[[ms.Stream], ms.Query]) -> list[dict[str, object]]:
    engine = ms.Engine(host="local")
    query = ask(engine.stream("s", ROWS, progress=ms.ordered("ts"))).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return sorted(query.table().to_pylist(), key=repr)


@pytest.mark.parametrize(
    ("once", "twice"),
    [
        (lambda s: s.distinct("k"), lambda s: s.distinct("k", "k")),
        (lambda s: s.window("ts", range=2).group_by("k").agg(n=ms.count()),
         lambda s: s.window("ts", range=2).group_by("k", "k").agg(n=ms.count())),
        (lambda s: s.window(by="rows", range=2, partition_by="k").agg(n=ms.count()),
         lambda s: s.window(by="rows", range=2, partition_by=["k", "k"]).agg(n=ms.count())),
        (lambda s: s.top(1, per="ts", by="v"), lambda s: s.top(1, per=["ts", "ts"], by=["v", "v"])),
        (lambda s: s.join(s, on="k", within=1), lambda s: s.join(s, on=["k", "k"], within=1)),
    ],
    ids=["distinct", "group", "partition", "top", "join"],
)  # fmt: skip
def test_a_column_that_is_named_twice_counts_once(
    once: Callable[[ms.Stream], ms.Query], twice: Callable[[ms.Stream], ms.Query]
) -> None:
    assert answer(once) == answer(twice)


def test_a_window_of_your_own_that_returns_an_id_twice_holds_a_row_once() -> None:
    (row,) = answer(
        lambda s: s.window("ts", extent=lambda w: (w * 10, w * 10 + 10), wids=lambda a: [a // 10, a // 10]).agg(
            n=ms.count(), total=ms.sum("v")
        )
    )

    assert (6, 15) == (row["n"], row["total"])


def seconds(count: int) -> float:
    """How long it takes to declare, explain and start so many queries; half of them are of one shape."""
    engine = ms.Engine(host="local")
    stream = engine.stream("s", ROWS, progress=ms.ordered("ts"))
    began = time.process_time()
    for i in range(count // 2):
        stream.window("ts", range=10).group_by("k").agg(n=ms.count()).to_nothing().named(f"w{i}")
        engine.sql(f"SELECT k FROM s WHERE v > {i}", name=f"v{i}").to_nothing()
    engine.explain()
    engine.start(ms.available_now()).stop()
    return time.process_time() - began


def test_ten_times_the_queries_take_about_ten_times_as_long() -> None:
    seconds(20)
    few, many = seconds(100), seconds(1000)

    assert many < 25 * few


def test_many_readers_of_a_part_are_counted_and_not_listed() -> None:
    engine = ms.Engine(host="local")
    counts = engine.stream("s", ROWS, progress=ms.ordered("ts")).window("ts", range=10).agg(n=ms.count())
    for i in range(9):
        counts.where(f"n > {i}").named(f"q{i}")

    assert "shared with q1, q2, q3, q4, q5 and 3 more" in engine.explain()
