"""The rows of an epoch on Spark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from millstream.runtime.durable.jobs import Arrivals
from millstream.spark.file_scan import Scan
from millstream.spark.paths.frames import Tags


@dataclass(frozen=True)
class SparkArrivals(Arrivals):
    """The rows of an epoch: those of streams that Spark reads, in one frame, and those that the driver reads."""

    frame: DataFrame | None = None
    tags: Tags = field(default_factory=lambda: Tags({}, {}))
    """Of the streams in the frame."""
    again: Callable[[], DataFrame | None] = lambda: None
    """Makes a frame of the same rows that reads only the columns that are asked for; None where that cannot be."""
    scan: Callable[[], Scan | None] = lambda: None
    """The files that the rows are in; None where they are in none, or nobody knows."""

    def scanned(self) -> DataFrame:
        """The rows that Spark reads, in the way that costs least where only some columns are needed."""
        assert self.frame is not None
        found = self.again()
        return self.frame if found is None else found
