"""Names in statements: any capitals, aliases, stars and groups are called what SQL calls them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millstream as ms

ROWS = [(1, "lamp", 20), (4, "sofa", 95), (3, "lamp", 25), (14, "lamp", 40), (26, "sofa", 99)]
ASKS = [(1, "lamp", 18), (4, "sofa", 90)]
ON = "ON a.item = b.item AND a.ts = b.ts"


def engine() -> ms.Engine:
    out = ms.Engine(host="local")
    bids = [{"ts": ts, "item": item, "price": price} for ts, item, price in ROWS]
    asks = [{"ts": ts, "item": item, "cost": cost} for ts, item, cost in ASKS]
    out.stream("bids", bids, progress=ms.bounded_disorder("ts", 5))
    out.stream("asks", asks, progress=ms.bounded_disorder("ts", 5))
    return out


def answer(text: str) -> list[dict[str, Any]]:
    asked = engine()
    query = asked.sql(text, name="q")
    asked.start(ms.available_now(), end_of_stream=True).await_termination()
    return sorted(query.table().to_pylist(), key=repr)


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT PRICE, B.Item FROM BIDS b", ["price", "item"]),
        ("SELECT BIDS.price, x.price FROM bids BIDS JOIN bids x ON BIDS.ts = x.ts", ["BIDS_price", "x_price"]),
        ("SELECT Bids.price FROM bids AS Bids", ["price"]),
        ("WITH Few AS (SELECT * FROM bids) SELECT price FROM FEW", ["price"]),
        ("WITH BIDS AS (SELECT price FROM bids) SELECT * FROM Bids", ["price"]),
        ("SELECT ROW_NUMBER() OVER (PARTITION BY TS ORDER BY Price) AS n FROM bids QUALIFY N <= 1", ["n"]),
        (f"SELECT a.* FROM bids a LEFT SEMI JOIN asks b {ON}", ["ts", "item", "price"]),
        (f"SELECT * FROM bids a LEFT ANTI JOIN asks b {ON}", ["ts", "item", "price"]),
        (f"SELECT item FROM bids a LEFT SEMI JOIN asks b {ON} WHERE item = 'lamp'", ["item"]),
        (f"SELECT a.* FROM bids a JOIN asks b {ON}", ["ts", "item", "price"]),
        (f"SELECT a.*, cost FROM bids a JOIN asks b {ON}", ["ts", "item", "price", "cost"]),
        (f"SELECT * FROM bids a JOIN asks b {ON}", ["a_ts", "a_item", "price", "b_ts", "b_item", "cost"]),
        ("SELECT * FROM bids JOIN asks USING (item, ts)", ["ts", "item", "price", "cost"]),
        ("SELECT * FROM bids a ASOF JOIN asks b USING (item, ts)", ["a_ts", "item", "price", "b_ts", "cost"]),
        ("SELECT item, count(*) AS n FROM bids JOIN asks USING (item, ts) GROUP BY item", ["item", "n"]),
        (f"SELECT a.item, count(*) AS n FROM bids a JOIN asks b {ON} GROUP BY a.item", ["item", "n"]),
        (f"SELECT a.item, b.item, count(*) FROM bids a JOIN asks b {ON} GROUP BY a.item, b.item",
         ["a_item", "b_item", "count"]),
        (f"SELECT max(a.item), max(b.item) FROM bids a JOIN asks b {ON}", ["max_item", "max_b_item"]),
        (f"WITH j AS (SELECT a.item, count(*) AS n FROM bids a JOIN asks b {ON} GROUP BY a.item) SELECT item, n FROM j",
         ["item", "n"]),
    ],
)  # fmt: skip
def test_columns_are_called_what_they_are_called_in_their_stream(text: str, columns: list[str]) -> None:
    asked = engine()
    query = asked.sql(text, name="q")
    asked.start(ms.available_now(), end_of_stream=True).await_termination()

    assert columns == query.schema.names
    assert query.table().num_rows > 0


def test_groups_over_a_windowed_sub_query_may_name_both_ends_of_the_window() -> None:
    inner = "SELECT item, count(*) AS n FROM bids [RANGE 10, WATTR ts] GROUP BY item"

    both = answer(f"SELECT window_start, window_end, sum(n) AS n FROM ({inner}) GROUP BY window_start, window_end")

    assert [(0, 10, 3), (10, 20, 1), (20, 30, 1)] == [tuple(row.values()) for row in both]
    every = answer(
        f"SELECT window_end, window_id, sum(n) AS n FROM ({inner}) GROUP BY window_id, window_start, window_end"
    )
    assert [(10, 0, 3), (20, 1, 1), (30, 2, 1)] == [tuple(row.values()) for row in every]


def test_a_stream_twice_needs_two_names() -> None:
    with pytest.raises(ms.SqlError, match='two items of FROM are named "Bids"'):
        engine().sql("SELECT count(*) AS n FROM bids JOIN Bids ON bids.ts = Bids.ts")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (f"SELECT b.kost FROM bids a JOIN asks b {ON}", 'Did you mean "cost"? Known: ts, item, cost.'),
        (f"SELECT itm FROM bids a JOIN asks b {ON}", "Known: a.ts, a.item, price, b.ts, b.item, cost."),
        (f"SELECT item FROM bids a JOIN asks b {ON}", "Say which: a.item or b.item."),
    ],
)
def test_hints_name_columns_as_a_statement_does(text: str, hint: str) -> None:
    with pytest.raises(ms.SqlError) as caught:
        engine().sql(text)

    assert str(caught.value.hint).endswith(hint)


def test_a_column_that_looks_like_a_prefixed_one_is_told_apart() -> None:
    asked = ms.Engine(host="local")
    left = [{"ts": 1, "k": "x", "b_k": "own"}]
    asked.stream("a", left, progress=ms.ordered("ts"))
    asked.stream("b", [{"ts": 1, "k": "x"}], progress=ms.ordered("ts"))
    query = asked.sql("SELECT a.b_k, b.k FROM a JOIN b ON a.ts = b.ts AND a.k = b.k", name="q")
    asked.start(ms.available_now(), end_of_stream=True).await_termination()

    assert [{"b_k": "own", "k": "x"}] == query.table().to_pylist()


def test_statements_that_declare_match_in_any_capitals(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("Ts,k\n1,a\n2,b\n")
    text = f"CREATE STREAM s FROM csv '{tmp_path}' OPTIONS (Epoch_Rows 1) PROGRESS ON ts WITHIN 5 PER K"

    asked = ms.Engine(host="local")
    asked.sql(text)

    assert ("k",) == asked._streams["s"].progress.keys  # type: ignore[union-attr]  # per group
    with pytest.raises(ms.SqlError, match='there is a stream or query "S" already'):
        asked.sql(text.replace("STREAM s", "STREAM S"))
    with pytest.raises(ms.SqlError, match='the column "A" is declared twice'):
        asked.sql("CREATE STREAM t (a INT, A INT) FROM csv 'x'")
