"""Plans with several joins: joins above windows above joins, and windows on the times of both sides of a pair."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import millstream as ms
from support import in_process
from support.joins import arriving, rows, streams, table

pytestmark = pytest.mark.slow

HOSTS = ["local", "one task", "three tasks"]


def engine_on(host: str, folder: Path) -> ms.Engine:
    return ms.Engine(host="local") if host == "local" else in_process.engine(folder, 1 if host == "one task" else 3)


def given(seed: int) -> tuple[list[Any], list[Any], list[ms.Epoch], list[ms.Epoch]]:
    rnd = random.Random(seed)
    left, right = rows(rnd, 60, span=120), rows(rnd, 60, span=120)
    return left, right, arriving(rnd, left), arriving(rnd, right, name="ts2")


def by_duckdb(text: str, left: list[Any], right: list[Any]) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as db:
        db.register("a", table(left))
        db.register("b", table(right, second=True))
        return Counter(db.execute(text).fetchall())


def left_of(query: ms.Query) -> Counter[tuple[Any, ...]]:
    found: pa.Table = query.table()
    return Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("seed", range(8))
def test_a_join_of_counts_of_a_join_equals_that_of_whole_tables(host: str, seed: int, tmp_path: Path) -> None:
    """Join, then a sliding count, then a join with a third reading of the stream."""
    engine = engine_on(host, tmp_path)
    left, right, first, second = given(seed)
    a, b = streams(engine, first, second)
    pairs = a.join(b, on=[("k", "k2")], within=(-5, 5))
    counts = pairs.window("ts", range=20, slide=10).group_by("k").agg(n=ms.count())
    query = (
        counts.join(b, on=[("k", "k2")], within=(0, 15), time=("window_end", "ts2"))
        .select("k", "window_end", "n", "id2", "ts2")
        .named("q")
    )

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    wanted = by_duckdb(
        """
        WITH pairs AS (SELECT a.ts, a.k FROM a JOIN b ON a.k = b.k2 AND b.ts2 - a.ts BETWEEN -5 AND 5),
        counts AS (
            SELECT k, 10 * w + 20 AS window_end, count(*) AS n
            FROM (SELECT k, floor(ts / 10)::BIGINT - unnest([0, 1]) AS w FROM pairs)
            GROUP BY k, w)
        SELECT k, window_end, n, id2, ts2 FROM counts JOIN b ON k = k2 AND ts2 - window_end BETWEEN 0 AND 15
        """,
        left,
        right,
    )
    assert wanted == left_of(query)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("which", ["greatest", "least"])
def test_windows_on_the_later_or_the_earlier_time_of_a_pair(host: str, which: str, tmp_path: Path) -> None:
    for seed in range(4):
        engine = engine_on(host, tmp_path / str(seed))
        left, right, first, second = given(seed)
        a, b = streams(engine, first, second)
        pairs = a.join(b, on=[("k", "k2")], within=(-5, 9)).select("k", f"{which}(ts, ts2) AS at")
        query = pairs.window("at", range=10).group_by("k").agg(n=ms.count()).named("q")

        assert engine.check().safe, str(engine.check())
        engine.start(ms.available_now(), end_of_stream=True).await_termination()

        wanted = by_duckdb(
            f"SELECT floor({which}(ts, ts2) / 10)::BIGINT AS w, k, count(*) FROM a JOIN b "
            "ON a.k = b.k2 AND b.ts2 - a.ts BETWEEN -5 AND 9 GROUP BY ALL",
            left,
            right,
        )
        found = query.table()
        columns = (found[name].to_pylist() for name in ("window_start", "k", "n"))
        assert wanted == Counter((start // 10, k, n) for start, k, n in zip(*columns, strict=True))


def test_the_later_time_of_a_pair_is_known_earlier_than_either_alone() -> None:
    """Spec F10: either bound suffices for the greatest, and both together say more than each; the least needs both."""
    engine = ms.Engine(host="local")
    empty = [ms.Epoch(table([]), [ms.punctuation("ts", before=100)])]
    other = [ms.Epoch(table([], second=True), [ms.punctuation("ts2", before=90)])]
    a, b = streams(engine, empty, other)
    pairs = a.join(b, on=[("k", "k2")], within=(-5, 9))
    pairs.select("k", "greatest(ts, ts2) AS last", "least(ts, ts2) AS first", "ts", "ts2").named("q")

    engine.start(ms.available_now()).await_termination()

    told = engine.host.graph.at(engine.host.queries["q"].node).told
    assert {"ts": 81, "ts2": 90, "last": 90, "first": 81} == told.linear


def test_counts_by_both_times_leave_by_joint_punctuation() -> None:
    """The group is complete when no pair below both bounds can come, though neither time alone is that far."""
    engine = ms.Engine(host="local")
    row = {"k": "a", "j": 0, "v": 0, "id": 0}
    first = [ms.Epoch(table([{**row, "ts": 1}]), [ms.punctuation("ts", before=2)])]
    second = [ms.Epoch(table([{**row, "ts": 1}], second=True), [ms.punctuation("ts2", before=2)])]
    a, b = streams(engine, first, second)
    pairs = a.join(b, on=[("k", "k2")], within=(-5, 5))
    query = pairs.window("ts", range=1).group_by("ts2").agg(n=ms.count()).named("q")

    engine.start(ms.available_now()).await_termination()

    assert [(1, 1, 1)] == [(r["window_start"], r["ts2"], r["n"]) for r in query.table().to_pylist()]
