"""Row paths: the ways that the rows of an epoch can take through Spark, and why a program's rows take one.

All lead to the same state and the same results. They differ in how often rows pass through Python.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from millstream.core.settings import Settings
from millstream.plan import nodes
from millstream.runtime.durable.jobs import LocalJobs
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Report
from millstream.runtime.tasks.program import Program
from millstream.spark.local_session import settings_of
from millstream.spark.paths.arrivals import SparkArrivals
from millstream.spark.paths.direct import why_not_direct
from millstream.spark.paths.frames import (
    PARCEL,
    Tags,
    blobs,
    entering,
    entering_blobs,
    entering_to_meet,
    learning,
    meeting,
    numbered,
)
from millstream.spark.paths.narrow import Narrow
from millstream.spark.paths.partials import reducing, sending
from millstream.spark.paths.reduce import Reduction, why_not_native

# Below so many rows an epoch says little; above, reducing must make of three rows one partial at least.
_MANY = 50_000
_WORTH = 3
_NAMED = 5
_LONGEST_PENALTY = 63
"""After so many steps at most, Spark tries again to reduce rows that an expression failed for."""
FEW_ROWS = 10_000
"""So many rows the driver takes in itself."""
FEW_KEPT = 100_000
"""So many rows of state it opens for that."""


class RowPath(Protocol):
    """One way for the rows of an epoch."""

    words: str
    """What happens to the rows, for `explain`."""

    def refused(self, order: Order, arrivals: SparkArrivals) -> str | None:
        """Why the rows of this epoch cannot take this way; None if they can."""
        ...

    def __call__(self, order: Order, arrivals: SparkArrivals, what: str) -> list[Report] | None:
        """Bring the rows to where they meet; `what` is shown in Spark's own pages. None: they must go another way."""
        ...


class Collector:
    """Runs Spark jobs of one program, and collects their reports."""

    def __init__(self, spark: SparkSession, program: Program) -> None:
        self.spark = spark
        self.program = program
        self.rows: int | None = None
        """How many rows the last epoch had; None before the first."""
        self.running = 0.0
        """Seconds that jobs of the step under way have run."""

    def took(self, reports: Sequence[Report]) -> None:
        """Note how many rows an epoch had."""
        entrances = [i for i, node in enumerate(self.program.nodes) if isinstance(node, nodes.Source)]
        self.rows = sum(report.meters.get(i, {}).get("rows_in", 0) for report in reports for i in entrances)

    def describe(self, what: str) -> None:
        """Say in Spark's own pages what the next job is."""
        queries = ", ".join([target.name for target in self.program.targets][:_NAMED])
        self.spark.sparkContext.setJobDescription(f"millstream {queries}: {what}")

    def __call__(self, frame: DataFrame, what: str) -> list[Report]:
        """Run a job; its rows are reports."""
        self.describe(what)
        with self.watched():
            rows = frame.collect()
        return [Report.unpack(bytes(row["blob"])) for row in rows]

    @contextmanager
    def watched(self) -> Iterator[None]:
        """While rows move."""
        began = time.monotonic()
        yield
        self.running += time.monotonic() - began

    def levels(self, order: Order, frame: DataFrame, first: int) -> DataFrame:
        """Parcels past the stops of a level and of those above it."""
        for level in range(first, self.program.depth + 1):
            frame = frame.repartitionById(self.program.partitions, F.col("partition"))
            frame = frame.mapInArrow(meeting(self.program, order, level), PARCEL)
        return frame

    def learn(self, order: Order, what: str) -> list[Report]:
        """No rows: operators only learn what is known, where they are; nothing has to be brought there."""
        if not self.program.depth:
            return []
        partitions = self.program.partitions
        places = self.spark.range(0, partitions, 1, partitions)
        settled = places.mapInArrow(learning(self.program, order), PARCEL)
        return self(self.levels(order, settled, 2), what)


