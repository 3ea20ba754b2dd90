"""The Spark host: the durable host with Spark's jobs, and with data frames as sources.

`foreachBatch` gives the rows and the number of an epoch. If that epoch has a manifest it is done and is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.core.errors import PlanError
from millstream.plan import nodes
from millstream.runtime.batch import Batch
from millstream.runtime.durable.host import DurableHost, ReportTo
from millstream.runtime.sinks.callback import CallbackSink
from millstream.runtime.tasks.program import Program
from millstream.runtime.trigger import Trigger
from millstream.spark.agreement import check_frames
from millstream.spark.check_session import check_session, check_worker
from millstream.spark.drive import SparkDrive, read_all
from millstream.spark.failure import readable
from millstream.spark.local_session import partitions_of, settings_of
from millstream.spark.paths.arrivals import SparkArrivals
from millstream.spark.paths.frames import arrow_schema
from millstream.spark.paths.jobs import SparkJobs
from millstream.spark.places import places, row_path
from millstream.spark.reread import read_again
from millstream.spark.sink import TableSink


class SparkHost(DurableHost):
    """Runs queries over data frames and sources, an epoch at a time, with a checkpoint."""

    def __init__(self, spark: SparkSession, checkpoint: str | Path | None, partitions: int | None) -> None:
        check_session(spark)
        self.spark = spark
        self.settings = settings_of(spark)
        super().__init__(checkpoint, partitions_of(partitions, spark), SparkJobs(spark, self.settings))
        self.query: StreamingQuery | None = None
        self.spark_progress: list[dict[str, int]] = []
        """What Spark itself measured of each epoch of the last streaming run, in milliseconds by phase."""

    def frame_schema(self, frame: DataFrame) -> Any:
        """A data frame's schema as Arrow sees it."""
        return arrow_schema(frame)

    def frame_table(self, frame: DataFrame) -> Any:
        """All rows of a data frame that is no stream, as its files are now."""
        return read_again(frame).toArrow().cast(arrow_schema(frame))

    def places(self, program: Program, sources: Mapping[str, Any]) -> Callable[[nodes.Node], str]:
        """Where each node of a program is computed."""
        return places(program, sources)

    def row_path(self, program: Program, sources: Mapping[str, Any]) -> Callable[[nodes.Source], str | None]:
        """Which way the rows of a stream take, and why."""
        return row_path(program, sources)

    def run(
        self,
        trigger: Trigger,
        *,
        end_of_stream: bool,
        stopping: Callable[[], bool],
        report: ReportTo,
        quiet: Callable[[float], None],
    ) -> None:
        """Take epochs as the trigger says, until done or told to stop."""
        try:
            super().run(trigger, end_of_stream=end_of_stream, stopping=stopping, report=report, quiet=quiet)
        except (PySparkException, Py4JError, RuntimeError) as error:
            raise readable(error, self.epoch) from error
        finally:
            self.query = None

    def check_workers(self) -> None:
        """Can Spark's workers run the engine?"""
        check_worker(self.spark)

    def check_sources(self, sources: Mapping[str, Any]) -> None:
        """Spark's own stream reads the frames that it was started with, and no others."""
        framed = [name for name, source in sources.items() if isinstance(source, DataFrame)]
        if framed:
            raise PlanError(
                f"the stream {framed[0]!r} is a data frame that this run does not read",
                hint="Stop the run and start it again: it goes on from its checkpoint, with the new query.",
            )

    def read_all(self, timeout: float | None) -> bool:
        """Wait until Spark has read what its sources have now; True if that came in time."""
        return True if self.query is None else read_all(self.query, timeout)

    def take_epochs(
        self, trigger: Trigger, stopping: Callable[[], bool], report: ReportTo, quiet: Callable[[float], None]
    ) -> None:
        """Take epochs as the trigger says; where some frame is a stream, Spark says when an epoch is."""
        # In order of their names: Spark's checkpoint knows streams by their place only.
        streaming = {name: frame for name, frame in sorted(self.frames().items()) if frame.isStreaming}
        check_frames(self.ledger, self.storage, list(streaming))
        self.ledger.frames = list(streaming)
        drive = SparkDrive(self, trigger, stopping, report, quiet)
        if streaming:
            drive.follow(streaming)
        else:
            drive.by_itself()

    def frames(self) -> dict[str, DataFrame]:
        """The sources that Spark reads."""
        return {name: source for name, source in self.sources.items() if isinstance(source, DataFrame)}

    def arrivals(self, local: Mapping[str, Batch]) -> SparkArrivals:
        """An epoch of rows that the driver holds, for the jobs."""
        return SparkArrivals(local)

    def held_sources(self) -> dict[str, Any]:
        """The sources that the driver reads itself."""
        return {name: source for name, source in self.sources.items() if not isinstance(source, DataFrame)}

    def took(self, arrivals: SparkArrivals) -> None:
        """Note in the ledger what a step has read of each source."""
        super().took(arrivals)
        for name, frame in self.frames().items():
            if name in arrivals.tags.schemas and not frame.isStreaming:
                self.stream_ledgers()[name].position = {"read": True}

    def hand_over(self, sink: Any, rows: Any, sequence: int) -> None:
        """Give a step's rows to a sink that is no folder; some take a data frame."""
        framed = isinstance(sink, CallbackSink | TableSink)
        sink.write(self.spark.createDataFrame(rows) if framed else rows, sequence)
