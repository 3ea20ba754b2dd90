"""The SQL reader beside sqlglot's own parser: what each accepts, where each puts an error, and how long it takes.

See docs/adr/0018. Run it as `python bench/grammar.py`.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from millstream.core.errors import SqlError
from millstream.sql.grammar.read_statement import read

ROOT = Path(__file__).parents[1]
CLAUSES = {
    "window after a stream": "SELECT count(*) AS n FROM bids [RANGE 1 minute, WATTR ts]",
    "window after an aggregate": "SELECT count(*)[RANGE 1 minute, WATTR ts] AS n FROM bids",
    "window after GROUP BY": "SELECT item, count(*) AS n FROM bids GROUP BY item [RANGE ALL, SLIDE 1 minute, WATTR ts]",
    "FLUSH": "SELECT count(*) AS n FROM bids [RANGE 1 minute, WATTR ts, FLUSH SLOW 100 ROWS WITHIN 2 WINDOWS]",
    "CREATE STREAM": "CREATE STREAM s (ts TIMESTAMP) FROM csv 'in'",
    "PROGRESS": "CREATE STREAM s FROM rate PROGRESS ORDERED ON timestamp",
    "CREATE TABLE FROM": "CREATE TABLE t FROM csv 'in/t.csv' OPTIONS (pattern '*.csv')",
    "INSERT INTO a path": "INSERT INTO parquet 'out' SELECT item FROM bids",
    "INSERT with OPTIONS": "INSERT INTO parquet 'out' OPTIONS (mode 'append') SELECT item FROM bids",
    "WATERMARK": "SELECT item FROM bids WATERMARK ts DELAY OF INTERVAL 5 SECONDS",
    "UNION in FROM": "SELECT item FROM bids UNION asks WHERE price > 1",
    "names with hyphens": "SELECT max(len) AS m FROM packets GROUP-BY src-ip",
    "TUMBLE of a TABLE": "SELECT count(*) AS n FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE))",
    "SESSION with PARTITION BY": "SELECT item, count(*) AS n FROM TABLE(SESSION(TABLE bids PARTITION BY item, "
    "DESCRIPTOR(ts), INTERVAL '9' SECOND))",
    "ASOF JOIN": "SELECT b.ts FROM bids b ASOF JOIN asks a ON b.item = a.item AND b.ts >= a.ts",
    "MATCH_CONDITION": "SELECT b.ts FROM bids b ASOF JOIN asks a MATCH_CONDITION (b.ts > a.ts) ON b.item = a.item",
    "LATE": "SELECT item FROM LATE(q)",
    "QUALIFY": "SELECT ts FROM bids QUALIFY ROW_NUMBER() OVER (PARTITION BY ts ORDER BY price) <= 1",
}
BOTH = (
    "SELECT ts, upper(item) AS item, price * 2 AS twice FROM bids WHERE price > 10 AND item <> 'vase'",
    "SELECT item, count(*) AS n, max(price) AS top FROM bids WHERE price > 10 GROUP BY item HAVING count(*) > 2",
    "WITH c AS (SELECT item, count(*) AS n FROM bids GROUP BY item) SELECT n, max(n) AS m FROM c GROUP BY n",
    "SELECT a.price, b.price AS ask FROM bids a JOIN asks b ON a.item = b.item AND b.ts > a.ts",
    "SELECT ts, item FROM bids WHERE price > 10 UNION ALL SELECT ts, item FROM asks WHERE price BETWEEN 1 AND 2",
)
"""Statements that both can read."""


def verdict(text: str) -> str:
    """What sqlglot's Spark parser makes of a statement."""
    try:
        tree = sqlglot.parse_one(text, dialect="spark")
    except SqlglotError:
        return "error"
    return "text only" if isinstance(tree, exp.Command) else "tree"


def wrong() -> dict[str, str]:
    """The wrong statements of the tests that have no clause of our own: sqlglot stumbles over those first."""
    sys.path.insert(0, str(ROOT / "tests"))
    from sql.wrong import WRONG  # noqa: PLC0415 - found by the line above

    ours = ("[", "CREATE", "INSERT", "TABLE(", "WATERMARK", "MATCH_")
    return {name: text for name, text in WRONG.items() if text.strip() and not any(word in text for word in ours)}


def compared(text: str) -> str:
    """Where sqlglot's first error is, beside ours."""
    try:
        read(text)
        return "right in syntax"
    except SqlError as error:
        problem = error.problems[0]
    try:
        sqlglot.parse(text, dialect="spark")
        return "accepted by sqlglot"
    except RecursionError:
        return "RecursionError in sqlglot"
    except TokenError:
        return "without a place in sqlglot"
    except ParseError as error:
        first = error.errors[0]
        lines = text.splitlines(keepends=True)
        end = sum(len(line) for line in lines[: first["line"] - 1]) + first["col"]
        start = end - len(first["highlight"])
        return "at the same place" if start < problem.end and problem.start < end else "at another place"


def main() -> None:
    """Print everything."""
    logging.disable()  # sqlglot warns of statements that it keeps as text
    for name, text in CLAUSES.items():
        print(f"{name:28}{verdict(text)}")
    for name, count in Counter(compared(text) for text in wrong().values()).items():
        print(f"wrong statements, {name}: {count}")
    ways = {"ours": read, "sqlglot": lambda text: sqlglot.parse(text, dialect="spark")}
    for name, way in ways.items():
        times = []
        for _ in range(5):
            began = time.process_time()
            for i in range(1000):
                way(BOTH[i % len(BOTH)])
            times.append(time.process_time() - began)
        print(f"1,000 statements, {name}: {min(times):.2f} s CPU")


if __name__ == "__main__":
    main()
