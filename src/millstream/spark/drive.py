"""Driving a host on Spark: when an epoch is taken, and from which sources its rows are."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from millstream.runtime.batch import Batch, Source
from millstream.runtime.handed import HandedOn
from millstream.runtime.trigger import AvailableNow, Every, Once, Trigger, wait_until
from millstream.spark.agreement import check_next
from millstream.spark.follow import follow
from millstream.spark.frames import Tags, tagged
from millstream.spark.jobs import Arrivals
from millstream.spark.session import settle_session

if TYPE_CHECKING:
    from millstream.spark.host import SparkHost

log = logging.getLogger("millstream.spark")


class Drive:
    """One run of a host: epochs as the trigger says, until done or told to stop."""

    def __init__(
        self,
        host: SparkHost,
        trigger: Trigger,
        stopping: Callable[[], bool],
        report: Callable[[dict[str, Any]], None],
        quiet: Callable[[float], None],
    ) -> None:
        self.host = host
        self.trigger = trigger
        self._stopping = stopping
        self._report = report
        self._quiet = quiet
        self._readers: dict[str, Iterator[Batch]] = {}

    def follow(self, streaming: Mapping[str, DataFrame]) -> None:
        """Spark says when an epoch is, and between its epochs the other sources are heard."""
        host, trigger = self.host, self.trigger
        tags = Tags.of(streaming)
        settled = threading.Event()
        before = host.ledger.sequence
        if frames := self._unread_frames():  # of such a frame all rows are one epoch, before those of the streams
            self._step(Arrivals(tagged(frames), Tags.of(frames), {}), host.ledger.epoch)

        def on_epoch(frame: DataFrame, epoch: int) -> None:
            if epoch == host.ledger.epoch:
                log.info("epoch %d is committed already", epoch)
                return
            check_next(host.ledger, host.checkpoint, epoch)
            if not settled.is_set():  # the session is the stream's own, from its first epoch to its last
                settle_session(frame.sparkSession, host.partitions, host.settings)
                settled.set()
            self._step(Arrivals(frame, tags, self._next_local()), epoch)

        def started(query: StreamingQuery) -> None:
            host.query = query

        # Spark refuses a name that another run of the session has: two engines may ask the same.
        name = f"millstream {', '.join(list(host.queries)[:5])} ({host.id[:8]})"
        host.spark_progress = follow(
            streaming,
            trigger,
            on_epoch,
            self._idle,
            stopping=self._stopping,
            started=started,
            checkpoint=host.checkpoint / "spark",
            name=name,
        )
        # Spark's streams may have fewer epochs than the sources that the driver reads, or none.
        taken = isinstance(trigger, Once) and host.ledger.sequence > before
        while not isinstance(trigger, Every) and not taken and not self._stopping() and (local := self._next_local()):
            self._step(Arrivals(local=local), host.ledger.epoch)
            taken = isinstance(trigger, Once)

    def _idle(self) -> None:
        """Spark has no rows; the driver's sources, the clock and the caller may have something to say."""
        began = time.monotonic()
        if local := self._next_local():
            self._step(Arrivals(local=local), self.host.ledger.epoch)
            return
        self._readers = {}
        self.host.flush(self._report)
        self._quiet(began)

    def by_itself(self) -> None:
        """No frame is a stream: the driver says when an epoch is."""
        host, trigger = self.host, self.trigger
        while not self._stopping():
            began = time.monotonic()
            frames = self._unread_frames()
            local = self._next_local()
            if frames or local:
                arrivals = Arrivals(tagged(frames) if frames else None, Tags.of(frames), local)
                self._step(arrivals, host.ledger.epoch + 1)
            elif isinstance(trigger, Every):
                self._readers = {}
                host.flush(self._report)
                self._quiet(began)
            if isinstance(trigger, Once) or (isinstance(trigger, AvailableNow) and not frames and not local):
                return
            if isinstance(trigger, Every):
                wait_until(began + trigger.seconds, self._stopping)

    def _step(self, arrivals: Arrivals, epoch: int) -> None:
        self.host.step(arrivals, epoch, self._report, self.trigger)

    def _unread_frames(self) -> dict[str, DataFrame]:
        """The data frames that are no streams and whose rows no committed step has taken."""
        host = self.host
        frames = {n: s for n, s in host.sources.items() if isinstance(s, DataFrame) and not s.isStreaming}
        return {name: frame for name, frame in frames.items() if host.stream_ledgers()[name].position is None}

    def _next_local(self) -> dict[str, Batch]:
        """The next batch of each source that the driver reads itself."""
        out: dict[str, Batch] = {}
        for name, source in self.host.sources.items():
            if isinstance(source, DataFrame):
                continue
            local: Source = source
            if isinstance(source, HandedOn):
                batch = source.read(self.host.ledger.handed.get(name, ()))
            else:
                if name not in self._readers:
                    self._readers[name] = local.batches()
                batch = next(self._readers[name], None)
            if batch is None and self.host.supplied.get(name):
                batch = Batch(local.schema.empty_table())
            if batch is not None:
                out[name] = batch
        return out


def read_all(query: StreamingQuery, timeout: float | None) -> bool:
    """Wait until Spark has read what its sources have now; True if that came in time."""

    def wait() -> None:
        with contextlib.suppress(PySparkException, Py4JError):  # why a query failed, its own run says
            query.processAllAvailable()

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    waiter.join(timeout)
    return not waiter.is_alive()
