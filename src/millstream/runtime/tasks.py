"""The two kinds of task of an epoch: one where rows enter, one where they meet.

Both are plain functions over Arrow tables, so that a host is only what moves parcels between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.progress import Progress
from millstream.kernels.partials import KEY
from millstream.kernels.partition import partition_of
from millstream.ops.ingest import Ingest, observe
from millstream.ops.operator import Operator
from millstream.ops.windowing.several import Several
from millstream.plan import nodes
from millstream.runtime.epoch import Outcome
from millstream.runtime.parcel import (
    ORDER,
    Parcel,
    Report,
    pack_facts,
    pack_table,
    pack_tables,
    unpack_facts,
    unpack_table,
    unpack_tables,
)
from millstream.runtime.program import Program, is_stop, partition_columns
from millstream.runtime.promise import pattern_plain
from millstream.runtime.punctuate import split_marked
from millstream.runtime.route import shares, spread
from millstream.runtime.side import late_table, rejected_table
from millstream.runtime.staging import Stage
from millstream.runtime.table_files import Versions, give_tables
from millstream.state.files import Written, read_table, write_table
from millstream.state.manifest import Facts, SavedSegment
from millstream.state.store import Segment, Store


@dataclass(slots=True)
class Order:
    """What the driver tells every task of an epoch."""

    sequence: int
    checkpoint: str
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

    def stage(self, level: int, partition: int) -> Stage:
        """Where a task of this epoch stages its results."""
        return Stage(Path(self.checkpoint) / "staging", self.sequence, level, partition, self.attempt)


class _Flow:
    """Rows on their way from a node to stops and outputs, through whatever is stateless in between."""

    def __init__(self, program: Program, order: Order, level: int, partition: int) -> None:
        self.program = program
        self.order = order
        self.stage = order.stage(level, partition)
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
            if reader not in self.passing:
                self.passing[reader] = self.program.operator(reader)
                give_tables(self.passing[reader], self.order.tables)
            for table in self.passing[reader].take(port, rows):
                self.leave(reader, table)

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
        """Keep an operator's meter and what it rejected."""
        add_meter(self.report.meters, i, asdict(operator.meter))
        if operator.rejected:
            self.outcome.rejected.setdefault(id(self.program.nodes[i]), []).extend(operator.rejected)

    def _for_stop(self, i: int, port: int, rows: pa.Table) -> Iterator[Parcel]:
        program, node = self.program, self.program.nodes[i]
        operator = program.operator(i)
        if not operator.reducible:
            ordered = rows.append_column(ORDER, pa.array(self.base + np.arange(rows.num_rows)))
            for partition, part in shares(node, port, ordered, program.partitions):
                yield Parcel(partition, i, port, "rows", pack_table(part))
            return
        columns = partition_columns(node)
        operator.progress = list(self.order.before[i])
        operator.take(port, rows)
        for segment in operator.store.segments:
            for partition, tables in split_segment(segment.tables, columns, program.partitions):
                yield Parcel(partition, i, port, "segment", pack_tables(tables))
        if operator.store.facts:
            for partition in range(program.partitions):
                yield Parcel(partition, i, port, "facts", pack_facts(operator.store.facts))
        self.note(i, operator)

    def _stage_results(self) -> None:
        for number, target in enumerate(self.program.targets):
            tables = self.results.get(self.program.index[id(target.node)])
            if tables:
                rows = pa.concat_tables(tables)
                self.report.rows[target.name] = rows.num_rows
                self.report.staged += self.stage.write(self.program, number, "results", rows)

    def _stage_apart(self) -> None:
        """Late and rejected rows go to every query that reads the stream they came in."""
        for number, target in enumerate(self.program.targets):
            for output, table in (("late", late_table), ("rejected", rejected_table)):
                rows = table(target.node, self.outcome, self.order.sequence)
                if rows is not None and rows.num_rows:
                    self.report.staged += self.stage.write(self.program, number, output, rows)


def enter(
    program: Program,
    order: Order,
    arrivals: Mapping[str, tuple[pa.Table, Sequence[tuple[str, str]]]],
    partition: int,
) -> Iterator[Parcel]:
    """Where rows enter: late and rejected ones are set apart, progress is observed, the rest go on."""
    flow = _Flow(program, order, 0, partition)
    for i, node in enumerate(program.nodes):
        if not isinstance(node, nodes.Source) or node.name not in arrivals:
            continue
        rows, unreadable = arrivals[node.name]
        ingest = program.operator(i)
        assert isinstance(ingest, Ingest)
        ingest.progress = [order.judged[node.name]]
        if unreadable:
            flow.outcome.unreadable[id(node)] = list(unreadable)
            ingest.meter.rows_in += len(unreadable)
            ingest.meter.rejected += len(unreadable)
        data, marked, bad = split_marked(rows, node, ingest.progress[0])
        if bad:
            flow.outcome.rejected[id(node)] = bad
            ingest.meter.rows_in += sum(one.rows.num_rows for one in bad)
            ingest.meter.rejected += sum(one.rows.num_rows for one in bad)
        accepted = ingest.take(0, data)
        for table in accepted:
            if node.progress is not None:
                seen = asdict(observe(node.progress, table))
                flow.report.seen.append({"stream": node.name, "at": partition, **seen})
            flow.leave(i, table)
        for one in marked:
            flow.report.seen.append({"stream": node.name, "at": partition, "marked": pattern_plain(one.pattern)})
        flow.outcome.late[id(node)] = ingest.late
        flow.note(i, ingest)
    yield from flow.parcels()