class Few:
    """The driver itself takes in epochs of few rows: a job with its shuffles and workers costs more than that."""

    words = "few rows: taken in by the driver"

    def __init__(self, collect: Collector) -> None:
        self._collect = collect
        self._local = LocalJobs()

    def refused(self, order: Order, arrivals: SparkArrivals) -> str | None:
        """Why the rows of this epoch cannot take this way."""
        if arrivals.frame is None:
            return "Spark reads none of the rows"
        return self.little(order)

    def little(self, order: Order) -> str | None:
        """Why there is too much for the driver; None if there is not."""
        if self._collect.rows is None or self._collect.rows > FEW_ROWS:
            return f"the epoch before had more than {FEW_ROWS} rows, or there was none"
        kept = sum(table.rows for some in order.state.values() for one in some for table in one.tables.values())
        return None if kept <= FEW_KEPT else f"{kept} rows of state are more than {FEW_KEPT}"

    def learn(self, order: Order) -> list[Report]:
        """No rows: operators only learn what is known."""
        return self._local.learn(self._collect.program, order, "")

    def __call__(self, order: Order, arrivals: SparkArrivals, what: str) -> list[Report] | None:
        """One small job that fetches the rows; None if they are more than the driver should take."""
        assert arrivals.frame is not None
        self._collect.describe(f"{what}, few rows")
        with self._collect.watched():
            rows = arrivals.frame.limit(FEW_ROWS + 1).toArrow()
            if rows.num_rows > FEW_ROWS:
                return None
            return self._local.take(self._collect.program, order, arrivals.tags.read(rows.to_batches()), arrivals.local)


class Reduced:
    """Spark reduces the rows to partials by group and pane; only partials reach Python."""

    words = "reduced by Spark to partials"

    def __init__(self, collect: Collector, settings: Settings) -> None:
        self._collect = collect
        self._settings = settings
        self._natives = why_not_native(collect.program)
        self._reductions: list[Reduction] = []
        self._partials: int | None = None
        self._scattered = False
        """Almost every row is a partial of its own: shuffling those twice costs more than handing rows to kernels."""
        self._again = 0
        """The step from which on it is tried again, after an expression failed for a row."""
        self._penalty = 0
        """How many steps went another way the last time."""

    def refused(self, order: Order, arrivals: SparkArrivals) -> str | None:
        """Why the rows of this epoch cannot take this way."""
        if isinstance(self._natives, str):
            return self._natives
        if arrivals.frame is None or arrivals.local:
            return "the driver reads some of the rows"
        if settings_of(arrivals.frame.sparkSession) != self._settings:
            return "the session's ANSI mode or time zone has changed since the engine was made"
        if not self._reductions:  # made once: each column costs many calls to the JVM
            self._reductions = [Reduction(self._collect.program, one) for one in self._natives]
        if self._scattered:
            return "almost every row is a partial of its own"
        if order.sequence < self._again:
            return "an expression failed for some rows of an earlier epoch"
        return None

    def __call__(self, order: Order, arrivals: SparkArrivals, what: str) -> list[Report] | None:
        """Spark reduces the rows; a second job fetches those that are late or rejected, if there are any.

        None if an expression failed for a row: what was written is overwritten by the way that kernels take.
        """
        frame, program = arrivals.scanned(), self._collect.program
        reports = self._collect(self._collect.levels(order, *self._met(frame, order)), what)
        if any(report.failed for report in reports):
            self._penalty = min(_LONGEST_PENALTY, 2 * self._penalty + 1)
            self._again = order.sequence + 1 + self._penalty
            return None
        self._penalty //= 2
        self._partials = sum(report.partials for report in reports)
        first = self._reductions[0]
        rows = sum(report.meters.get(first.native.source, {}).get("rows_in", 0) for report in reports)
        self._scattered = rows >= _MANY and self._partials * _WORTH > rows * len(self._reductions)
        numbers = [first.native.source, *(one.native.stop for one in self._reductions)]
        meters = [report.meters.get(i, {}) for report in reports for i in numbers]
        if any(meter.get("late", 0) or meter.get("rejected", 0) for meter in meters):
            bad = first.set_apart(frame, order)
            entered = numbered(bad).mapInArrow(entering(program, order, arrivals.tags), PARCEL)
            apart = self._collect(entered, f"{what}, rows set apart")
            reports += [Report(staged=report.staged) for report in apart]
        return reports

    def _met(self, frame: DataFrame, order: Order) -> tuple[DataFrame, int]:
        """Parcels, and the first level of stops that they have not passed yet."""
        program, (first, *others) = self._collect.program, self._reductions
        together = first.in_one_task(self._partials)
        if not others and (together or first.alike):
            partials = first(frame, order, together=together)
            return partials.mapInArrow(reducing(program, order, first.native, together=together), PARCEL), 2
        # Kernels address the partials of several stores, and of groups whose values they hash in their own way.
        made = [
            one(frame, order, together=together, sent=True).mapInArrow(sending(program, one.native), PARCEL)
            for one in self._reductions
        ]
        return reduce(DataFrame.unionAll, made), 1


