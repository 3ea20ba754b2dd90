"""Structured Streaming's own windows and joins, with either of its state stores: append mode to a no-op sink.

Several queries of a workload run at the same time, for Spark has no way to share between them. Time is that of the
queries once they have started: what Spark does before is left out, as it is for the other engines that run streams.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from peers.digest import KEYLESS, count_and_max, median_and_distinct, pair_row, window_row
from peers.driver import Answer, Job, serve
from peers.meter import Meter
from peers.workloads import CORES, DISORDER, EPOCH_FILES, Workload

_PROVIDERS = "org.apache.spark.sql.execution.streaming.state"
_STORES = {
    "HDFS-backed": f"{_PROVIDERS}.HDFSBackedStateStoreProvider",
    "RocksDB": f"{_PROVIDERS}.RocksDBStateStoreProvider",
}
_SCHEMA = "auction long, bidder long, price long, ts long, seq long"


class NativeSpark:
    """A local session."""

    name = "spark"

    def __init__(self) -> None:
        self._session = (
            SparkSession.builder.master(f"local[{CORES}]")
            .appName("peers")
            .config("spark.ui.enabled", "false")
            .config("spark.ui.showConsoleProgress", "false")
            .config("spark.driver.memory", "4g")
            .config("spark.sql.session.timeZone", "UTC")
            .config("spark.sql.shuffle.partitions", str(CORES))
            .getOrCreate()
        )
        self._session.sparkContext.setLogLevel("ERROR")
        self.versions = {"pyspark": pyspark.__version__}

    def answer(self, job: Job, meter: Meter) -> Answer:
        """Every query on its own, all at once; count and digest are observed where the rows are."""
        self._session.conf.set("spark.sql.streaming.stateStore.providerClass", _STORES[job.store])
        place = Path(tempfile.mkdtemp(prefix="peers-"))
        try:
            runs = [
                frame.observe("sums", F.count("*").alias("rows"), F.sum("digest").alias("digest"))
                .writeStream.format("noop")
                .outputMode("append")
                .trigger(availableNow=True)
                .option("checkpointLocation", str(place / str(i)))
                .start()
                for i, frame in enumerate(self._frames(job))
            ]
            meter.begin()
            out = Answer()
            for query, run in enumerate(runs):
                run.awaitTermination()
                for progress in run.recentProgress:
                    seen: Any = progress.observedMetrics.get("sums")
                    if seen is not None:
                        out.add(seen["rows"], seen["digest"], query=query)
            return out
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _frames(self, job: Job) -> list[DataFrame]:
        asked = job.asked
        if asked.bands:
            return [self._pairs(job, band) for band in asked.bands]
        return [_windows(self._stream(job.folder / "bids" / "ended"), asked, *one) for one in asked.windows]

    def _stream(self, folder: Path) -> DataFrame:
        rows = self._session.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", EPOCH_FILES).parquet(str(folder))
        return rows.withColumn("at", F.timestamp_millis("ts")).withWatermark("at", _span(DISORDER))

    def _pairs(self, job: Job, band: int) -> DataFrame:
        left, right = (
            self._stream(job.folder / name / "parquet").select("auction", "at", "seq").alias(side)
            for name, side in (("bids", "l"), ("asks", "r"))
        )
        near = f"INTERVAL {band} MILLISECONDS"
        on = F.expr(f"l.auction = r.auction AND l.at >= r.at - {near} AND l.at <= r.at + {near}")
        return left.join(right, on).select(pair_row(F.col("l.seq"), F.col("r.seq")).alias("digest"))


def _windows(rows: DataFrame, asked: Workload, length: int, slide: int) -> DataFrame:
    keys = ["auction"] if asked.keyed else []
    key = F.col("auction") if asked.keyed else F.lit(KEYLESS).cast("long")
    answers = rows.groupBy(F.window("at", _span(length), _span(slide)), *keys).agg(_value(asked).alias("v"))
    digest = window_row(key, F.unix_timestamp("window.end"), F.col("v"))
    return answers.select(digest.alias("digest"))


def _value(asked: Workload) -> Column:
    if asked.aggregate == "max":
        return F.max("price")
    if asked.aggregate == "count and max":
        return count_and_max(F.count("*"), F.max("price"))
    twice = (2 * F.expr("percentile(price, 0.5)")).cast("long")
    # A stream may not count(DISTINCT …).
    return median_and_distinct(twice, F.size(F.collect_set("bidder")))


def _span(milliseconds: int) -> str:
    return f"{milliseconds} milliseconds"


if __name__ == "__main__":
    serve(NativeSpark)