def meet_at(program: Program, order: Order, level: int, partition: int, parcels: Sequence[Parcel]) -> Iterator[Parcel]:
    """Where rows meet: each stop of a level opens its state, takes what came, learns progress, and saves its state."""
    flow = _Flow(program, order, level, partition)
    here: dict[int, list[Parcel]] = {}
    for parcel in parcels:
        if parcel.node >= 0 and program.levels[parcel.node] == level:
            here.setdefault(parcel.node, []).append(parcel)
        else:
            yield parcel
    for i, node in program.stops(level):
        if partition and not spread(node):
            continue  # a stop whose rows must all meet has one partition
        operator = program.operator(i)
        loaded = open_state(operator, order, i, partition)
        set_progress(operator, order.before[i])
        for table in _take(operator, here.get(i, ())):
            flow.leave(i, table)
        for port, progress in enumerate(order.now[i]):
            if progress != operator.progress[port]:
                for table in operator.advance(port, progress):
                    flow.leave(i, table)
        save_state(operator, order, order.keys[i], partition, loaded, flow.report)
        flow.note(i, operator)
    yield from flow.parcels()


def _take(operator: Operator, parcels: Sequence[Parcel]) -> Iterator[pa.Table]:
    """Hand over what came for a stop; what can leave at once is returned."""
    rows: dict[int, list[pa.Table]] = {}
    for parcel in parcels:
        match parcel.kind:
            case "rows":
                rows.setdefault(parcel.port, []).append(unpack_table(parcel.blob))
            case "segment":
                operator.receive([covering(unpack_tables(parcel.blob))], {})
            case _:
                operator.receive((), unpack_facts(parcel.blob))
    for port, tables in rows.items():
        together = pa.concat_tables(tables).sort_by(ORDER).drop_columns([ORDER])
        yield from operator.take(port, together)


def stores(operator: Operator) -> list[Store]:
    """Where an operator keeps its state: one store, or one a part if it is made of parts."""
    return [part.store for part in operator.parts] if isinstance(operator, Several) else [operator.store]


def set_progress(operator: Operator, progress: Sequence[Progress]) -> None:
    """Tell an operator, and its parts, what was promised before."""
    operator.progress = list(progress)
    if isinstance(operator, Several):
        for part in operator.parts:
            part.progress = list(progress)


Loaded = dict[int, tuple[pa.Table, Written]]
"""Tables that are on disk as they are, by identity; held, so that no new one gets the identity of one dropped."""


def open_state(operator: Operator, order: Order, i: int, partition: int) -> Loaded:
    """Map an operator's segments into memory; returns which of their tables are saved as they are."""
    loaded: Loaded = {}
    held = stores(operator)
    for saved in order.state.get((i, partition), []):
        tables = {name: read_table(Path(written.path)) for name, written in saved.tables.items()}
        segment = Segment(tables, saved.low, saved.high)
        held[saved.part].segments.append(segment)
        loaded |= {id(table): (table, saved.tables[name]) for name, table in tables.items()}
    for part, facts in order.facts.get((i, partition), {}).items():
        held[part].facts = dict(facts)
    return loaded


def save_state(
    operator: Operator,
    order: Order,
    key: str,
    partition: int,
    loaded: Loaded,
    report: Report,
) -> None:
    """Write the tables that are new; report all segments that are live, and the facts."""
    folder = Path(order.checkpoint) / "state" / key / f"{partition:05d}"
    held = stores(operator)
    for part, store in enumerate(held):
        for number, segment in enumerate(store.segments):
            tables: dict[str, Written] = {}
            for name, table in segment.tables.items():
                file = f"{order.sequence:08d}-{order.attempt}-{part}-{number}-{name}.arrow"
                known = loaded.get(id(table))
                tables[name] = write_table(folder / file, table) if known is None else known[1]
            report.segments.append(asdict(SavedSegment(key, partition, segment.low, segment.high, tables, part)))
    # Facts are reported even if there are none: by that the driver knows that the partition has run.
    facts = {part: store.facts for part, store in enumerate(held) if store.facts}
    report.facts.append({"operator": key, "partition": partition, "facts": facts})
    operator.measure()


def split(table: pa.Table, columns: Sequence[str], partitions: int) -> Iterator[tuple[int, pa.Table]]:
    """A table's rows by the partition they belong to; partitions without rows are left out."""
    if not columns or partitions == 1:
        if table.num_rows:
            yield 0, table
        return
    at = partition_of([table[name] for name in columns], table.num_rows, partitions)
    for partition in range(partitions):
        mask = at == partition
        if mask.any():
            yield partition, table.filter(pa.array(mask))


def split_segment(
    tables: Mapping[str, pa.Table], columns: Sequence[str], partitions: int
) -> Iterator[tuple[int, dict[str, pa.Table]]]:
    """A segment's tables by partition; each part has every table, though it may be empty."""
    parts: dict[int, dict[str, pa.Table]] = {}
    for name, table in tables.items():
        for partition, part in split(table, columns, partitions):
            parts.setdefault(partition, {})[name] = part
    for partition, part in parts.items():
        yield partition, {name: part.get(name, table.slice(0, 0)) for name, table in tables.items()}


def covering(tables: Mapping[str, pa.Table], otherwise: Segment | None = None) -> Segment:
    """Tables as a segment with the range of keys they cover; without keys, the range of `otherwise`."""
    keyed = [table[KEY] for table in tables.values() if KEY in table.column_names and table.num_rows]
    if not keyed:
        return otherwise or Segment(tables, 0, 0)
    ends = [pc.min_max(column) for column in keyed]
    return Segment(tables, min(e["min"].as_py() for e in ends), max(e["max"].as_py() for e in ends))


def add_meter(meters: dict[int, dict[str, int]], i: int, more: Mapping[str, int]) -> None:
    """Add one meter's figures to those of the same node; peaks and gauges are handled by the driver."""
    mine = meters.setdefault(i, {})
    for name, value in more.items():
        mine[name] = mine.get(name, 0) + value
