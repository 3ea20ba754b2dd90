"""Following streaming data frames: Spark says when an epoch is, and what is in it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.runtime.trigger import AvailableNow, Every, Once, Trigger
from millstream.spark.paths.frames import tagged

_LOOK = 0.1
"""Seconds between two looks at what Spark's query is doing."""
_FILES = "spark.sql.streaming.checkpointFileManagerClass"
_PLAIN = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
OnEpoch = Callable[[DataFrame, int], None]
"""Takes an epoch's rows and its number; returns when they are committed."""
Idle = Callable[[], None]
"""Does what is to be done between Spark's epochs; called at the trigger's interval while Spark has none under way."""


def follow(
    frames: Mapping[str, DataFrame],
    trigger: Trigger,
    on_epoch: OnEpoch,
    idle: Idle,
    *,
    stopping: Callable[[], bool],
    changing: Callable[[], bool],
    started: Callable[[StreamingQuery], None],
    checkpoint: Path,
    name: str,
) -> list[dict[str, int]]:
    """Take epochs until the trigger is done or somebody says stop; returns what Spark measured of each."""
    failure: list[BaseException] = []
    under_way = threading.Lock()

    def on_batch(frame: DataFrame, epoch: int) -> None:
        with under_way:
            if stopping() or failure:
                raise _StoppedError
            try:
                on_epoch(frame, epoch)
            except Exception as error:
                failure.append(error)
                raise
            except BaseException as error:
                # sys.exit() would end the thread that Spark waits for, and Spark would wait on.
                failure.append(error)
                raise _StoppedError from error

    writer = tagged(frames).writeStream.foreachBatch(on_batch).queryName(name)
    writer = writer.option("checkpointLocation", str(checkpoint))
    match trigger:
        case AvailableNow():
            writer = writer.trigger(availableNow=True)
        case Once():
            writer = writer.trigger(once=True)
        case Every(seconds):
            writer = writer.trigger(processingTime=f"{int(seconds * 1000)} milliseconds")
    with _plain_files(next(iter(frames.values())).sparkSession):
        query = writer.start()
        _await_sources(query)
    started(query)
    try:
        _wait(query, trigger, idle, under_way, failure, stopping, changing)
    except StreamingQueryException:
        if not failure and not stopping():
            raise
    if failure:
        raise failure[0] from None
    return [dict(one.durationMs) for one in query.recentProgress]


def _wait(
    query: StreamingQuery,
    trigger: Trigger,
    idle: Idle,
    under_way: threading.Lock,
    failure: list[BaseException],
    stopping: Callable[[], bool],
    changing: Callable[[], bool],
) -> None:
    """Wait for the end of a query, and between its epochs do what is to be done without rows of its."""
    interval = max(trigger.seconds, _LOOK) if isinstance(trigger, Every) else float("inf")
    due = time.monotonic() + interval
    while not query.awaitTermination(_LOOK):  # type: ignore[arg-type]  # seconds, as Spark documents
        if stopping() or failure:
            with under_way:  # the epoch under way ends first
                pass
            query.stop()
        elif (changing() or time.monotonic() >= due) and under_way.acquire(blocking=False):
            try:
                idle()
            except BaseException as error:  # noqa: BLE001 - raised when Spark's query has stopped
                failure.append(error)
            finally:
                under_way.release()
            due = time.monotonic() + interval


def _await_sources(query: StreamingQuery) -> None:
    """Wait until a query has opened its sources, which it does in a thread of its own."""
    while query.isActive and query.status["message"].startswith("Initializing"):
        time.sleep(0.005)


@contextmanager
def _plain_files(session: SparkSession) -> Iterator[None]:
    """While a stream and its sources start, which then keep it so: have Spark write its logs by plain file operations.

    By default it asks after every link that a path might be, on a local disk by a process each time, of which an epoch
    starts about thirty. Here the logs are local, and a rename is one step of the file system either way. What somebody
    else has chosen stays.
    """
    if session.conf.get(_FILES, None) is not None:
        yield
        return
    session.conf.set(_FILES, _PLAIN)
    try:
        yield
    finally:
        session.conf.unset(_FILES)


class _StoppedError(Exception):
    """Raised in Spark's thread when an epoch begins after the run was told to stop."""
