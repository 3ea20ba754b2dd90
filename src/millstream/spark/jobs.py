"""The Spark jobs of an epoch: rows enter where they are, and meet where their state is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from millstream.runtime.batch import Batch
from millstream.runtime.flow import Order
from millstream.runtime.parcel import Report
from millstream.runtime.program import Program
from millstream.spark.direct import Direct, direct
from millstream.spark.frames import (
    PARCEL,
    Tags,
    blobs,
    entering,
    entering_blobs,
    entering_to_meet,
    meeting,
    numbered,
    settling,
)
from millstream.spark.partials import reducing
from millstream.spark.reduce import Reduction


@dataclass(frozen=True)
class Arrivals:
    """An epoch's rows: those of streams that Spark reads, in one frame, and those that the driver holds."""

    frame: DataFrame | None = None
    tags: Tags = field(default_factory=lambda: Tags({}, {}))
    """Of the streams in the frame."""
    local: Mapping[str, Batch] = field(default_factory=dict[str, Batch])


# Below so many rows an epoch says little; above, reducing must make of three rows one partial at least.
_MANY = 50_000
_WORTH = 3


class Jobs:
    """Runs a program's steps on Spark; usually one job each."""

    def __init__(self, spark: SparkSession, partitions: int) -> None:
        self._spark = spark
        self._partitions = partitions
        self._partials: int | None = None
        self._direct: tuple[Program, Direct | None] | None = None
        self._scattered = False
        """Almost every row is a partial of its own: shuffling those twice costs more than handing rows to kernels."""

    def step(
        self, program: Program, order: Order, arrivals: Arrivals, reduction: Reduction | None, what: str
    ) -> list[Report]:
        """Rows enter and meet; `what` is shown in Spark's own pages."""
        if reduction is not None and not arrivals.local and (reduction.by_cells or not self._scattered):
            return self._reduce(program, order, arrivals, reduction, what)
        straight = None if arrivals.local else self._direct_of(program)
        if straight is not None and arrivals.frame is not None and set(straight.keys) == set(arrivals.tags.schemas):
            met = straight(arrivals.frame, arrivals.tags)
            met = numbered(met).mapInArrow(entering_to_meet(program, order, arrivals.tags), PARCEL)
            return self._collect(program, self._levels(program, order, met, 2), what)
        entered: list[DataFrame] = []
        if arrivals.frame is not None:
            entered.append(numbered(arrivals.frame).mapInArrow(entering(program, order, arrivals.tags), PARCEL))
        held = blobs(self._spark, arrivals.local, self._partitions)
        if held is not None:
            entered.append(held.mapInArrow(entering_blobs(program, order), PARCEL))
        return self._meet(program, order, entered, what) if entered else self.settle(program, order, what)

    def settle(self, program: Program, order: Order, what: str) -> list[Report]:
        """No rows: operators only learn what is known, where they are; nothing has to be brought there."""
        if not program.depth:
            return []
        places = self._spark.range(0, self._partitions, 1, self._partitions)
        settled = places.mapInArrow(settling(program, order), PARCEL)
        return self._collect(program, self._levels(program, order, settled, 2), what)

    def _reduce(
        self, program: Program, order: Order, arrivals: Arrivals, reduction: Reduction, what: str
    ) -> list[Report]:
        """Spark reduces the rows; a second job fetches those that are late or rejected, if there are any."""
        frame: Any = arrivals.frame
        native = reduction.native
        together = reduction.in_one_task(self._partials)
        partials = reduction(frame, order, together=together)
        met = partials.mapInArrow(reducing(program, order, native, together=together), PARCEL)
        reports = self._collect(program, met, what)
        self._partials = sum(report.partials for report in reports)
        rows = sum(report.meters.get(native.source, {}).get("rows_in", 0) for report in reports)
        self._scattered = rows >= _MANY and self._partials * _WORTH > rows
        meters = [report.meters.get(i, {}) for report in reports for i in (native.source, native.stop)]
        if any(meter.get("late", 0) or meter.get("rejected", 0) for meter in meters):
            bad = reduction.set_apart(frame, order)
            entered = numbered(bad).mapInArrow(entering(program, order, arrivals.tags), PARCEL)
            apart = self._collect(program, entered, f"{what}, rows set apart")
            reports += [Report(staged=report.staged) for report in apart]
        return reports

    def _meet(self, program: Program, order: Order, entered: list[DataFrame], what: str) -> list[Report]:
        """One job: parcels meet at each level of stops."""
        frame = entered[0]
        for more in entered[1:]:
            frame = frame.unionAll(more)
        return self._collect(program, self._levels(program, order, frame, 1), what)

    def _levels(self, program: Program, order: Order, frame: DataFrame, first: int) -> DataFrame:
        """Parcels past the stops of a level and of those above it."""
        for level in range(first, program.depth + 1):
            frame = frame.repartitionById(self._partitions, F.col("partition"))
            frame = frame.mapInArrow(meeting(program, order, level), PARCEL)
        return frame

    def _direct_of(self, program: Program) -> Direct | None:
        """How rows get straight to where they meet, if they can; worked out once."""
        if self._direct is None or self._direct[0] is not program:
            self._direct = (program, direct(program))
        return self._direct[1]

    def _collect(self, program: Program, frame: DataFrame, what: str) -> list[Report]:
        queries = ", ".join(target.name for target in program.targets)
        self._spark.sparkContext.setJobDescription(f"millstream {queries}: {what}")
        return [Report.unpack(bytes(row["blob"])) for row in frame.collect()]
