"""Rows on their way through a task: past whatever is stateless, to the stops ahead and to the outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.ops.guard import Guards, desired_first, matched
from millstream.ops.operator import Operator
from millstream.ops.turn import Let
from millstream.runtime.outcome import Outcome
from millstream.runtime.outputs.side import flagged, late_table, rejected_table
from millstream.runtime.tasks.cut import split_segment
from millstream.runtime.tasks.parcel import ORDER, Parcel, Report, pack_facts, pack_table, pack_tables
from millstream.runtime.tasks.program import Program, is_stop
from millstream.runtime.tasks.route import shares
from millstream.runtime.tasks.staging import Stage
from millstream.runtime.tasks.table_files import Versions, give_tables
from millstream.state.files import Written
from millstream.state.manifest import Facts, SavedSegment
from millstream.state.storage import Storage


@dataclass(slots=True)
class Order:
    """What the driver tells every task of an epoch."""

    sequence: int
    storage: Storage
    """The checkpoint."""
    before: Mapping[int, Sequence[Progress]]
    """By node: the progress its inputs had when it last ran."""
    now: Mapping[int, Sequence[Progress]]
    """By node: the progress its inputs have in this epoch."""
    judged: dict[str, Progress]
    """By stream: the progress of earlier epochs, by which rows are late."""
    state: dict[tuple[int, int], list[SavedSegment]] = field(default_factory=dict[tuple[int, int], list[SavedSegment]])
    """By node and partition: the live segments."""
    facts: dict[tuple[int, int], Facts] = field(default_factory=dict[tuple[int, int], Facts])
    keys: Sequence[str] = ()
    """By node: the name under which its state is kept."""
    attempt: str = ""
    """Tells this attempt at the epoch from others, so that a task that outlives its driver spoils nothing."""
    tables: Versions = field(default_factory=dict[str, Written])
    """By table beside the streams: the version that this epoch reads."""
    let: Let = "share"
    """How much of what operators hold back may leave."""
    guards: Mapping[int, Guards] = field(default_factory=dict[int, Guards])
    """By node: what is left out in this epoch."""
    demanded: Mapping[str, Records] | None = None
    """By query: the partial results that are asked for. Then nothing else leaves, and no state is saved."""
    fresh: Set[int] = frozenset()
    """The nodes whose guards are others than in the last epoch: they forget what they hold of it."""

    def operator(self, program: Program, i: int) -> Operator:
        """A fresh operator for a node, with the guards of this epoch."""
        made = program.operator(i)
        made.guards = self.guards.get(i)
        return made

    def stage(self, place: str) -> Stage:
        """Where a task of this epoch stages its results."""
        return Stage(self.storage, self.sequence, place, self.attempt)


class Flow:
    """Rows on their way from a node to stops and outputs, through whatever is stateless in between."""

    def __init__(self, program: Program, order: Order, level: int, partition: int, *, held: bool = False) -> None:
        """In the task of a level and partition; `held` if its rows come from the driver and not from a frame."""
        self.program = program
        self.order = order
        # Tasks of a frame and tasks of rows that the driver held are counted apart, and meet in one step; so are those
        # that look at partial results.
        kind = "p" if order.demanded is not None else "d" if held else ""
        self.stage = order.stage(f"{level}{kind}-{partition:05d}")
        self.base = (level << 56) + (partition << 40)
        self.outcome = Outcome()
        self.report = Report()
        self.waiting: dict[tuple[int, int], list[pa.Table]] = {}
        self.passing: dict[int, Operator] = {}
        self.results: dict[int, list[pa.Table]] = {}

    def leave(self, i: int, rows: pa.Table) -> None:
        """Rows leave node `i`."""
        if not rows.num_rows:
            return
        self.results.setdefault(i, []).append(rows)
        for reader, port in self.program.readers[i]:
            if is_stop(self.program.nodes[reader]):
                self.waiting.setdefault((reader, port), []).append(rows)
                continue
            for table in self._passing(reader).take(port, rows):
                self.leave(reader, table)

    def send(self, i: int, operator: Operator) -> None:
        """What node `i` has for readers of its outlets leaves."""
        sent, operator.sent = operator.sent, []
        if not sent:
            return
        outlets = self.program.outlets[i]
        for outlet, rows in sent:
            for reader in outlets.get(outlet, ()):
                for table in self._passing(reader).take(0, rows):
                    self.leave(reader, table)

    def _passing(self, reader: int) -> Operator:
        """The operator of a stateless node in this task."""
        if reader not in self.passing:
            self.passing[reader] = self.order.operator(self.program, reader)
            give_tables(self.passing[reader], self.order.storage, self.order.tables)
        return self.passing[reader]

    def parcels(self) -> Iterator[Parcel]:
        """What must travel: rows or reduced segments for the stops ahead, and the report."""
        for (i, port), tables in self.waiting.items():
            yield from self._for_stop(i, port, pa.concat_tables(tables))
        self._stage_results()
        for i, operator in self.passing.items():
            self.note(i, operator)
        self._stage_apart()
        yield Parcel(0, -1, 0, "report", self.report.pack())

    def note(self, i: int, operator: Operator) -> None:
        """Keep an operator's meter and what it set apart."""
        add_meter(self.report.meters, i, operator.meter.figures())
        for outlet, figures in operator.counts.items():
            for reader in self.program.outlets[i].get(outlet, ()):
                add_meter(self.report.meters, reader, figures)
        for outlet, number in operator.open_by_outlet.items():
            for reader in self.program.outlets[i].get(outlet, ()):
                add_meter(self.report.meters, reader, {"open_windows": number})
        for outlet, one in operator.apart:
            for reader in self.program.outlets[i].get(outlet, ()):
                self.outcome.rejected.setdefault(id(self.program.nodes[reader]), []).append(one)
        self.outcome.collect(self.program.nodes[i], operator)

    def _for_stop(self, i: int, port: int, rows: pa.Table) -> Iterator[Parcel]:
        program, node = self.program, self.program.nodes[i]
        operator = self.order.operator(program, i)
        if not operator.reducible:
            came = rows.num_rows
            rows = operator.let_in(port, rows)
            if rows.num_rows < came:  # what is dropped here need not travel
                operator.meter.rows_in += operator.meter.guarded
                self.note(i, operator)
            if operator.in_order:
                rows = rows.append_column(ORDER, pa.array(self.base + np.arange(rows.num_rows)))
            for partition, part in shares(node, port, rows, program.partitions):
                yield Parcel(partition, i, port, "rows", pack_table(part))
            return
        columns = node.meets_on()
        operator.progress = list(self.order.before[i])
        segments, facts = operator.reduce(port, rows)
        for segment in segments:
            for partition, tables in split_segment(segment.tables, columns, program.partitions):
                yield Parcel(partition, i, port, "segment", pack_tables(tables))
        if facts:
            for partition in range(program.partitions):
                yield Parcel(partition, i, port, "facts", pack_facts(facts))
        self.note(i, operator)

    def _stage_results(self) -> None:
        if self.order.demanded is not None:
            self._stage_demanded(self.order.demanded)
            return
        for number, target in enumerate(self.program.targets):
            tables = self.results.get(self.program.index[id(target.node)])
            if tables:
                guards = self.order.guards.get(self.program.index[id(target.node)])
                rows = desired_first(pa.concat_tables(tables), guards)
                self.report.rows[target.name] = rows.num_rows
                self.report.staged += self.stage.write(self.program, number, "results", rows)
                if target.finals:
                    rows = flagged(rows, self.order.sequence, final=True)
                    self.report.staged += self.stage.write(self.program, number, "partial", rows)

    def _stage_demanded(self, asked: Mapping[str, Records]) -> None:
        for number, target in enumerate(self.program.targets):
            tables = self.results.get(self.program.index[id(target.node)], [])
            found = [matched(asked[target.name], table) for table in tables] if target.name in asked else []
            if any(table.num_rows for table in found):
                rows = flagged(pa.concat_tables(found), self.order.sequence, final=False)
                self.report.staged += self.stage.write(self.program, number, "partial", rows)

    def _stage_apart(self) -> None:
        """Late and rejected rows go to every query that reads the stream they came in."""
        if self.outcome.clean or self.order.demanded is not None:
            return
        for number, target in enumerate(self.program.targets):
            for output, table in (("late", late_table), ("rejected", rejected_table)):
                rows = table(target.node, self.outcome, self.order.sequence)
                if rows is not None and rows.num_rows:
                    self.report.staged += self.stage.write(self.program, number, output, rows)


def add_meter(meters: dict[int, dict[str, int]], i: int, more: Mapping[str, int]) -> None:
    """Add one meter's figures to those of the same node; peaks and gauges are handled by the driver."""
    mine = meters.setdefault(i, {})
    for name, value in more.items():
        mine[name] = mine.get(name, 0) + value
