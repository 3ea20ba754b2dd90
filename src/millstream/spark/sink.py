"""Sinks that only Spark has: a table of its catalogue."""

from __future__ import annotations

from typing import Any

from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it


class TableSink:
    """Appends to a Spark table. At-least-once: the step's number is in the column `epoch` if `with_epoch`."""

    def __init__(self, name: str, *, with_epoch: bool = False) -> None:
        self.name = name
        self.with_epoch = with_epoch

    def write(self, rows: Any, epoch: int) -> None:
        """Append the rows of a step."""
        frame = rows.withColumn("epoch", F.lit(epoch)) if self.with_epoch else rows
        frame.write.mode("append").saveAsTable(self.name)

    def close(self) -> None:
        """Nothing to let go of."""
