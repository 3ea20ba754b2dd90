"""What every engine must answer: DuckDB over the whole files, in the plainest words, before anything is timed."""

from __future__ import annotations

from pathlib import Path

import duckdb

from peers.digest import KEYLESS, count_and_max, median_and_distinct, pair_row_sql, window_row_sql
from peers.workloads import Workload

_VALUES = {
    "max": "max(price)",
    "count and max": f"{count_and_max(1, 0)} * count(*) + max(price)",
    "median and distinct": f"(2 * median(price))::BIGINT + {median_and_distinct(0, 1)} * count(DISTINCT bidder)",
}


def answer(asked: Workload, folder: Path) -> tuple[int, int]:
    """Result rows and digest of a workload over a data set."""
    rows = checksum = 0
    queries = [*(_windows(asked, *one) for one in asked.windows), *(_pairs(one) for one in asked.bands)]
    with duckdb.connect() as connection:
        for name in asked.streams:
            connection.sql(f"CREATE VIEW {name} AS SELECT * FROM '{folder}/{name}/parquet/*.parquet'")
        for number, text in enumerate(queries, start=1):
            found = connection.sql(text).fetchall()
            rows += found[0][0]
            checksum += number * int(found[0][1])
    return rows, checksum


def _windows(asked: Workload, length: int, slide: int) -> str:
    """Every row goes to each of its windows: what a sliding window means, with no slicing."""
    key = "auction" if asked.keyed else str(KEYLESS)
    last = f"ts - ts % {slide}"
    starts = f"unnest(range({last} - {length - slide}, {last} + 1, {slide}))"
    members = f"SELECT {key} AS k, price, bidder, {starts} + {length} AS e FROM bids"
    answers = f"SELECT k, e // 1000 AS e, {_VALUES[asked.aggregate]} AS v FROM ({members}) GROUP BY k, e"
    return f"SELECT count(*), coalesce(sum({window_row_sql('k', 'e', 'v')}), 0) FROM ({answers})"


def _pairs(band: int) -> str:
    return (
        f"SELECT count(*), coalesce(sum({pair_row_sql('l.seq', 'r.seq')}), 0) FROM bids l JOIN asks r"
        f" ON l.auction = r.auction AND l.ts BETWEEN r.ts - {band} AND r.ts + {band}"
    )
