"""Statements that are right and would keep rows for ever, or never answer."""

from __future__ import annotations

# There are three streams: bids, in order of ts but for 5 seconds, and quiet and spaced, which promise nothing.
REFUSED = {
    # The three plans that Spark takes without a word, although their state grows for ever.
    "join without a bound on time": "SELECT a.price FROM bids a JOIN bids b ON a.item = b.item",
    "aggregate by key without a window": "SELECT item, count(*) AS n FROM bids GROUP BY item",
    "distinct without progress": "SELECT DISTINCT item FROM quiet",
    # Others.
    "distinct on what is not punctuated": "SELECT DISTINCT item FROM bids",
    "aggregate of everything": "SELECT count(*) AS n FROM bids",
    "window without progress": "SELECT count(*) AS n FROM quiet [RANGE 1 minute, WATTR ts]",
    "union with a silent stream": "SELECT count(*) AS n FROM bids UNION quiet [RANGE 1 minute, WATTR ts]",
    "landmark by key": "SELECT item, max(price) AS top FROM bids [RANGE ALL, SLIDE 1 minute, WATTR ts] GROUP BY item",
    "landmark of every value": "SELECT median(price) AS m FROM bids [RANGE ALL, SLIDE 1 minute, WATTR ts]",
    "rows of each partition": "SELECT item, max(price)[RANGE 9 rows, SLIDE 1 row, WATTR row-num, PATTR item] FROM bids",
    "join bounded at one end": "SELECT a.price FROM bids a JOIN bids b ON a.item = b.item AND b.ts >= a.ts",
    "join with a silent stream": (
        "SELECT a.price FROM bids a LEFT JOIN quiet b\n"
        "ON a.item = b.item AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 minutes"
    ),
    "join on a computed time": (
        "WITH a AS (SELECT ts + INTERVAL 1 day AS later, item FROM bids)\n"
        "SELECT a.item FROM a JOIN bids b ON a.item = b.item AND b.ts BETWEEN a.later AND a.later + INTERVAL 5 minutes"
    ),
    "window on a name with a space": "SELECT count(*) AS n FROM spaced [RANGE 1 minute, WATTR `my ts`]",
    "outer join without a bound": "SELECT a.price FROM bids a FULL OUTER JOIN bids b USING (item)",
    "as-of join of any age": "SELECT a.price FROM bids a ASOF JOIN bids b ON a.item = b.item AND a.ts >= b.ts",
    "as-of join with a silent stream": (
        "SELECT a.price FROM bids a ASOF LEFT JOIN quiet b\n"
        "ON a.item = b.item AND a.ts >= b.ts AND b.ts >= a.ts - INTERVAL 1 minute"
    ),
    "as-of join of a silent stream": (
        "SELECT a.price FROM quiet a ASOF JOIN bids b\n"
        "ON a.item = b.item AND a.ts >= b.ts AND b.ts >= a.ts - INTERVAL 1 minute"
    ),
    "join of streams without other names": "SELECT bids.price FROM bids JOIN quiet ON bids.item = quiet.item",
    "union that removes duplicates": "SELECT item FROM bids UNION SELECT item FROM bids WHERE price > 3",
    "aggregate by a computed key": "SELECT upper(item) AS big, count(*) AS n FROM bids GROUP BY upper(item)",
    "top by a computed key": "SELECT price FROM (SELECT upper(item) AS big, price FROM quiet)\n"
    "QUALIFY ROW_NUMBER() OVER (PARTITION BY big ORDER BY price) <= 2",
    "except without a time": "SELECT item FROM bids EXCEPT SELECT item FROM bids WHERE price > 3",
    "intersect without a time": "SELECT item, price FROM bids INTERSECT DISTINCT SELECT item, price FROM quiet",
    "computed attribute": "SELECT count(*) AS n FROM (SELECT ts + INTERVAL 1 hour AS later FROM bids)\n"
    "[RANGE 1 minute, WATTR later]",
    "where sessions start": "SELECT max(n) AS m FROM (SELECT count(*) AS n FROM bids [GAP 1 minute, WATTR ts])\n"
    "[RANGE 5 minutes, WATTR window_start]",
    "where growing windows start": "SELECT max(n) AS m FROM (SELECT count(*) AS n\n"
    "FROM CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL 1 minute, INTERVAL 5 minutes))\n"
    "[RANGE 5 minutes, WATTR window_start]",
    "top of windows of rows": "SELECT item, count(*) AS n FROM bids [RANGE 10 rows, SLIDE 10 rows, WATTR row-num]\n"
    "GROUP BY item ORDER BY n DESC LIMIT 1",
    "windows of windows of rows": "SELECT max(n) AS m FROM (SELECT count(*) AS n FROM bids [RANGE 10 rows])\n"
    "[RANGE 5, WATTR window_id]",
}
