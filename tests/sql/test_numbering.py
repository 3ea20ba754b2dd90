"""ROW_NUMBER, QUALIFY and top: what DuckDB answers over the whole, whatever the order and the epochs."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.core.errors import ContractError, MillstreamError
from support.harness import SCHEMA, cut, punctuated, some_rows

pytestmark = pytest.mark.slow

COUNTS = "SELECT window_end, k, count(*) AS n FROM s [RANGE 10, SLIDE 5, WATTR ts] GROUP BY k"
NUMBERED = "SELECT window_end, k, n, ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY n DESC, k) AS r FROM counts"
OF_DUCKDB = """
    WITH counts AS (
        SELECT (ts // 5 + 1 + i) * 5 AS window_end, k, count(*) AS n FROM (SELECT * FROM s), range(2) AS of(i)
        GROUP BY ALL
    )
"""
TEXTS = {
    "a filter above": (f"SELECT * FROM ({NUMBERED}) WHERE r <= 2", f"{NUMBERED} QUALIFY r <= 2"),
    "one turned round": (
        f"SELECT * FROM ({NUMBERED}) WHERE 3 > r AND n > 1",
        f"SELECT * FROM ({NUMBERED}) WHERE r < 3 AND n > 1",
    ),
    "any number": (f"SELECT * FROM ({NUMBERED}) WHERE r = 2", f"{NUMBERED} QUALIFY r = 2"),
    "all of them": (NUMBERED, NUMBERED),
    "qualify": (f"{NUMBERED} QUALIFY r = 1", f"{NUMBERED} QUALIFY r = 1"),
    "qualify alone": (
        "SELECT k, n FROM counts QUALIFY ROW_NUMBER() OVER (PARTITION BY window_end, k ORDER BY n) < 2",
        "SELECT k, n FROM counts QUALIFY ROW_NUMBER() OVER (PARTITION BY window_end, k ORDER BY n) < 2",
    ),
    "of the time itself": (
        "SELECT ts, v FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY ts ORDER BY v DESC) <= 1",
        "SELECT ts, v FROM s QUALIFY ROW_NUMBER() OVER (PARTITION BY ts ORDER BY v DESC NULLS LAST) <= 1",
    ),
}  # fmt: skip


def bag(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in table.to_pylist())


@pytest.mark.parametrize("name", TEXTS)
@given(seed=st.integers(0, 2**32))
def test_numbers_do_not_depend_on_arrival(name: str, seed: int) -> None:
    rnd = random.Random(seed)
    rows = some_rows(rnd, 40, 60, low=0, keys=["a", "b", "c", "d"])
    arriving = list(rows)
    rnd.shuffle(arriving)
    engine = ms.Engine(host="local")
    epochs = punctuated(cut(arriving, rnd), rnd)
    engine.stream("s", epochs or [ms.Epoch(SCHEMA.empty_table())], schema=SCHEMA, progress=ms.supplied("ts"))
    mine, theirs = TEXTS[name]
    query = engine.sql(f"WITH counts AS ({COUNTS}) {mine}", name="q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    with duckdb.connect() as connection:
        connection.register("s", pa.Table.from_pylist(rows, schema=SCHEMA))
        wanted = connection.sql(f"{OF_DUCKDB} {theirs}").to_arrow_table()
    assert bag(wanted) == bag(query.table())


@given(seed=st.integers(0, 2**32))
def test_groups_leave_when_they_are_over(seed: int) -> None:
    rnd = random.Random(seed)
    rows = some_rows(rnd, 30, 60, keys=["a", "b", "c"])
    epochs = cut(rows, rnd)
    left: list[tuple[int, dict[str, Any]]] = []
    engine = ms.Engine(host="local")
    later = [{row["k"] for epoch in epochs[i + 1 :] for row in epoch} for i in range(len(epochs))]
    over = [[key for key in "abc" if key not in left_over] for left_over in later]
    fresh = [[key for key in keys if not i or key not in over[i - 1]] for i, keys in enumerate(over)]
    marked = [ms.Epoch(part, [ms.punctuation(k=key) for key in keys]) for part, keys in zip(epochs, fresh, strict=True)]
    stream = engine.stream("s", marked, schema=SCHEMA, progress=ms.supplied(per="k"))
    top = stream.top(2, per="k", by=["v DESC", "ts"], number="place").named("q")
    top.for_each(lambda table, epoch: left.extend((epoch, row) for row in table.to_pylist()))
    engine.start(ms.available_now()).await_termination()

    for key in "abc":
        mine = sorted(
            (row for row in rows if row["k"] == key),
            key=lambda row: (row["v"] is None, -(row["v"] or 0), row["ts"], row["f"] is None, row["f"] or 0),
        )
        found = [(epoch, row) for epoch, row in left if row["k"] == key]
        assert [(row["v"], row["ts"]) for row in mine[:2]] == [(row["v"], row["ts"]) for _, row in found]
        assert list(range(1, len(found) + 1)) == [row["place"] for _, row in found]
        last = max((i for i, part in enumerate(epochs) if any(row["k"] == key for row in part)), default=None)
        assert {last} >= {epoch for epoch, _ in found}


def test_no_more_rows_are_kept_than_are_asked_for() -> None:
    engine = ms.Engine(host="local")
    rows = [{"ts": 1, "k": "a", "v": i, "f": None} for i in range(50)]
    engine.stream("s", rows, schema=SCHEMA, progress=ms.bounded_disorder("ts", 5))
    text = "SELECT v, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY v DESC) AS r FROM s"
    engine.sql(f"SELECT v AS value, r FROM ({text}) WHERE r <= 3", name="q")
    assert "top 3 of each ts by v descending" in engine.explain()
    run = engine.start(ms.available_now())
    run.await_termination()

    (top,) = [one for one in run.progress["queries"]["q"]["operators"] if one["operator"] == "top"]
    assert 3 == top["state_rows"]


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"rows": 0, "per": "k", "by": "v"}, "top 0 is no number of rows"),
        ({"rows": True, "per": "k", "by": "v"}, "top True is no number of rows"),
        ({"rows": 1, "per": (), "by": "v"}, "top has no groups"),
        ({"rows": 1, "per": "k", "by": []}, "top has no order"),
        ({"rows": 1, "per": "kk", "by": "v"}, "there is no column 'kk'"),
        ({"rows": 1, "per": "k", "by": "w DESC"}, "there is no column 'w'"),
        ({"rows": 1, "per": "k", "by": "v", "number": "ts"}, "there is a column 'ts' already"),
    ],
)
def test_what_top_cannot_be(arguments: dict[str, Any], fact: str) -> None:
    stream = ms.Engine(host="local").stream("s", [], schema=SCHEMA, progress=ms.ordered("ts"))
    rows = arguments.pop("rows")

    with pytest.raises(MillstreamError, match=fact):
        stream.top(rows, **arguments)


def test_groups_that_never_end_are_refused() -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", [], schema=SCHEMA, progress=ms.ordered("ts"))
    stream.top(3, per="k", by="v DESC").named("q")

    with pytest.raises(ContractError, match="top 3 of each k keeps every k for ever") as caught:
        engine.start(ms.available_now())
    assert "Partition by ts too" in str(caught.value)
