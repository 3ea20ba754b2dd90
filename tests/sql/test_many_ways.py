"""FROM with three and more streams is one join of many where that costs less, and means what DuckDB makes of it."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import millstream as ms
from support import in_process, many

TEXTS = {
    "a common key": "SELECT a.id, b.id, c.id FROM a JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - 3 AND a.ts + 3 "
    "JOIN c ON c.k = b.k AND c.ts BETWEEN b.ts AND b.ts + 4",
    "a chain": "SELECT a.id, b.id, c.id FROM a JOIN b ON a.x = b.x AND b.ts BETWEEN a.ts - 3 AND a.ts + 3 "
    "JOIN c ON c.y = b.y AND c.ts > b.ts - 4 AND c.ts < b.ts + 4 AND c.x <> a.y WHERE a.id % 3 <> 1",
    "in WHERE": "SELECT a.id, b.id, c.id FROM a, b, c WHERE a.k = b.k AND b.ts - a.ts BETWEEN 0 AND 5 "
    "AND c.ts - a.ts BETWEEN -2 AND 2 AND abs(b.y - c.y) < 2",
    "using": "SELECT a.id, b.id, c.id FROM a JOIN b USING (k) JOIN c USING (k) "
    "WHERE b.ts - a.ts BETWEEN 0 AND 5 AND c.ts - a.ts BETWEEN -2 AND 2",
    "four": "SELECT a.id, b.id, c.id, d.id FROM a JOIN b ON a.x = b.x AND abs(a.ts - b.ts) <= 100 "
    "AND b.ts BETWEEN a.ts - 3 AND a.ts + 3 JOIN c ON c.y = b.y AND c.ts BETWEEN b.ts AND b.ts + 2 "
    "JOIN d ON d.k = a.k AND d.ts BETWEEN c.ts - 2 AND c.ts",
    "two columns of one stream": "SELECT a.id, b.id, c.id FROM a JOIN b ON a.x = b.x AND a.y = b.x "
    "AND b.ts BETWEEN a.ts - 3 AND a.ts + 3 JOIN c ON c.k = b.k AND c.ts BETWEEN b.ts AND b.ts + 4",
}


def play(engine: ms.Engine, text: str, rows: dict[str, list[many.Row]], rnd: random.Random) -> Counter[Any]:
    for name, some in rows.items():
        engine.stream(name, many.arriving(rnd, some), schema=many.SCHEMA, progress=ms.supplied("ts"))
    names = [f"{name}.id AS {name}_id" for name in rows if f"{name}.id" in text]
    asked = f"SELECT {', '.join(names)} FROM {text.split(' FROM ', 1)[1]}"
    query = engine.sql(asked, name="q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return Counter(zip(*(column.to_pylist() for column in query.table().columns), strict=True))


def whole(text: str, rows: dict[str, list[many.Row]]) -> Counter[Any]:
    with duckdb.connect() as db:
        for name, some in rows.items():
            db.register(name, pa.Table.from_pylist(some, schema=many.SCHEMA))
        return Counter(db.execute(text).fetchall())


@pytest.mark.parametrize("name", TEXTS)
def test_a_chain_of_joins_means_the_same_to_duckdb(name: str, tmp_path: Path) -> None:
    for seed in range(2):
        rnd = random.Random(f"{name} {seed}")
        rows = {one: many.some_rows(rnd, 45, span=50) for one in ("abcd" if "d.id" in TEXTS[name] else "abc")}
        for engine in (ms.Engine(host="local"), in_process.engine(tmp_path / str(seed), 2)):
            assert whole(TEXTS[name], rows) == play(engine, TEXTS[name], rows, rnd)


def test_windows_after_every_stream_are_those_of_the_spec() -> None:
    """§1.2: all combinations in which each row is less than its window older than the latest."""
    rnd = random.Random(3)
    rows = {name: many.some_rows(rnd, 40, span=40) for name in "abc"}
    text = (
        "SELECT a.id, b.id, c.id FROM a [RANGE 3, WATTR ts], b [RANGE 6, WATTR ts], c [RANGE 2, WATTR ts] "
        "WHERE a.k = b.k AND b.x = c.x"
    )
    latest = "greatest(a.ts, b.ts, c.ts)"
    same = (
        "SELECT a.id, b.id, c.id FROM a, b, c WHERE a.k = b.k AND b.x = c.x "
        f"AND {latest} - a.ts < 3 AND {latest} - b.ts < 6 AND {latest} - c.ts < 2"
    )
    assert whole(same, rows) == play(ms.Engine(host="local"), text, rows, rnd)


def test_explain_says_that_it_is_one_operator_and_why() -> None:
    engine = ms.Engine(host="local")
    for name in "abc":
        engine.stream(name, [], schema=many.SCHEMA, progress=ms.ordered("ts"))
    engine.sql(TEXTS["a chain"].replace("a.id, b.id, c.id", "a.id"), name="q")
    shown = engine.explain()
    assert "one operator: rows of 3 streams kept once" in shown
    assert "kept in a chain of joins of two" in shown


def test_a_join_of_many_without_a_bound_is_refused_at_its_place() -> None:
    engine = ms.Engine(host="local")
    for name in "abc":
        engine.stream(name, [], schema=many.SCHEMA, progress=ms.ordered("ts"))
    text = "SELECT a.id FROM a [RANGE 3, WATTR ts], b [RANGE 3, WATTR ts], c WHERE a.k = b.k AND b.k = c.k"
    engine.sql(text, name="q")
    with pytest.raises(ms.ContractError, match="keeps the rows of c for ever"):
        engine.start(ms.available_now())
