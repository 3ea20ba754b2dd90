"""Millstream's side, the same on both hosts: streams in, queries asked, results summed where they arrive."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import millstream as ms
from peers.digest import KEYLESS, count_and_max, median_and_distinct, pair_row_sql, window_row
from peers.driver import Answer, Job
from peers.workloads import DISORDER, Workload


class Sum:
    """A sink that keeps nothing but the count and the digest."""

    def __init__(self, asked: Workload, query: int, out: Answer) -> None:
        self._asked, self._query, self._out = asked, query, out

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Add an epoch's results."""
        digest = rows["digest"].to_numpy() if self._asked.bands else self._windows(rows)
        self._out.add(rows.num_rows, digest.sum(), query=self._query)

    def close(self) -> None:
        """Nothing to let go of."""

    def _windows(self, rows: pa.Table) -> Any:
        column = {name: rows[name].to_numpy() for name in rows.column_names}
        key = column["auction"] if self._asked.keyed else np.int64(KEYLESS)
        match self._asked.aggregate:
            case "max":
                value = column["top"]
            case "count and max":
                value = count_and_max(column["n"], column["top"])
            case _:
                twice = np.rint(2 * column["middle"].astype(np.float64)).astype(np.int64)
                value = median_and_distinct(twice, column["n"])
        return window_row(key, column["window_end"] // 1000, value)


def ask(engine: Any, job: Job, sources: dict[str, Any], out: Answer) -> None:
    """Register the job's queries over these sources."""
    asked = job.asked
    promise = ms.bounded_disorder("ts", DISORDER)
    streams = [engine.stream(name, source, progress=promise) for name, source in sources.items()]
    queries = [
        *(_windows(streams[0], asked, *one) for one in asked.windows),
        *(_pairs(streams[0], streams[-1], band) for band in asked.bands),
    ]
    for i, query in enumerate(queries):
        query.named(f"query_{i}").to(Sum(asked, i, out))


def _windows(bids: Any, asked: Workload, length: int, slide: int) -> Any:
    windowed = bids.window("ts", range=length, slide=slide)
    if asked.keyed:
        windowed = windowed.group_by("auction")
    match asked.aggregate:
        case "max":
            return windowed.agg(top=ms.max("price"))
        case "count and max":
            return windowed.agg(top=ms.max("price"), n=ms.count())
        case _:
            return windowed.agg(middle=ms.median("price"), n=ms.count_distinct("bidder"))


def _pairs(bids: Any, asks: Any, band: int) -> Any:
    pairs = bids.join(asks, on="auction", within=band)
    return pairs.select(digest=pair_row_sql("left_seq", "right_seq"))
