"""The Spark host without Spark: the same checkpoint, manifests, ledger and delivery; tasks run in this process.

Programs are pickled on their way to a task, as Spark would, so that nothing can be passed by identity.
"""

from __future__ import annotations

from pathlib import Path

from pyspark import cloudpickle

import millstream as ms
from millstream.core.settings import PLAIN, Settings
from millstream.runtime.flow import Order
from millstream.runtime.parcel import Parcel, Report
from millstream.runtime.program import Program
from millstream.runtime.tasks import enter, meet_at
from millstream.spark.host import SparkHost
from millstream.spark.jobs import Arrivals, Jobs
from millstream.spark.reduce import Reduction


class InProcessJobs(Jobs):
    """Tasks one after another; parcels are lists."""

    def step(
        self, program: Program, order: Order, arrivals: Arrivals, reduction: Reduction | None, what: str
    ) -> list[Report]:
        there = cloudpickle.loads(cloudpickle.dumps(program))
        parcels: list[Parcel] = []
        task = 0
        for name, batch in arrivals.local.items():
            size = max(1, -(-batch.rows.num_rows // program.partitions))
            for start in range(0, max(1, batch.rows.num_rows), size):
                bad = [(one.raw, one.reason) for one in (batch.unreadable if start == 0 else ())]
                parcels += enter(there, order, {name: (batch.rows.slice(start, size), bad)}, task)
                task += 1
        return self._met(program, order, parcels)

    def settle(self, program: Program, order: Order, what: str) -> list[Report]:
        return self._met(program, order, [])

    def _met(self, program: Program, order: Order, parcels: list[Parcel]) -> list[Report]:
        for level in range(1, program.depth + 1):
            there, told = cloudpickle.loads(cloudpickle.dumps((program, order)))
            parcels = [
                parcel
                for partition in range(program.partitions)
                for parcel in meet_at(there, told, level, partition, [p for p in parcels if p.partition == partition])
            ]
        assert {parcel.kind for parcel in parcels} <= {"report"}
        return [Report.unpack(parcel.blob) for parcel in parcels]


class InProcessHost(SparkHost):
    """The host with those jobs."""

    def __init__(self, checkpoint: Path, partitions: int) -> None:
        super().__init__(None, checkpoint, partitions)  # type: ignore[arg-type]  # nobody asks for the session
        self.jobs = InProcessJobs(None, partitions)  # type: ignore[arg-type]


def engine(checkpoint: Path, partitions: int, settings: Settings = PLAIN) -> ms.Engine:
    """An engine on this host."""
    made = ms.Engine(host="local", ansi=settings.ansi, time_zone=settings.zone)
    made.host = InProcessHost(checkpoint, partitions)
    return made
