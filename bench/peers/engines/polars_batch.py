"""Polars over whole files: the other upper bound, with its own dynamic windows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from peers.digest import KEYLESS, count_and_max, median_and_distinct, pair_row, window_row
from peers.driver import Answer, Job, serve
from peers.meter import Meter
from peers.workloads import CORES, Workload

os.environ["POLARS_MAX_THREADS"] = str(CORES)  # read when Polars is imported

import polars as pl  # pyright: ignore[reportMissingImports]  in an environment of its own


class Polars:
    """Nothing to open."""

    name = "polars"

    def __init__(self) -> None:
        self.versions = {"polars": pl.__version__}

    def answer(self, job: Job, meter: Meter) -> Answer:
        """One lazy frame a query."""
        asked, out = job.asked, Answer()
        frames = [
            *(_windows(asked, job.folder, *one) for one in asked.windows),
            *(_pairs(job.folder, band) for band in asked.bands),
        ]
        for query, frame in enumerate(frames):
            out.add(*frame.collect(engine="streaming").row(0), query=query)
        return out


def _scan(folder: Path, stream: str) -> Any:
    return pl.scan_parquet(f"{folder}/{stream}/parquet/*.parquet")


def _windows(asked: Workload, folder: Path, length: int, slide: int) -> Any:
    """The offset makes the first window the earliest that has the first row."""
    rows = _scan(folder, "bids").sort("ts")
    grouped = rows.group_by_dynamic(
        "ts",
        every=f"{slide}i",
        period=f"{length}i",
        offset=f"{slide - length}i",
        closed="left",
        start_by="window",
        group_by="auction" if asked.keyed else None,
    )
    key = pl.col("auction") if asked.keyed else pl.lit(KEYLESS, pl.Int64)
    digest = window_row(key, (pl.col("ts") + length) // 1000, pl.col("v"))
    return grouped.agg(_value(asked).alias("v")).select(pl.len(), digest.sum())


def _value(asked: Workload) -> Any:
    price = pl.col("price")
    if asked.aggregate == "max":
        return price.max()
    if asked.aggregate == "count and max":
        return count_and_max(pl.len().cast(pl.Int64), price.max())
    return median_and_distinct((2 * price.median()).cast(pl.Int64), pl.col("bidder").n_unique().cast(pl.Int64))


def _pairs(folder: Path, band: int) -> Any:
    left = _scan(folder, "bids").select("auction", "ts", "seq")
    right = _scan(folder, "asks").select("auction", pl.col("ts").alias("ts_right"), pl.col("seq").alias("seq_right"))
    near = (pl.col("ts") - pl.col("ts_right")).abs() <= band
    digest = pair_row(pl.col("seq"), pl.col("seq_right"))
    return left.join(right, on="auction").filter(near).select(pl.len(), digest.sum())


if __name__ == "__main__":
    serve(Polars)
