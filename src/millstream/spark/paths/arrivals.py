"""The rows of an epoch on Spark."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from millstream.runtime.durable.jobs import Arrivals
from millstream.spark.paths.frames import Tags


@dataclass(frozen=True)
class SparkArrivals(Arrivals):
    """The rows of an epoch: those of streams that Spark reads, in one frame, and those that the driver reads."""

    frame: DataFrame | None = None
    tags: Tags = field(default_factory=lambda: Tags({}, {}))
    """Of the streams in the frame."""
