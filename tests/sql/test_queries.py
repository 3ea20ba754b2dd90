"""What can be asked besides windows: conditions, expressions, groups, sub-queries, unions, top-n."""

from __future__ import annotations

from datetime import timedelta

import pytest

import millstream as ms
from sql.auction import BIDS, START, answer, by_hand, by_sql, engine

WINDOW = "[RANGE 1 minute, WATTR ts]"


def test_rows_are_filtered_and_computed() -> None:
    found = by_sql("SELECT ts, price * 2 AS twice, upper(item) AS name FROM bids WHERE price > 10 AND item <> 'vase'")

    wanted = [
        (r["ts"], r["price"] * 2, r["item"].upper()) for r in BIDS if (r["price"] or 0) > 10 and r["item"] != "vase"
    ]
    assert sorted(wanted, key=repr) == found


def test_star_is_all_columns() -> None:
    assert sorted((tuple(row.values()) for row in BIDS), key=repr) == by_sql("SELECT * FROM bids")


def test_star_and_more() -> None:
    _, first = engine()[0], by_sql("SELECT bids.*, price + 1 AS more FROM bids WHERE price = 5")

    assert {row[-1] for row in first} == {6}
    assert {len(row) for row in first} == {7}


def test_a_condition_on_aggregates() -> None:
    found = by_sql(
        f"SELECT item, max(price) AS top FROM bids {WINDOW} GROUP BY item "
        "HAVING count(*) > 8 AND top > 10 AND item <> 'vase'"
    )

    hand = by_hand(
        lambda s: (
            s.window("ts", range="1 minute")
            .group_by("item")
            .agg(top=ms.max("price"), n=ms.count())
            .where("n > 8 AND top > 10 AND item <> 'vase'")
            .select("window_id", "window_start", "window_end", "item", "top")
        )
    )
    assert hand == found
    assert found


def test_expressions_over_aggregates() -> None:
    found = by_sql(
        f"SELECT item, max(price) - min(price) AS spread, 1 + count(*) AS n FROM bids {WINDOW} GROUP BY item"
    )

    hand = by_hand(
        lambda s: (
            s.window("ts", range="1 minute")
            .group_by("item")
            .agg(a=ms.max("price"), b=ms.min("price"), c=ms.count())
            .select("window_id", "window_start", "window_end", "item", "a - b AS spread", "1 + c AS n")
        )
    )
    assert hand == found


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT upper(item) AS name, count(*) AS n FROM bids {WINDOW} GROUP BY upper(item)",
        f"SELECT upper(item) AS name, count(*) AS n FROM bids {WINDOW} GROUP BY name",
        f"SELECT upper(item) AS name, count(*) AS n FROM bids {WINDOW} GROUP BY 1",
        f"SELECT name, count(*) AS n FROM (SELECT ts, upper(item) AS name FROM bids) {WINDOW} GROUP BY name",
    ],
)
def test_groups_can_be_computed(text: str) -> None:
    hand = by_hand(
        lambda s: (
            s.select("ts", "upper(item) AS name").window("ts", range="1 minute").group_by("name").agg(n=ms.count())
        )
    )

    assert hand == by_sql(text)


