"""Narrow rows: only the columns that a program reads travel to its kernels.

Late and rejected rows leave whole, so rows are read with all columns where nobody can say beforehand which ones those
are. Where Spark can, kernels get narrow rows, and only count those that they set apart. A second job fetches these
whole, in epochs that have some.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from millstream.core.domain import BOTTOM
from millstream.core.entrance import Fate
from millstream.core.generator import BoundedDisorder, Ordered, Step
from millstream.core.progress import Progress
from millstream.core.quote import quoted
from millstream.plan import nodes
from millstream.runtime.batch import APART
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Report
from millstream.runtime.tasks.program import Program
from millstream.spark.paths.arrivals import SparkArrivals
from millstream.spark.paths.entrance_column import fate, is_ordered, ticks
from millstream.spark.paths.frames import STREAM, Tags


@dataclass(frozen=True)
class Narrow:
    """The columns of each stream that a program reads."""

    needed: Mapping[str, Sequence[str]]
    sources: Mapping[str, nodes.Source]
    numbers: Sequence[int]
    """Of the streams, among the program's nodes."""

    @classmethod
    def of(cls, program: Program) -> Narrow | None:
        """How a program's rows can be narrower; None if it reads all columns, or if only kernels can judge rows."""
        found = {i: node for i, node in enumerate(program.nodes) if isinstance(node, nodes.Source)}
        needed: dict[str, Sequence[str]] = {}
        for i, node in found.items():
            if not _judged_by_time(node):
                return None
            needed[node.name] = _needed(program, i, node)
        if all(len(needed[node.name]) == len(node.schema) for node in found.values()):
            return None
        return cls(needed, {node.name: node for node in found.values()}, tuple(found))

    def fits(self, order: Order, arrivals: SparkArrivals) -> bool:
        """Can the rows of an epoch be judged by their times alone, and can they be read anew?"""
        columns = set(arrivals.tags.names) | {name for some in arrivals.tags.slots.values() for name in some}
        if set(arrivals.tags.schemas) != set(self.sources) or columns & set(APART):
            return False
        return all(_linear(order.judged[name]) for name in self.sources)

    def rows(self, frame: DataFrame, tags: Tags) -> tuple[DataFrame, Tags]:
        """The frame with the needed columns only, and how its streams are told apart."""
        if len(tags.schemas) == 1:
            ((name, schema),) = tags.schemas.items()
            names = self.needed[name]
            return frame.select(*map(quoted, names)), Tags({name: schema}, tags.slots, names)
        slots = {name: {column: tags.slots[name][column] for column in self.needed[name]} for name in tags.schemas}
        asked = dict.fromkeys(slot for some in slots.values() for slot in some.values())
        return frame.select(STREAM, *asked), Tags(tags.schemas, slots)

    def has_apart(self, reports: Sequence[Report]) -> bool:
        """Were rows late or rejected where they entered?"""
        meters = [report.meters.get(i, {}) for report in reports for i in self.numbers]
        return any(meter.get("late", 0) or meter.get("rejected", 0) for meter in meters)

    def apart(self, frame: DataFrame, tags: Tags, order: Order) -> DataFrame:
        """The rows that are late or rejected, whole."""
        wrong: list[Column] = []
        for number, (name, schema) in enumerate(tags.schemas.items()):
            attribute = self.sources[name].progress.attribute
            column = attribute if len(tags.schemas) == 1 else tags.slots[name][attribute]
            bound = max(order.judged[name].bound(attribute), BOTTOM)
            bad = F.expr(fate(ticks(column, schema.field(attribute).type), bound, 1)) != int(Fate.GOOD)
            wrong.append(bad if len(tags.schemas) == 1 else (F.col(STREAM) == number) & bad)
        return frame.filter(reduce(Column.__or__, wrong))


def _judged_by_time(node: nodes.Source) -> bool:
    """Is a row late or rejected by the value of one column alone?"""
    progress = node.progress
    return (
        not node.raw
        and isinstance(progress, Ordered | BoundedDisorder | Step)
        and is_ordered(node.schema.field(progress.attribute).type)
    )


def _linear(progress: Progress) -> bool:
    return not (progress.ended or progress.grouped or progress.over or progress.others)


def _needed(program: Program, i: int, node: nodes.Source) -> list[str]:
    """The columns of a stream that somebody reads, in their order."""
    asked = _asked(program, i)
    return [name for name in node.schema.names if asked is None or name in asked or name == node.progress.attribute]


def _asked(program: Program, i: int) -> set[str] | None:
    """The columns that readers of a node ask for; None: all, for somebody hands on, or may reject, rows as they are."""
    node = program.nodes[i]
    if any(target.node is node for target in program.targets) or not program.readers[i]:
        return None
    found: set[str] = set()
    for reader, _ in program.readers[i]:
        one = program.nodes[reader]
        if not isinstance(one, nodes.Select | nodes.Project) or not all(e.total for e in one.expressions()):
            return None
        above = _asked(program, reader) if isinstance(one, nodes.Select) else set(one.schema.names)
        if above is None:
            return None
        found |= one.needs(above)
    return found
