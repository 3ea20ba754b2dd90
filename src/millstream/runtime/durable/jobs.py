"""The jobs of an epoch: what moves rows to where they meet. Here in this process; on Spark by shuffles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa

from millstream.runtime.batch import Batch
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Parcel, Report
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.task import Arrived, enter, meet_at
from millstream.runtime.tasks.unread import of_batches


@dataclass(frozen=True)
class Arrivals:
    """The rows of an epoch, by stream, of the sources that the driver reads itself."""

    local: Mapping[str, Batch] = field(default_factory=dict[str, Batch])


class Jobs(Protocol):
    """Runs the steps of a program."""

    planned: float
    """Seconds of the last step in which no rows were moved, only jobs made."""

    def step(self, program: Program, order: Order, arrivals: Any, what: str) -> list[Report]:
        """Rows enter, and meet at each level of stops; `what` names the step for those who watch."""
        ...

    def learn(self, program: Program, order: Order, what: str) -> list[Report]:
        """No rows: operators only learn what is known."""
        ...


class LocalJobs:
    """Runs tasks one after another in this process."""

    planned: float = 0.0

    def step(self, program: Program, order: Order, arrivals: Arrivals, what: str) -> list[Report]:
        """Rows enter, and meet at each level of stops."""
        parcels: list[Parcel] = []
        for task, (name, rows, bad) in enumerate(slices(arrivals.local, program.partitions)):
            parcels += enter(program, order, {name: (rows, bad)}, task)
        return [*self._met(program, order, parcels), *of_batches(program, arrivals.local)]

    def take(self, program: Program, order: Order, arrived: Arrived, local: Mapping[str, Batch]) -> list[Report]:
        """As `step`, for rows that somebody else has read, beside those that the driver has."""
        parcels = list(enter(program, order, arrived, 0)) if arrived else []
        for task, (name, rows, bad) in enumerate(slices(local, program.partitions)):
            parcels += enter(program, order, {name: (rows, bad)}, task, held=True)
        return self._met(program, order, parcels)

    def learn(self, program: Program, order: Order, what: str) -> list[Report]:
        """No rows: operators only learn what is known."""
        return self._met(program, order, [])

    def _met(self, program: Program, order: Order, parcels: list[Parcel]) -> list[Report]:
        for level in range(1, program.depth + 1):
            by_partition: dict[int, list[Parcel]] = {}
            for parcel in parcels:
                by_partition.setdefault(parcel.partition, []).append(parcel)
            parcels = [
                parcel
                for partition in range(program.partitions)
                for parcel in meet_at(program, order, level, partition, by_partition.get(partition, []))
            ]
        return [Report.unpack(parcel.blob) for parcel in parcels]


def slices(batches: Mapping[str, Batch], partitions: int) -> Iterator[tuple[str, pa.Table, list[tuple[str, str]]]]:
    """Batches cut into as many parts as there are partitions, in order of arrival: stream, rows, unreadable text.

    >>> cut = slices({"s": Batch(pa.table({"x": [1, 2, 3]}))}, 2)
    >>> [(name, rows["x"].to_pylist(), bad) for name, rows, bad in cut]
    [('s', [1, 2], []), ('s', [3], [])]
    """
    for name, batch in batches.items():
        size = max(1, -(-batch.rows.num_rows // partitions))
        for start in range(0, max(1, batch.rows.num_rows), size):
            bad = [(one.raw, one.reason) for one in (batch.unreadable if start == 0 else ())]
            yield name, batch.rows.slice(start, size), bad
