"""Transcripts and runs on Spark: one session for the whole run of tests, few partitions, small data."""

from __future__ import annotations

from functools import cache
from typing import Any

import pyarrow as pa

import millstream as ms
from support.transcripts import OUTPUTS, Case, Left, LocalDriver, build, schema_of


@cache
def session() -> Any:
    """The one session."""
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
    """Plays a case on Spark, one epoch a run."""

    def __init__(self, case: Case) -> None:
        """Declare the streams and the query."""
        self.engine = ms.Engine(session(), partitions=2)
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
        query = build(case["query"], streams)
        self.keepers = {name: Keeper() for name in OUTPUTS}
        query.named("q").to(self.keepers["results"])
        query.late.to(self.keepers["late"])
        query.rejected.to(self.keepers["rejected"])

    def _run(self, *, end: bool = False) -> Left:
        for keeper in self.keepers.values():
            keeper.rows = []
        self.engine.start(ms.once(), end_of_stream=end, allow_unbounded=True).await_termination()
        return {name: keeper.rows for name, keeper in self.keepers.items()}
