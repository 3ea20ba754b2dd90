"""DuckDB over whole files: an upper bound, for it sees the end before it begins.

Maxima are taken by slide first and by window then, by hand, as a stream engine with panes would.
"""

from __future__ import annotations

import duckdb

from peers.digest import KEYLESS, count_and_max, median_and_distinct, pair_row_sql, window_row_sql
from peers.driver import Answer, Job, serve
from peers.meter import Meter
from peers.workloads import CORES, Workload


class DuckDb:
    """A connection."""

    name = "duckdb"

    def __init__(self) -> None:
        self._connection = duckdb.connect()
        self._connection.execute(f"SET threads = {CORES}")
        self.versions = {"duckdb": duckdb.__version__}

    def answer(self, job: Job, meter: Meter) -> Answer:
        """One statement a query."""
        asked, out = job.asked, Answer()
        sources = {name: f"read_parquet('{job.folder}/{name}/parquet/*.parquet')" for name in asked.streams}
        texts = [
            *(_windows(asked, sources["bids"], *one) for one in asked.windows),
            *(_pairs(sources, band) for band in asked.bands),
        ]
        for query, text in enumerate(texts):
            found = self._connection.execute(text).fetchall()
            out.add(*found[0], query=query)
        return out


def _windows(asked: Workload, source: str, length: int, slide: int) -> str:
    key = "auction" if asked.keyed else str(KEYLESS)
    slice_of = f"ts - ts % {slide}"
    ends = f"unnest(range(s + {slide}, s + {length} + 1, {slide})) AS e"
    if asked.aggregate == "median and distinct":
        value = f"CAST(2 * median(price) AS BIGINT) + {median_and_distinct(0, 1)} * count(DISTINCT bidder)"
        rows = f"SELECT {key} AS k, price, bidder, {slice_of} AS s FROM {source}"
        slices = f"SELECT k, price, bidder, {ends} FROM ({rows})"
    else:
        value = f"{count_and_max(1, 0)} * sum(n) + max(m)" if asked.aggregate == "count and max" else "max(m)"
        rows = f"SELECT {key} AS k, {slice_of} AS s, max(price) AS m, count(*) AS n FROM {source} GROUP BY ALL"
        slices = f"SELECT k, m, n, {ends} FROM ({rows})"
    answers = f"SELECT k, e // 1000 AS e, {value} AS v FROM ({slices}) GROUP BY k, e"
    return f"SELECT count(*), sum({window_row_sql('k', 'e', 'v')}) FROM ({answers})"


def _pairs(sources: dict[str, str], band: int) -> str:
    return (
        f"SELECT count(*), sum({pair_row_sql('l.seq', 'r.seq')}) FROM {sources['bids']} l JOIN {sources['asks']} r"
        f" ON l.auction = r.auction AND l.ts BETWEEN r.ts - {band} AND r.ts + {band}"
    )


if __name__ == "__main__":
    serve(DuckDb)
