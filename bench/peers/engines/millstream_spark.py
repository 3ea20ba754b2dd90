"""Millstream on a local Spark session, with its checkpoint on disk: state, progress and results are files."""

from __future__ import annotations

import tempfile
from importlib.metadata import version
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

import millstream as ms
from millstream.spark.local_session import local_session
from peers.driver import Answer, Job, serve
from peers.engines.millstream_queries import ask
from peers.meter import Meter
from peers.workloads import CORES, EPOCH_FILES


class Started(StreamingQueryListener):
    """Begins to measure when a stream has started, as all streams here are measured: without planning it."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
        """Spark calls this before the first epoch, and waits for it."""
        self._meter.begin()

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Of no interest."""

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Of no interest."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Of no interest."""


class OnSpark:
    """A local session, as `ms.Engine()` makes it."""

    name = "millstream-spark"

    def __init__(self) -> None:
        self._session = local_session(CORES)
        self.versions = {name: version(name) for name in ("millstream", "pyspark", "pyarrow")}

    def answer(self, job: Job, meter: Meter) -> Answer:
        """A new engine and checkpoint for each run; time is from the start of the stream to the last result."""
        out, started = Answer(), Started(meter)
        self._session.streams.addListener(started)
        try:
            with tempfile.TemporaryDirectory(prefix="peers-") as checkpoint:
                engine = ms.Engine(self._session, checkpoint=checkpoint, partitions=CORES)
                ask(engine, job, {name: self._stream(job, name) for name in job.asked.streams}, out)
                engine.start(ms.available_now(), end_of_stream=True).await_termination()
        finally:
            self._session.streams.removeListener(started)
        return out

    def _stream(self, job: Job, name: str) -> Any:
        schema = ", ".join(f"{column} long" for column in job.asked.columns)
        rows = self._session.readStream.schema(schema).option("maxFilesPerTrigger", EPOCH_FILES)
        return rows.parquet(str(job.folder / name / "parquet"))


if __name__ == "__main__":
    serve(OnSpark)
