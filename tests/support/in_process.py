"""The durable local host, with programs and orders pickled on their way to a task, as Spark would.

So nothing can be passed by identity.
"""

from __future__ import annotations

from pathlib import Path

from pyspark import cloudpickle

import millstream as ms
from millstream.core.settings import PLAIN, Settings
from millstream.runtime.durable.jobs import Arrivals, LocalJobs
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Parcel, Report
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.task import meet_at


class InProcessJobs(LocalJobs):
    """Tasks one after another; what they are told is pickled."""

    def step(self, program: Program, order: Order, arrivals: Arrivals, what: str) -> list[Report]:
        there = cloudpickle.loads(cloudpickle.dumps(program))
        return super().step(there, order, arrivals, what)

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


def engine(checkpoint: Path, partitions: int, settings: Settings = PLAIN) -> ms.Engine:
    """An engine on this host."""
    made = ms.Engine(
        host="local",
        checkpoint=checkpoint,
        partitions=partitions,
        ansi=settings.ansi,
        time_zone=settings.zone,
    )
    made.host.jobs = InProcessJobs()
    return made