def test_only_the_groups() -> None:
    found = by_sql(f"SELECT item FROM bids {WINDOW} GROUP BY item")

    assert {(row["item"], row["second"] // 60) for row in BIDS} == {
        (row[3], (row[1] - START) // timedelta(minutes=1)) for row in found
    }


def test_an_alias_may_have_the_name_of_anything() -> None:
    found = by_sql(
        f"SELECT window_end, item, max(price) AS strategy, count(*) AS self, min(price) AS `a b` "
        f"FROM bids {WINDOW} GROUP BY item"
    )

    hand = by_hand(
        lambda s: (
            s.window("ts", range="1 minute")
            .group_by("item")
            .agg(a=ms.max("price"), b=ms.count(), c=ms.min("price"))
            .select("window_end", "item", "a", "b", "c")
        )
    )
    assert hand == found


def test_a_column_that_is_not_named_gets_a_name() -> None:
    query = engine()[0].sql(
        "SELECT item, count(*), max(price), count(DISTINCT bidder), percentile(price, 0.5) "
        f"FROM bids {WINDOW} GROUP BY item"
    )

    assert ["item", "count", "max_price", "count_distinct_bidder", "quantile_price_0_5"] == query.schema.names[3:]


def test_the_window_can_be_named_in_four_ways() -> None:
    columns = "window_start, window_end"
    text = "SELECT {}, count(*) AS n FROM bids GROUP BY window(ts, '1 minute')"

    plain = by_sql(text.format(columns))

    assert plain == by_sql(text.format("window.start, window.end"))
    assert plain == sorted(((*row[0], row[1]) for row in by_sql(text.format("window"))), key=repr)
    assert plain == sorted((row[1:] for row in by_sql(text.format("window_id, " + columns))), key=repr)


def test_distinct_rows() -> None:
    assert sorted({(r["item"], r["bidder"]) for r in BIDS}, key=repr) == by_sql(
        "SELECT DISTINCT item, bidder FROM bids"
    )


def test_union_all_keeps_and_union_drops_duplicates() -> None:
    sides = "SELECT item FROM bids {} SELECT upper('lamp') AS thing FROM bids WHERE second < 50"
    items = [row["item"] for row in BIDS] + ["LAMP" for row in BIDS if row["second"] < 50]

    assert sorted((one,) for one in items) == by_sql(sides.format("UNION ALL"))
    assert sorted((one,) for one in set(items)) == by_sql(sides.format("UNION"))


def test_a_window_over_the_results_of_another() -> None:
    found = by_sql(
        "SELECT max(n) AS most FROM (SELECT item, count(*) AS n FROM bids [RANGE 20 seconds, WATTR ts] GROUP BY item) "
        "[RANGE 1 minute, WATTR window_start]"
    )

    counts: dict[tuple[str, int], int] = {}
    for row in BIDS:
        counts[row["item"], row["second"] // 20] = counts.get((row["item"], row["second"] // 20), 0) + 1
    most: dict[int, int] = {}
    for (_, twenty), n in counts.items():
        most[twenty // 3] = max(n, most.get(twenty // 3, 0))
    assert [n for _, n in sorted(most.items())] == [row[3] for row in found]


def test_grouping_on_the_window_of_a_sub_query() -> None:
    asked, _ = engine()
    text = (
        "WITH counts AS (SELECT item, count(*) AS n FROM bids [RANGE 1 minute, WATTR ts] GROUP BY item) "
        "SELECT window_end, sum(n) AS n FROM counts GROUP BY window_end"
    )

    found = answer(asked.sql(text), end=False)

    whole = {minute: sum(row["second"] // 60 == minute for row in BIDS) for minute in range(4)}
    assert [(START + timedelta(minutes=m + 1), n) for m, n in whole.items()] == found


def test_the_first_of_each_window() -> None:
    found = by_sql(
        f"SELECT window_start, bidder, count(*) AS n FROM bids {WINDOW} GROUP BY bidder ORDER BY n DESC, bidder LIMIT 2"
    )

    counts: dict[int, dict[int, int]] = {}
    for row in BIDS:
        minute = counts.setdefault(row["second"] // 60, {})
        minute[row["bidder"]] = minute.get(row["bidder"], 0) + 1
    wanted = [
        (START + timedelta(minutes=minute), bidder, n)
        for minute, found_in in counts.items()
        for bidder, n in sorted(found_in.items(), key=lambda one: (-one[1], one[0]))[:2]
    ]
    assert sorted(wanted, key=repr) == found


@pytest.mark.parametrize(
    ("select", "order"),
    [
        ("bidder, count(*) AS n", "n DESC"),
        ("bidder, count(*) AS n", "2 DESC"),
        ("bidder, count(*) AS n", "count(*) DESC"),
        ("window_start AS w, bidder, count(*) AS n", "n DESC, w"),
        ("window_end, count(*) AS n, bidder", "n DESC"),
    ],
)
def test_the_order_can_be_named_in_many_ways(select: str, order: str) -> None:
    query = engine()[0].sql(f"SELECT {select} FROM bids {WINDOW} GROUP BY bidder ORDER BY {order} LIMIT 1", name="q")
    query.engine.start(ms.available_now(), end_of_stream=True).await_termination()
    plain = engine()[0].sql(f"SELECT bidder, count(*) AS n FROM bids {WINDOW} GROUP BY bidder", name="q")
    plain.engine.start(ms.available_now(), end_of_stream=True).await_termination()

    most: dict[object, int] = {}
    for row in plain.table().to_pylist():
        most[row["window_id"]] = max(row["n"], most.get(row["window_id"], 0))
    assert sorted(most.values()) == sorted(query.table()["n"].to_pylist())


def test_results_in_order_of_their_window() -> None:
    query = engine()[0].sql(
        f"SELECT item, count(*) AS n FROM bids {WINDOW} GROUP BY item ORDER BY window_end", name="q"
    )
    query.engine.start(ms.available_now(), end_of_stream=True).await_termination()
    ends = query.table()["window_end"].to_pylist()

    assert sorted(ends) == ends


def test_rows_in_order_of_their_time() -> None:
    query = engine()[0].sql("SELECT ts, item FROM bids ORDER BY ts", name="q")
    query.engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert sorted(row["ts"] for row in BIDS) == query.table()["ts"].to_pylist()


def test_names_with_hyphens_are_columns_only_where_there_are_such_columns() -> None:
    asked = ms.Engine(host="local")
    asked.stream("bid-log", [{"ts": 1, "bid-price": 7, "bid": 5, "price": 3, "a": 9, "b": 2}])
    query = asked.sql("SELECT bid-price, bid - price AS less, a-b AS rest, bid-log.bid-price * 2 AS twice FROM bid-log")

    assert [(7, 2, 7, 14)] == answer(query)


def test_fields_of_structs() -> None:
    asked = ms.Engine(host="local")
    asked.stream("s", [{"ts": 1, "at": {"x": 3, "y": 4}}, {"ts": 2, "at": {"x": 5, "y": 12}}])

    assert [(1, 7), (2, 17)] == answer(asked.sql("SELECT ts, at.x + s.at.y AS n FROM s WHERE at.x < 9"))


def test_a_view_and_a_query_can_be_read() -> None:
    asked, _ = engine()
    asked.sql("CREATE VIEW dear AS SELECT ts, item FROM bids WHERE price > 10")
    asked.sql(f"SELECT item, count(*) AS n FROM dear {WINDOW} GROUP BY item", name="counts")

    found = answer(asked.sql("SELECT item, n FROM counts WHERE n > 2"))

    assert found
    assert all(n > 2 for _, n in found)


def test_a_long_statement_is_fine() -> None:
    many = ", ".join(f"price + {i} AS p{i}" for i in range(300))
    chain = " OR ".join(f"price = {i}" for i in range(300))

    assert {301} == {len(row) for row in by_sql(f"SELECT ts, {many} FROM bids WHERE {chain}")}
