"""Joins under any order, any cut into epochs and any number of partitions equal DuckDB's join of the whole tables."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest

import millstream as ms
from support import in_process
from support.joins import KINDS, NEAR, SHAPES, Case, Row, arriving, rows, streams, table


def play(engine: ms.Engine, case: Case, seed: int) -> None:
    rnd = random.Random(seed)
    left = rows(rnd, rnd.choice([0, 5, 60]), span=rnd.choice([20, 90]))
    right = rows(rnd, rnd.choice([0, 5, 60]), span=rnd.choice([20, 90]))
    a, b = streams(engine, arriving(rnd, left), arriving(rnd, right, name="ts2"))
    query = case.query(a, b).named("q")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert case.got(query.table()) == case.answer(table(left), table(right, second=True))


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_join_equals_that_of_whole_tables(how: str, near: str, shape: str) -> None:
    for seed in range(4):
        play(ms.Engine(host="local"), Case.of(how, near, **SHAPES[shape]), seed)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_a_join_by_tasks_equals_it_too(how: str, near: str, partitions: int, tmp_path: Path) -> None:
    for seed, shape in enumerate(SHAPES.values()):
        play(in_process.engine(tmp_path / str(seed), partitions), Case.of(how, near, **shape), seed)


ENDS = ["b.ts2 {} a.ts - 4 AND b.ts2 {} a.ts + 6".format(*ends) for ends in product((">", ">="), ("<", "<="))]
WORDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("ends", ENDS)
def test_sql_with_strict_and_closed_ends_means_the_same_to_duckdb(word: str, ends: str, tmp_path: Path) -> None:
    text = f"SELECT a.id, b.id2 FROM a {word} b ON a.k = b.k2 AND {ends} AND a.v <> b.v2"
    for seed in range(2):
        rnd = random.Random(seed)
        left, right = rows(rnd, 60, span=90), rows(rnd, 50, span=90)
        for engine in (ms.Engine(host="local"), in_process.engine(tmp_path / str(seed), 2)):
            streams(engine, arriving(rnd, left), arriving(rnd, right, name="ts2"))
            query = engine.sql(text, name="q")
            engine.start(ms.available_now(), end_of_stream=True).await_termination()
            found = query.table()
            pairs = zip(found["id"].to_pylist(), found["id2"].to_pylist(), strict=True)
            assert whole(text, left, right) == Counter(pairs)


TEXTS = {
    "a band and a condition on values": "SELECT a.id, b.id2 FROM a JOIN b "
    "ON b.ts2 BETWEEN a.ts - 2 AND a.ts + 2 AND abs(a.v - b.v2) < 3",
    "differences of times": "SELECT a.id, b.id2 FROM a, b WHERE b.ts2 - a.ts < 4 AND a.ts - b.ts2 <= 1 AND a.v < b.v2",
    "semi": "SELECT a.id FROM a SEMI JOIN b ON a.k = b.k2 AND a.ts = b.ts2",
    "anti, by a value": "SELECT a.id FROM a ANTI JOIN b ON b.ts2 BETWEEN a.ts AND a.ts + 3 AND a.v = b.v2",
}


@pytest.mark.parametrize("name", TEXTS)
def test_sql_of_other_shapes_means_the_same_to_duckdb(name: str) -> None:
    for seed in range(3):
        rnd = random.Random(seed)
        left, right = rows(rnd, 60, span=90), rows(rnd, 50, span=90)
        engine = ms.Engine(host="local")
        streams(engine, arriving(rnd, left), arriving(rnd, right, name="ts2"))
        query = engine.sql(TEXTS[name], name="q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        found = Counter(zip(*(column.to_pylist() for column in query.table().columns), strict=True))
        assert whole(TEXTS[name], left, right) == found


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 4), (3, 2), (5, 5)])
def test_windows_after_both_streams_pair_the_rows_that_share_a_window(first: int, second: int) -> None:
    """Spec §2.7: a row is in the windows from its own time on, as many as its RANGE; a pair that shares many is one."""
    rnd = random.Random(first * 10 + second)
    left, right = rows(rnd, 40, span=30), rows(rnd, 40, span=30)
    engine = ms.Engine(host="local")
    streams(engine, arriving(rnd, left), arriving(rnd, right, name="ts2"))
    text = f"SELECT a.id, b.id2 FROM a [RANGE {first}, WATTR ts], b [RANGE {second}, WATTR ts2] WHERE a.k = b.k2"
    query = engine.sql(text, name="q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    shared = {
        (one["id"], other["id"])
        for one in left
        for other in right
        if one["k"] is not None and one["k"] == other["k"]
        and {*range(one["ts"], one["ts"] + first)} & {*range(other["ts"], other["ts"] + second)}
    }  # fmt: skip
    found = query.table()
    assert shared
    assert sorted(shared) == sorted(zip(found["id"].to_pylist(), found["id2"].to_pylist(), strict=True))


@pytest.mark.parametrize("partitions", [0, 3])
def test_a_stream_joined_with_itself(partitions: int, tmp_path: Path) -> None:
    text = "SELECT x.id AS one, y.id AS other FROM a x JOIN a y ON x.k = y.k AND y.ts BETWEEN x.ts AND x.ts + 5"
    for seed in range(6):
        rnd = random.Random(seed)
        left = rows(rnd, 60, span=90)
        place = tmp_path / str(seed)
        engine = in_process.engine(place, partitions) if partitions else ms.Engine(host="local")
        streams(engine, arriving(rnd, left), [])
        query = engine.sql(text, name="q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        found = query.table()
        assert whole(text, left, []) == Counter(zip(*(column.to_pylist() for column in found.columns), strict=True))


def whole(text: str, left: list[Row], right: list[Row]) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as db:
        db.register("a", table(left))
        db.register("b", table(right, second=True))
        return Counter(db.execute(text).fetchall())
