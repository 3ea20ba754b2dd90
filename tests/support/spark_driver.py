"""Transcripts and runs on Spark: one session for the whole run of tests, few partitions, small data."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

import millstream as ms
from millstream.spark.paths import row_paths
from support import in_process
from support.transcripts import OUTPUTS, Case, Left, LocalDriver, build, schema_of

FEW_ROWS, NO_ROWS = row_paths.FEW_ROWS, -1


@cache
def session() -> Any:
    """The one session.

    Epochs of tests are small, and the driver would take them in by itself: here they go through Spark's jobs, but for
    the tests that ask for `few_rows`.
    """
    row_paths.FEW_ROWS = NO_ROWS
    return ms.Engine(partitions=2).spark


class Keeper:
    """A sink that keeps rows as dicts."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def write(self, rows: pa.Table, epoch: int) -> None:
        self.rows += rows.to_pylist()

    def close(self) -> None:
        """Nothing to let go of."""


class SparkDriver(LocalDriver):
    """Plays a case on Spark, one epoch a run; in as many partitions as MILLSTREAM_PARTITIONS says."""

    def __init__(self, case: Case) -> None:
        """Declare the streams and the query."""
        self.engine = self._engine()
        self.now: Any = None
        self.waiting: dict[str, list[ms.Epoch]] = {name: [] for name in case["streams"]}
        streams = {
            name: self.engine.stream(
                name,
                self._source(name),
                schema=schema_of(spec["columns"]),
                progress=self._progress(spec.get("progress")),
            )
            for name, spec in case["streams"].items()
        }
        self._declare_tables(case)
        query = build(case["query"], streams)
        self.keepers = {name: Keeper() for name in OUTPUTS}
        query.named("q").to(self.keepers["results"])
        query.late.to(self.keepers["late"])
        query.rejected.to(self.keepers["rejected"])

    def _engine(self) -> ms.Engine:
        return ms.Engine(session(), partitions=int(os.environ.get("MILLSTREAM_PARTITIONS", "2")))

    def _run(self, *, end: bool = False) -> Left:
        for keeper in self.keepers.values():
            keeper.rows = []
        self.engine.start(ms.once(), end_of_stream=end, allow_unbounded=True).await_termination()
        return {name: keeper.rows for name, keeper in self.keepers.items()}


class TasksDriver(SparkDriver):
    """Plays a case as Spark's tasks would, in five partitions, without Spark."""

    def _engine(self) -> ms.Engine:
        return in_process.engine(Path(tempfile.mkdtemp(prefix="transcript-")), 5)
