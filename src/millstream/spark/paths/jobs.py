"""The Spark jobs of an epoch: rows take the first row path that is open to them."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pyspark.sql import SparkSession

from millstream.core.settings import Settings
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Report
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.unread import of_batches
from millstream.spark.paths.arrivals import SparkArrivals
from millstream.spark.paths.row_paths import Collector, Entered, Few, Reduced, RowPath, Straight
from millstream.spark.paths.scan_guard import guarded


class SparkJobs:
    """Runs a program's steps on Spark; usually one job each."""

    def __init__(self, spark: SparkSession, settings: Settings) -> None:
        self._spark = spark
        self._settings = settings
        self._made: tuple[Collector, Sequence[RowPath]] | None = None
        self.planned = 0.0

    def step(self, program: Program, order: Order, arrivals: SparkArrivals, what: str) -> list[Report]:
        """Rows enter and meet; `what` is shown in Spark's own pages."""
        began = time.monotonic()
        collect, paths = self._of(program)
        collect.running = 0.0
        reports: list[Report] | None = None
        guard = guarded(program, order, arrivals)
        arrivals = arrivals if guard is None else guard.arrivals
        for path in paths:
            if reports is None and path.refused(order, arrivals) is None:
                reports = path(order, arrivals, what)
        assert reports is not None, "the last path takes all rows"
        collect.took(reports)
        unread = [] if guard is None else guard.unread(program, reports)
        reports += [*unread, *of_batches(program, arrivals.local)]
        self.planned = time.monotonic() - began - collect.running
        return reports

    def learn(self, program: Program, order: Order, what: str) -> list[Report]:
        """No rows: operators only learn what is known; where they keep little, the driver does it itself."""
        collect, (few, *_) = self._of(program)
        assert isinstance(few, Few)
        return few.learn(order) if few.little(order) is None else collect.learn(order, what)

    def _of(self, program: Program) -> tuple[Collector, Sequence[RowPath]]:
        """The paths of a program, best first; worked out once."""
        if self._made is None or self._made[0].program is not program:
            collect = Collector(self._spark, program)
            paths = Few(collect), Reduced(collect, self._settings), Straight(collect), Entered(collect)
            self._made = collect, paths
        return self._made
