"""Difference, intersection and looks into tables, in any order and cut, equal DuckDB's answers over whole tables."""

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
from support.harness import cut, stray

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
Row = dict[str, Any]
PAIR = "a.k IS NOT DISTINCT FROM b.k AND a.v IS NOT DISTINCT FROM b.v AND floor(a.ts / 7) = floor(b.ts / 7)"
ASKED: dict[str, tuple[str, dict[str, Any], str]] = {
    "difference": ("difference", {}, "SELECT * FROM a EXCEPT SELECT * FROM b"),
    "intersection": ("intersect", {}, "SELECT * FROM a INTERSECT SELECT * FROM b"),
    "difference by window": (
        "difference", {"window": 7}, f"SELECT DISTINCT * FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {PAIR})",
    ),
    "intersection by window": (
        "intersect", {"window": 7}, f"SELECT DISTINCT * FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {PAIR})",
    ),
}  # fmt: skip


def some(rnd: random.Random, n: int) -> list[Row]:
    """Few different rows, so that many are equal."""
    times = sorted(rnd.randint(-5, 25) for _ in range(n))
    return [{"ts": ts, "k": rnd.choice(["u", "v", None]), "v": rnd.choice([0, 1, None])} for ts in times]


def arriving(rnd: random.Random, rows: list[Row]) -> list[ms.Epoch]:
    """The rows disordered, in epochs, some with the best promise there is."""
    epochs, out, promised = cut(stray(rows, rnd.choice([0, 4]), rnd), rnd, 9), list[ms.Epoch](), -100
    for i, one in enumerate(epochs):
        best = min((row["ts"] for epoch in epochs[i + 1 :] for row in epoch), default=promised)
        promises = [ms.punctuation("ts", before=best)] if best > promised and rnd.random() < 0.7 else []
        promised = best if promises else promised
        out.append(ms.Epoch(pa.Table.from_pylist(one, schema=SCHEMA), promises))
    return out


def by_duckdb(text: str, **tables: pa.Table) -> Counter[tuple[Any, ...]]:
    with duckdb.connect() as db:
        for name, table in tables.items():
            db.register(name, table)
        return Counter(db.execute(text).fetchall())


def answer(query: ms.Query) -> Counter[tuple[Any, ...]]:
    query.engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return Counter(tuple(row.values()) for row in query.table().to_pylist())


def play(engine: ms.Engine, asked: str, seed: int) -> None:
    rnd = random.Random(seed)
    rows = [some(rnd, rnd.choice([0, 10, 60])) for _ in range(2)]
    a, b = (
        engine.stream(name, arriving(rnd, some_rows), schema=SCHEMA, progress=ms.supplied("ts"))
        for name, some_rows in zip("ab", rows, strict=True)
    )
    method, options, text = ASKED[asked]
    query = getattr(a, method)(b, **options).named("q")
    left, right = (pa.Table.from_pylist(one, schema=SCHEMA) for one in rows)

    assert by_duckdb(text, a=left, b=right) == answer(query)


@pytest.mark.parametrize("asked", ASKED)
def test_rows_compared_whole_are_those_of_whole_tables(asked: str) -> None:
    for seed in range(15):
        play(ms.Engine(host="local"), asked, seed)


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("partitions", [1, 3])
def test_rows_compared_by_tasks_are_those_too(asked: str, partitions: int, tmp_path: Path) -> None:
    for seed in range(4):
        play(in_process.engine(tmp_path / str(seed), partitions), asked, seed)


@pytest.mark.parametrize("word", ["EXCEPT", "INTERSECT", "EXCEPT DISTINCT", "MINUS"])
def test_statements_ask_the_same(word: str) -> None:
    rnd = random.Random(3)
    rows = [some(rnd, 40) for _ in range(3)]
    engine = ms.Engine(host="local")
    for name, some_rows in zip("abc", rows, strict=True):
        engine.stream(name, arriving(rnd, some_rows), schema=SCHEMA, progress=ms.supplied("ts"))
    text = f"SELECT ts, k FROM a UNION SELECT ts, k FROM c {word} SELECT ts, k FROM b INTERSECT SELECT ts, k FROM c"
    query = engine.sql(text, name="q")
    tables = {name: pa.Table.from_pylist(one, schema=SCHEMA) for name, one in zip("abc", rows, strict=True)}

    assert by_duckdb(text.replace("MINUS", "EXCEPT"), **tables) == answer(query)


# --- tables -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["inner", "left"])
@pytest.mark.parametrize("condition", [None, "a_v > b_v", "a_v > b_v AND a_ts < b_ts + 9"])
@pytest.mark.parametrize("keys", [("k",), ("k", "v"), ()])
def test_a_look_into_a_table_is_a_join_of_whole_tables(
    how: str, condition: str | None, keys: tuple[str, ...], tmp_path: Path
) -> None:
    for seed, partitions in ((0, 0), (1, 0), (2, 3)):
        rnd = random.Random(seed)
        rows, beside = some(rnd, 60), pa.Table.from_pylist(some(rnd, 30), schema=SCHEMA)
        engine = in_process.engine(tmp_path / "checkpoint", partitions) if partitions else ms.Engine(host="local")
        a = engine.stream("a", arriving(rnd, rows), schema=SCHEMA, progress=ms.supplied("ts"))
        first = a.select("ts AS a_ts", "k AS a_k", "v AS a_v")
        table = beside.rename_columns(["b_ts", "b_k", "b_v"])
        query = first.enrich(table, on=[(f"a_{key}", f"b_{key}") for key in keys], how=how, where=condition).named("q")
        on = " AND ".join([*(f"a_{key} = b_{key}" for key in keys), condition or "TRUE"])
        left = pa.Table.from_pylist(rows, schema=SCHEMA).rename_columns(["a_ts", "a_k", "a_v"])

        assert by_duckdb(f"SELECT * FROM a {how} JOIN b ON {on}", a=left, b=table) == answer(query)
