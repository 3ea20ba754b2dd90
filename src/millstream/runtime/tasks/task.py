"""The two kinds of task of an epoch: one where rows enter, one where they meet.

Both are plain functions over Arrow tables, so that a host is only what moves parcels between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict

import pyarrow as pa

from millstream.core.generator import Seen
from millstream.ops.ingest import Ingest
from millstream.ops.many.join import ManyJoin
from millstream.ops.operator import Operator
from millstream.ops.turn import Turn
from millstream.plan import nodes
from millstream.runtime.entrance import admit
from millstream.runtime.plain_progress import pattern_plain, records_plain
from millstream.runtime.tasks.cut import covering
from millstream.runtime.tasks.doomed import note_doomed
from millstream.runtime.tasks.flow import Flow, Order
from millstream.runtime.tasks.parcel import ORDER, Parcel, Report, unpack_facts, unpack_table, unpack_tables
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.ring import RingStop
from millstream.runtime.tasks.route import copies, original, ring, spread
from millstream.state.files import Written, read_table, write_table
from millstream.state.manifest import SavedSegment
from millstream.state.store import Segment

IGNORES, DESIRES = "ignores", "desires"
"""Facts: what an operator has found out that it ignores, and wants first, of its inputs, by port."""
Arrived = Mapping[str, tuple[pa.Table, Sequence[tuple[str, str]]]]
"""By stream: its rows, and as text, with the reason, what could not be read."""


def enter(
    program: Program, order: Order, arrivals: Arrived, partition: int, *, held: bool = False, narrow: bool = False
) -> Iterator[Parcel]:
    """Where rows enter: late and rejected ones are set apart, progress is observed, the rest go on.

    `held` says that the driver held these rows: its slices are numbered apart from the partitions of a frame. Rows
    that are `narrow` lack columns that nobody reads: those set apart are counted, and somebody else fetches them whole.
    """
    flow = Flow(program, order, 0, partition, held=held)
    _arrive(flow, arrivals, partition, narrow=narrow)
    yield from flow.parcels()


def enter_and_meet(
    program: Program, order: Order, arrivals: Arrived, partition: int, *, narrow: bool = False
) -> Iterator[Parcel]:
    """Where rows enter that have been brought to where they meet at the first stops."""
    flow = Flow(program, order, 1, partition)
    _arrive(flow, arrivals, partition, narrow=narrow)
    first = [stop for stop in flow.waiting if program.levels[stop[0]] == 1]
    rows = {stop: flow.waiting.pop(stop) for stop in first}
    _run_stops(flow, 1, partition, {}, rows)
    yield from flow.parcels()


def _arrive(flow: Flow, arrivals: Arrived, partition: int, *, narrow: bool = False) -> None:
    program, order = flow.program, flow.order
    for i, node in enumerate(program.nodes):
        if not isinstance(node, nodes.Source) or node.name not in arrivals:
            continue
        rows, unreadable = arrivals[node.name]
        ingest = order.operator(program, i)
        assert isinstance(ingest, Ingest)
        ingest.progress = [order.judged[node.name]]
        data, marked = admit(node, ingest, rows, unreadable, flow.outcome)
        for table in ingest.take(0, data):
            flow.leave(i, table)
        if node.progress is not None and ingest.seen != Seen():  # a guard drops rows only after they have been seen
            flow.report.seen.append({"stream": node.name, "at": partition, **asdict(ingest.seen)})
        for one in marked:
            flow.report.seen.append({"stream": node.name, "at": partition, "marked": pattern_plain(one.pattern)})
        if narrow:
            ingest.late.clear()
            ingest.rejected.clear()
        flow.note(i, ingest)


def meet_at(program: Program, order: Order, level: int, partition: int, parcels: Sequence[Parcel]) -> Iterator[Parcel]:
    """Where rows meet: each stop of a level opens its state, takes what came, learns progress, and saves its state."""
    flow = Flow(program, order, level, partition)
    here: dict[int, list[Parcel]] = {}
    passing: dict[int, list[Parcel]] = {}
    for parcel in parcels:
        if parcel.node >= 0 and program.levels[parcel.node] == level:
            here.setdefault(parcel.node, []).append(parcel)
        elif parcel.node >= 0 and program.step(parcel.node, level) is not None:
            passing.setdefault(parcel.node, []).append(parcel)
        else:
            yield parcel
    for i, some in passing.items():
        yield from _go_on(program, order, level, partition, i, some)
    _run_stops(flow, level, partition, here, {})
    yield from flow.parcels()


def _go_on(
    program: Program, order: Order, level: int, partition: int, i: int, parcels: Sequence[Parcel]
) -> Iterator[Parcel]:
    """A step of a ring that is not its last."""
    operator, scratch = order.operator(program, i), order.operator(program, i)
    step = program.step(i, level)
    assert isinstance(operator, ManyJoin)
    assert isinstance(scratch, ManyJoin)
    assert step is not None
    open_state(operator, order, i, partition)
    yield from RingStop(program, order, i, partition, operator, parcels).going_on(scratch, step)


def _end_ring(flow: Flow, level: int, partition: int, i: int, operator: ManyJoin, parcels: Sequence[Parcel]) -> None:
    """The last step of a ring."""
    program, order = flow.program, flow.order
    scratch, step = order.operator(program, i), program.step(i, level)
    assert isinstance(scratch, ManyJoin)
    assert step is not None
    stop = RingStop(program, order, i, partition, operator, parcels)
    for table in stop.ending(step, scratch):
        flow.leave(i, table)


def _run_stops(
    flow: Flow,
    level: int,
    partition: int,
    parcels: Mapping[int, Sequence[Parcel]],
    rows: Mapping[tuple[int, int], Sequence[pa.Table]],
) -> None:
    program, order = flow.program, flow.order
    for i, node in program.stops(level):
        if partition and not spread(node):
            continue  # a stop whose rows must all meet has one partition
        operator = order.operator(program, i)
        loaded = open_state(operator, order, i, partition)
        operator.resume(order.before[i])
        if operator.guards is not None and i in order.fresh:
            operator.purge(operator.guards.ignored)
        if order.demanded is not None:
            operator.skip_costly()
        travels = program.partitions > 1 and ring(node)
        if travels:
            assert isinstance(operator, ManyJoin)
            _end_ring(flow, level, partition, i, operator, parcels.get(i, ()))
        came = {} if travels else dict(_rows(operator, parcels.get(i, ())))
        for port, table in came.items():
            for leaving in operator.take(port, table):
                flow.leave(i, leaving)
            if copies(node):  # a row may be in several partitions; it is accepted in one
                first = original(node, port, table, program.partitions, partition)
                operator.copied(port, table.filter(pa.array(~first)))
        for port in range(len(operator.progress)):
            for table in operator.take(port, pa.concat_tables(some)) if (some := rows.get((i, port))) else ():
                flow.leave(i, table)
        for port, progress in enumerate(order.now[i]):
            if progress != operator.progress[port]:
                for table in operator.advance(port, progress):
                    flow.leave(i, table)
        places = program.partitions if spread(node) else 1
        turn = Turn(let=order.let, place=partition, places=places, number=order.sequence)
        for table in operator.release(turn):
            flow.leave(i, table)
        flow.send(i, operator)
        if order.demanded is None:
            note_doomed(program, order, i, operator)
        if operator.speaks:
            operator.store.facts[IGNORES] = {port: records_plain(some) for port, some in operator.ignores().items()}
            operator.store.facts[DESIRES] = {port: records_plain(some) for port, some in operator.desires().items()}
        if order.demanded is None:
            save_state(operator, order, order.keys[i], partition, loaded, flow.report)
        flow.note(i, operator)


def _rows(operator: Operator, parcels: Sequence[Parcel]) -> Iterator[tuple[int, pa.Table]]:
    """The rows that came for a stop, by port; what was reduced before is handed over at once."""
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
        together = pa.concat_tables(tables)
        if operator.in_order:
            together = together.sort_by(ORDER).drop_columns([ORDER])
        yield port, together


Loaded = dict[int, tuple[pa.Table, Written]]
"""Tables that are on disk as they are, by identity; held, so that no new one gets the identity of one dropped."""


def open_state(operator: Operator, order: Order, i: int, partition: int) -> Loaded:
    """Map an operator's segments into memory; returns which of their tables are saved as they are."""
    loaded: Loaded = {}
    held = operator.stores
    for saved in order.state.get((i, partition), []):
        if saved.part >= len(held):
            continue  # nobody reads it any more
        tables = {name: read_table(order.storage, written.key) for name, written in saved.tables.items()}
        segment = Segment(tables, saved.low, saved.high)
        held[saved.part].segments.append(segment)
        loaded |= {id(table): (table, saved.tables[name]) for name, table in tables.items()}
    for part, facts in order.facts.get((i, partition), {}).items():
        if part < len(held):
            held[part].facts = dict(facts)
    operator.opened()
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
    folder = f"state/{key}/{partition:05d}"
    held = operator.stores
    for part, store in enumerate(held):
        for number, segment in enumerate(store.segments):
            tables: dict[str, Written] = {}
            for name, table in segment.tables.items():
                file = f"{order.sequence:08d}-{order.attempt}-{part}-{number}-{name}.arrow"
                known = loaded.get(id(table))
                tables[name] = write_table(order.storage, f"{folder}/{file}", table) if known is None else known[1]
            report.segments.append(asdict(SavedSegment(key, partition, segment.low, segment.high, tables, part)))
    # Facts are reported even if there are none: by that the driver knows that the partition has run.
    facts = {part: store.facts for part, store in enumerate(held) if store.facts}
    report.facts.append({"operator": key, "partition": partition, "facts": facts})
    operator.measure()
