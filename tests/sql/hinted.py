"""Statements that are refused, what is said, the statement that follows what is said, and what it answers.

By hand, over the bids (second, item, bidder, price) and asks (second, item, cost) of `test_hints.py`.
"""

from __future__ import annotations

from typing import Any

MINUTE = "[RANGE 1 minute, WATTR ts]"
Row = tuple[Any, ...]
HINTED: dict[str, tuple[str, str, str, list[Row]]] = {
    "first of each group": (
        "SELECT price FROM bids QUALIFY price > 1",
        "Write QUALIFY ROW_NUMBER() OVER (PARTITION BY ts ORDER BY item DESC) <= 3.",
        "SELECT price FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY ts ORDER BY item DESC) <= 3",
        [(20,), (25,), (40,), (95,), (99,)],
    ),
    "first of windows": (
        f"SELECT item, count(*) AS n FROM bids {MINUTE} GROUP BY item "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY n DESC) <= 1",
        "Aggregate in a sub-query: SELECT * FROM (SELECT … GROUP BY …) QUALIFY ….",
        f"SELECT item, n FROM (SELECT window_end, item, count(*) AS n FROM bids {MINUTE} GROUP BY item) "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY n DESC) <= 1",
        [("lamp", 1), ("lamp", 2)],
    ),
    "number without groups": (
        "SELECT item, ROW_NUMBER() OVER (ORDER BY price) AS n FROM bids",
        "Say of which rows it is the number: PARTITION BY ts.",
        "SELECT item, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY price) AS n FROM bids",
        [("lamp", 1), ("lamp", 1), ("lamp", 1), ("sofa", 1), ("sofa", 1)],
    ),
    "number without groups in windows": (
        f"SELECT ROW_NUMBER() OVER (ORDER BY n) AS i FROM (SELECT window_end, count(*) AS n FROM bids {MINUTE})",
        "Say of which rows it is the number: PARTITION BY window_end.",
        "SELECT ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY n) AS i "
        f"FROM (SELECT window_end, count(*) AS n FROM bids {MINUTE})",
        [(1,), (1,)],
    ),
    "number without an order": (
        "SELECT item, ROW_NUMBER() OVER (PARTITION BY ts) AS n FROM asks",
        "Say which row is the first: ORDER BY item.",
        "SELECT item, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY item) AS n FROM asks",
        [("lamp", 1), ("lamp", 1), ("sofa", 1), ("sofa", 1)],
    ),
    "number by an expression": (
        "SELECT item, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY -price) AS n FROM bids",
        "Compute it in a sub-query, and name it.",
        "SELECT item, ROW_NUMBER() OVER (PARTITION BY ts ORDER BY less) AS n "
        "FROM (SELECT ts, item, -price AS less FROM bids) WHERE item = 'sofa'",
        [("sofa", 1), ("sofa", 1)],
    ),
    "equal rows counted": (
        "SELECT item FROM bids EXCEPT ALL SELECT item FROM asks",
        "Leave ALL out; or count equal rows in a window on each side, GROUP BY all columns, and EXCEPT those.",
        f"SELECT window_end, item, count(*) AS n FROM bids {MINUTE} GROUP BY item EXCEPT "
        f"SELECT window_end, item, count(*) AS n FROM asks {MINUTE} GROUP BY item",
        [("lamp", 1)],
    ),
    "a condition on an aggregate": (
        f"SELECT item, max(price) AS m FROM bids {MINUTE} WHERE max(price) > 90 GROUP BY item",
        "Conditions on aggregates go in HAVING.",
        f"SELECT item, max(price) AS m FROM bids {MINUTE} GROUP BY item HAVING max(price) > 90",
        [("sofa", 95), ("sofa", 99)],
    ),
    "an aggregate of an aggregate": (
        f"SELECT max(sum(price)) AS m FROM bids {MINUTE}",
        "Use a sub-query in FROM.",
        f"SELECT max(s) AS m FROM (SELECT window_end, item, sum(price) AS s FROM bids {MINUTE} GROUP BY item) "
        "[RANGE 1 minute, WATTR window_end]",
        [(95,), (99,)],
    ),
    "a column beside aggregates": (
        f"SELECT item, price, count(*) AS n FROM bids {MINUTE} GROUP BY item",
        "Add it to GROUP BY, or take one value: max(price).",
        f"SELECT item, max(price) AS price, count(*) AS n FROM bids {MINUTE} GROUP BY item",
        [("lamp", 25, 2), ("lamp", 40, 1), ("sofa", 95, 1), ("sofa", 99, 1)],
    ),
    "results in an order": (
        f"SELECT item, count(*) AS n FROM bids {MINUTE} GROUP BY item ORDER BY n DESC",
        "Order by window_end, or say LIMIT n for the first n of each window.",
        f"SELECT item, count(*) AS n FROM bids {MINUTE} GROUP BY item ORDER BY n DESC LIMIT 1",
        [("lamp", 1), ("lamp", 2)],
    ),
    "rows downwards": (
        "SELECT ts, price FROM bids ORDER BY ts DESC",
        "Order by the attribute that makes progress alone, without DESC.",
        "SELECT price FROM (SELECT ts, price FROM bids ORDER BY ts) WHERE price < 30",
        [(20,), (25,)],
    ),
    "a limit of groups": (
        "SELECT item, count(*) AS n FROM bids GROUP BY item LIMIT 1",
        "Give the query a window.",
        f"SELECT item, count(*) AS n FROM bids {MINUTE} GROUP BY item ORDER BY n DESC LIMIT 1",
        [("lamp", 1), ("lamp", 2)],
    ),
    "no range": (
        "SELECT count(*) AS n FROM bids [SLIDE 1 minute, WATTR ts]",
        "Write [RANGE 10 minutes, SLIDE 1 minute, WATTR ts].",
        "SELECT count(*) AS n FROM bids [RANGE 10 minutes, SLIDE 1 minute, WATTR ts] WHERE price = 20",
        [(1,)] * 10,
    ),
    "no slide of everything": (
        "SELECT count(*) AS n FROM bids [RANGE ALL, WATTR ts]",
        "Say how often to report: SLIDE 1 minute.",
        "SELECT count(*) AS n FROM bids [RANGE ALL, SLIDE 1 minute, WATTR ts]",
        [(3,), (5,)],
    ),
    "two windows of a query": (
        "SELECT count(*)[RANGE 1 minute, WATTR ts] AS n, max(price)[RANGE 2 minutes, WATTR ts] AS m FROM bids",
        "Ask two queries: one query has one window.",
        "SELECT max(price)[RANGE TUMBLING 2 minutes, WATTR ts] AS m FROM bids",
        [(99,)],
    ),
    "a window in WHERE": (
        f"SELECT count(*) AS n FROM bids WHERE price > 30 {MINUTE}",
        "It belongs after an aggregate, after a stream in FROM, or after GROUP BY.",
        f"SELECT count(*) AS n FROM bids {MINUTE} WHERE price > 30",
        [(1,), (2,)],
    ),
    "a window of no aggregate": (
        f"SELECT price FROM bids {MINUTE}",
        "Add an aggregate, such as count(*).",
        f"SELECT count(*) AS n FROM bids {MINUTE}",
        [(2,), (3,)],
    ),
    "a hop that does not divide": (
        "SELECT count(*) AS n FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '40' SECOND, INTERVAL '60' SECOND))",
        "Flink and Spark count windows from their start, we from their end: write [RANGE …, SLIDE …, WATTR …] instead.",
        "SELECT count(*) AS n FROM bids [RANGE 60 seconds, SLIDE 40 seconds, WATTR ts] WHERE price = 20",
        [(1,)],
    ),
    "names of both sides": (
        "SELECT item FROM bids a JOIN asks b ON a.item = b.item AND a.ts = b.ts",
        "Say which: a.item or b.item.",
        "SELECT a.item FROM bids a JOIN asks b ON a.item = b.item AND a.ts = b.ts",
        [("sofa",)],
    ),
    "a join of two tumbling windows": (
        "SELECT cost FROM bids [RANGE TUMBLING 1 minute, WATTR ts] a, asks [RANGE TUMBLING 5 minutes, WATTR ts] b",
        "Write FROM a, b [RANGE TUMBLING 5 minutes, WATTR ts], or RANGE without TUMBLING after both.",
        "SELECT cost FROM bids a, asks b [RANGE TUMBLING 5 minutes, WATTR ts] WHERE a.price = 20 AND a.item = b.item",
        [(18,), (3,)],
    ),
    "a join of sliding windows": (
        "SELECT cost FROM bids [RANGE 3 minutes, SLIDE 1 minute, WATTR ts] a, asks b WHERE a.item = b.item",
        "Write FROM a [RANGE 3 minutes, WATTR ts], b [RANGE 2 minutes, WATTR ts].",
        "SELECT cost FROM bids a [RANGE 3 minutes, WATTR ts], asks b [RANGE 2 minutes, WATTR ts] "
        "WHERE a.item = b.item AND a.price = 20",
        [(18,), (3,)],
    ),
    "a union of windows": (
        f"SELECT count(*) AS n FROM bids {MINUTE} UNION bids",
        "Write FROM a UNION b [RANGE 1 minute, WATTR ts].",
        f"SELECT count(*) AS n FROM bids UNION bids {MINUTE}",
        [(4,), (6,)],
    ),
    "a condition on what a semi join drops": (
        "SELECT a.price FROM bids a LEFT SEMI JOIN asks b ON a.item = b.item AND a.ts = b.ts WHERE b.cost > 3",
        "Put the condition into ON.",
        "SELECT a.price FROM bids a LEFT SEMI JOIN asks b ON a.item = b.item AND a.ts = b.ts AND b.cost > 3",
        [(95,)],
    ),
    "a natural join": (
        "SELECT cost FROM bids a NATURAL JOIN asks b",
        "Say which columns with ON.",
        "SELECT cost FROM bids a JOIN asks b ON a.item = b.item AND a.ts = b.ts",
        [(90,)],
    ),
    "as of a time ahead": (
        "SELECT cost FROM bids a ASOF JOIN asks b ON a.item = b.item AND a.ts <= b.ts",
        "Write a.ts >= b.ts, or a.ts > b.ts, with the left stream first.",
        "SELECT cost FROM bids a ASOF JOIN asks b ON a.item = b.item AND a.ts >= b.ts",
        [(18,), (2,), (3,), (3,), (90,)],
    ),
    "as of no time": (
        "SELECT cost FROM bids a ASOF JOIN asks b ON a.item = b.item",
        "Write ON a.k = b.k AND a.ts >= b.ts AND b.ts >= a.ts - INTERVAL 5 minutes.",
        "SELECT cost FROM bids a ASOF JOIN asks b "
        "ON a.item = b.item AND a.ts >= b.ts AND b.ts >= a.ts - INTERVAL 5 minutes",
        [(18,), (2,), (3,), (3,), (90,)],
    ),
    "as of the right side": (
        "SELECT cost FROM bids a ASOF RIGHT JOIN asks b ON a.item = b.item AND a.ts >= b.ts",
        "Only left rows can leave alone: write ASOF LEFT JOIN.",
        "SELECT cost FROM bids a ASOF LEFT JOIN asks b ON a.item = b.item AND a.ts > b.ts",
        [(18,), (2,), (3,), (3,), (None,)],
    ),
    "a table with rows of its own": (
        "SELECT kind FROM bids b RIGHT JOIN kinds k ON b.item = k.item",
        "The rows of a table do not leave alone: write LEFT JOIN, or JOIN.",
        "SELECT kind FROM bids b LEFT JOIN kinds k ON b.item = k.item",
        [("light",), ("light",), ("light",), (None,), (None,)],
    ),
    "rows that a table lacks": (
        "SELECT price FROM bids b LEFT ANTI JOIN kinds k ON b.item = k.item",
        "Write LEFT JOIN, and keep the rows without a partner: WHERE a column of the table IS NULL.",
        "SELECT price FROM bids b LEFT JOIN kinds k ON b.item = k.item WHERE k.item IS NULL",
        [(95,), (99,)],
    ),
    "rows that a table has": (
        "SELECT price FROM bids b LEFT SEMI JOIN kinds k ON b.item = k.item",
        "Write JOIN, and select columns of the stream only; a row leaves as often as the table has its keys.",
        "SELECT price FROM bids b JOIN kinds k ON b.item = k.item",
        [(20,), (25,), (40,)],
    ),
    "a table as of": (
        "SELECT kind FROM bids b ASOF JOIN kinds k ON b.item = k.item AND b.price >= k.least",
        "Leave ASOF out to have every row of the table that fits, or make its changes a stream.",
        "SELECT kind FROM bids b JOIN kinds k ON b.item = k.item AND b.price >= k.least",
        [("light",), ("light",)],
    ),
    "a table alone": (
        "SELECT kind FROM kinds",
        "Join it with a stream: FROM stream JOIN kinds ON ….",
        "SELECT kind FROM bids JOIN kinds ON bids.item = kinds.item",
        [("light",), ("light",), ("light",)],
    ),
    "a table first": (
        "SELECT kind FROM kinds JOIN bids ON kinds.item = bids.item",
        "Write the stream first.",
        "SELECT kind FROM bids JOIN kinds ON kinds.item = bids.item",
        [("light",), ("light",), ("light",)],
    ),
    "versions of a table": (
        "SELECT b.price FROM bids b JOIN asks FOR SYSTEM_TIME AS OF b.ts AS a ON b.item = a.item",
        "JOIN with a table reads the table as it is in the epoch of the row. For the version at the row's own time, "
        "make the changes a stream: ASOF JOIN changes c ON a.k = c.k AND a.ts >= c.ts.",
        "SELECT b.price FROM bids b ASOF JOIN asks a ON b.item = a.item AND b.ts >= a.ts",
        [(20,), (25,), (40,), (95,), (99,)],
    ),
    "keys of two types": (
        "SELECT cost FROM bids a JOIN asks b ON a.price = b.item AND a.ts = b.ts",
        "Cast one of them in a sub-query.",
        "SELECT cost FROM (SELECT ts, CAST(price AS STRING) AS price FROM bids) a JOIN asks b "
        "ON a.price = b.item AND a.ts = b.ts",
        [],
    ),
}
