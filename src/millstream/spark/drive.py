"""Driving a host on Spark: when an epoch is taken, and from which sources its rows are."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from millstream.runtime.durable.drive import Drive
from millstream.runtime.trigger import Every, Once
from millstream.spark.agreement import SPARK, check_next
from millstream.spark.epoch_size import limited
from millstream.spark.file_scan import FileScan, Scan
from millstream.spark.follow import follow
from millstream.spark.local_session import prepare_session
from millstream.spark.paths.arrivals import SparkArrivals
from millstream.spark.paths.frames import Tags, tagged

if TYPE_CHECKING:
    from millstream.spark.host import SparkHost

log = logging.getLogger("millstream.spark")


class SparkDrive(Drive):
    """One run of a host on Spark."""

    host: SparkHost

    def follow(self, streaming: Mapping[str, DataFrame]) -> None:
        """Spark says when an epoch is, and between its epochs the other sources are heard."""
        host, trigger = self.host, self.trigger
        streaming = {name: limited(frame) for name, frame in streaming.items()}
        tags = Tags.of(streaming)
        files = FileScan.of(streaming, host.storage)
        settled = threading.Event()
        before = host.ledger.sequence
        if frames := self._unread_frames():  # of such a frame all rows are one epoch, before those of the streams
            self.step(SparkArrivals({}, tagged(frames), Tags.of(frames)), host.ledger.epoch)

        def on_epoch(frame: DataFrame, epoch: int) -> None:
            if epoch == host.ledger.epoch:
                log.info("epoch %d is committed already", epoch)
                return
            check_next(host.ledger, host.storage, epoch)
            if not settled.is_set():  # the session is the stream's own, from its first epoch to its last
                prepare_session(frame.sparkSession, host.partitions, host.settings)
                settled.set()
            host.apply_changes()

            def scan() -> Scan | None:
                return None if files is None else files.of_epoch(frame.sparkSession, epoch)

            def again() -> DataFrame | None:
                found = scan()
                return None if found is None else found.frame({})

            self.step(SparkArrivals(self.next_local(), frame, tags, again, scan), epoch)

        def started(query: StreamingQuery) -> None:
            host.query = query

        # Spark refuses a name that another run of the session has: two engines may ask the same.
        name = f"millstream {', '.join(list(host.queries)[:5])} ({host.id[:8]})"
        host.spark_progress = follow(
            streaming,
            trigger,
            on_epoch,
            self._idle,
            stopping=self.stopping,
            changing=lambda: host.changes.pending,
            started=started,
            checkpoint=host.checkpoint / SPARK,
            name=name,
        )
        # Spark's streams may have fewer epochs than the sources that the driver reads, or none.
        taken = isinstance(trigger, Once) and host.ledger.sequence > before
        while not isinstance(trigger, Every) and not taken and not self.stopping() and (local := self.next_local()):
            self.step(SparkArrivals(local), host.ledger.epoch)
            taken = isinstance(trigger, Once)

    def _idle(self) -> None:
        """Spark has no rows; the driver's sources, the clock and the caller may have something to say."""
        began = time.monotonic()
        self.host.apply_changes()
        if local := self.next_local():
            self.step(SparkArrivals(local), self.host.ledger.epoch)
            return
        self.nothing_new(began)

    def arrivals(self) -> SparkArrivals | None:
        """The rows of the next epoch where no frame is a stream, if there are any."""
        frames, local = self._unread_frames(), self.next_local()
        if not frames and not local:
            return None
        return SparkArrivals(local, tagged(frames) if frames else None, Tags.of(frames))

    def _unread_frames(self) -> dict[str, DataFrame]:
        """The data frames that are no streams and whose rows no committed step has taken."""
        host = self.host
        frames = {name: frame for name, frame in host.frames().items() if not frame.isStreaming}
        return {name: frame for name, frame in frames.items() if host.stream_ledgers()[name].position is None}


def read_all(query: StreamingQuery, timeout: float | None) -> bool:
    """Wait until Spark has read what its sources have now; True if that came in time."""

    def wait() -> None:
        with contextlib.suppress(PySparkException, Py4JError):  # why a query failed, its own run says
            query.processAllAvailable()

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    waiter.join(timeout)
    return not waiter.is_alive()
