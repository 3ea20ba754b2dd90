"""The Spark host without Spark: the same checkpoint, manifests, ledger and delivery; tasks run in this process.

Programs are pickled on their way to a task, as Spark would, so that nothing can be passed by identity.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark import cloudpickle

import millstream as ms
from millstream.runtime.batch import Batch
from millstream.runtime.parcel import Parcel, Report
from millstream.runtime.tasks import Order, enter, meet_at
from millstream.spark.host import SparkHost


class InProcessHost(SparkHost):
    """Tasks one after another; parcels are lists."""

    def __init__(self, checkpoint: Path, partitions: int) -> None:
        super().__init__(None, checkpoint, partitions)  # type: ignore[arg-type]  # nobody asks for the session

    def _general_job(self, frame: Any, names: Any, order: Order, local: dict[str, Batch], what: str) -> list[Report]:
        program = cloudpickle.loads(cloudpickle.dumps(self.program))
        parcels: list[Parcel] = []
        task = 0
        for name, batch in local.items():
            size = max(1, -(-batch.rows.num_rows // self.partitions))
            for start in range(0, max(1, batch.rows.num_rows), size):
                bad = [(one.raw, one.reason) for one in (batch.unreadable if start == 0 else ())]
                parcels += enter(program, order, {name: (batch.rows.slice(start, size), bad)}, task)
                task += 1
        return self._met(order, parcels)

    def _job(self, order: Order, entered: Any, what: str) -> list[Report]:
        return self._met(order, [])

    def _met(self, order: Order, parcels: list[Parcel]) -> list[Report]:
        for level in range(1, self.program.depth + 1):
            program, told = cloudpickle.loads(cloudpickle.dumps((self.program, order)))
            parcels = [
                parcel
                for partition in range(self.partitions)
                for parcel in meet_at(program, told, level, partition, [p for p in parcels if p.partition == partition])
            ]
        assert {parcel.kind for parcel in parcels} <= {"report"}
        return [Report.unpack(parcel.blob) for parcel in parcels]


def engine(checkpoint: Path, partitions: int) -> ms.Engine:
    """An engine on this host."""
    made = ms.Engine(host="local")
    made.host = InProcessHost(checkpoint, partitions)
    return made