class Entrance:
    """What kernels get of an epoch's rows: only the columns that somebody reads, where Spark can judge rows too."""

    def __init__(self, collect: Collector) -> None:
        self._collect = collect
        self._narrow = Narrow.of(collect.program)

    def rows(self, order: Order, arrivals: SparkArrivals) -> tuple[DataFrame, Tags, bool]:
        """The frame for kernels, how its streams are told apart, and whether columns are missing."""
        assert arrivals.frame is not None
        if self._narrow is None or not self._narrow.fits(order, arrivals):
            return arrivals.frame, arrivals.tags, False
        return *self._narrow.rows(arrivals.scanned(), arrivals.tags), True

    def whole(
        self,
        order: Order,
        arrivals: SparkArrivals,
        what: str,
        reports: list[Report],
        narrow: bool,  # noqa: FBT001 - as `rows` gives it
    ) -> list[Report]:
        """The reports of an epoch; late and rejected rows that lacked columns are fetched by a second job."""
        if not narrow or self._narrow is None or not self._narrow.has_apart(reports):
            return reports
        bad = self._narrow.apart(arrivals.scanned(), arrivals.tags, order)
        entered = numbered(bad).mapInArrow(entering(self._collect.program, order, arrivals.tags), PARCEL)
        apart = self._collect(entered, f"{what}, rows set apart")
        return [*reports, *(Report(staged=report.staged) for report in apart)]


class Straight:
    """Spark shuffles the rows by their keys; one task takes them in and joins them."""

    words = "brought by Spark straight to the join"

    def __init__(self, collect: Collector) -> None:
        self._collect = collect
        self._direct = why_not_direct(collect.program)
        self._enter = Entrance(collect)

    def refused(self, order: Order, arrivals: SparkArrivals) -> str | None:
        """Why the rows of this epoch cannot take this way."""
        if isinstance(self._direct, str):
            return self._direct
        if arrivals.frame is None or arrivals.local or set(self._direct.keys) != set(arrivals.tags.schemas):
            return "the driver reads some of the rows"
        return None

    def __call__(self, order: Order, arrivals: SparkArrivals, what: str) -> list[Report]:
        """One job less a shuffle: rows enter where they meet."""
        assert not isinstance(self._direct, str)
        frame, tags, narrow = self._enter.rows(order, arrivals)
        met = numbered(self._direct(frame, tags))
        met = met.mapInArrow(entering_to_meet(self._collect.program, order, tags, narrow=narrow), PARCEL)
        return self._enter.whole(
            order, arrivals, what, self._collect(self._collect.levels(order, met, 2), what), narrow
        )


class Entered:
    """Kernels take the rows in where they are, and parcels of them are shuffled. Every program can go this way."""

    words = "taken in by kernels"

    def __init__(self, collect: Collector) -> None:
        self._collect = collect
        self._enter = Entrance(collect)

    def refused(self, order: Order, arrivals: SparkArrivals) -> str | None:
        """No rows are refused."""
        return None

    def __call__(self, order: Order, arrivals: SparkArrivals, what: str) -> list[Report]:
        """One job: rows that Spark reads and rows that the driver reads enter, and meet at each level of stops."""
        collect, program = self._collect, self._collect.program
        frame: DataFrame | None = None
        narrow = False
        if arrivals.frame is not None:
            rows, tags, narrow = self._enter.rows(order, arrivals)
            frame = numbered(rows).mapInArrow(entering(program, order, tags, narrow=narrow), PARCEL)
        held = blobs(collect.spark, arrivals.local, program.partitions)
        if held is not None:
            more = held.mapInArrow(entering_blobs(program, order), PARCEL)
            frame = more if frame is None else frame.unionAll(more)
        if frame is None:
            return collect.learn(order, what)
        return self._enter.whole(order, arrivals, what, collect(collect.levels(order, frame, 1), what), narrow)
