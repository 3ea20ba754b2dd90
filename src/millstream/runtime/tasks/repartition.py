"""State in another number of partitions: every segment is cut anew by the key that its rows meet on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.ops.as_of import SIDES
from millstream.ops.join.brought import own_names, renamed
from millstream.ops.join.held import opened
from millstream.ops.join.join_spec import Layout
from millstream.ops.many.keyed_runs import name_of
from millstream.ops.many.keyed_runs import opened as many_opened
from millstream.plan import nodes
from millstream.runtime.compile.many_specs import many_spec
from millstream.runtime.durable.ledger import Ledger
from millstream.runtime.tasks.cut import covering, split_segment
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.route import original, shares, spread
from millstream.state.files import read_table, write_table
from millstream.state.manifest import GROUPS, Facts, SavedSegment
from millstream.state.storage import Storage
from millstream.state.store import Segment

_PLACE = "__ms_place"


def repartition(ledger: Ledger, program: Program, storage: Storage, before: int) -> None:
    """Cut the ledger's segments, of `before` partitions, for the program's, as a step that touches nothing there is."""
    ledger.sequence += 1
    segments: list[SavedSegment] = []
    facts: dict[str, dict[int, Facts]] = {}
    for i, node in program.stops():
        key = program.keys[i]
        mine = [segment for segment in ledger.segments if segment.operator == key]
        together = merge_facts(list(ledger.facts.get(key, {}).values()))
        views = own_names(together.get(0, {}))
        for number, moved in enumerate(_moved(storage, node, mine, before, program.partitions, views)):
            folder = f"state/{key}/{moved.partition:05d}"
            written = {
                name: write_table(storage, f"{folder}/{ledger.sequence:08d}-moved-{number}-{name}.arrow", table)
                for name, table in moved.tables.items()
            }
            segments.append(SavedSegment(key, moved.partition, moved.low, moved.high, written, moved.part))
        if together:
            # A partition may know more than it needs: facts are by key, or hold for all.
            facts[key] = dict.fromkeys(range(program.partitions if spread(node) else 1), together)
    ledger.segments, ledger.facts, ledger.layout = segments, facts, GROUPS


@dataclass(frozen=True, slots=True)
class _Moved:
    """Tables on their way to a partition, and the range of keys they cover."""

    part: int
    partition: int
    low: int
    high: int
    tables: dict[str, pa.Table]


def _moved(
    storage: Storage,
    node: nodes.Node,
    saved: Sequence[SavedSegment],
    before: int,
    now: int,
    views: Sequence[Mapping[str, str]],
) -> Iterator[_Moved]:
    if isinstance(node, nodes.Join | nodes.SharedJoin):
        yield from _of_join(storage, node, saved, before, now, views)
    elif isinstance(node, nodes.ManyJoin):
        yield from _of_many(storage, node, saved, now)
    elif isinstance(node, nodes.TwoSided):
        yield from _of_two_sides(storage, node, saved, now)
    else:
        yield from _cut(storage, saved, node.meets_on(), now)


def _of_join(
    storage: Storage,
    node: nodes.Join | nodes.SharedJoin,
    saved: Sequence[SavedSegment],
    before: int,
    now: int,
    views: Sequence[Mapping[str, str]],
) -> Iterator[_Moved]:
    """The rows of each side, each once though several partitions had it, to where they meet now.

    Those that a join kept by itself get the names that the store has for their columns.
    """
    layout = Layout(node.keys, node.near())
    for one in saved:
        tables = {name: read_table(storage, written.key) for name, written in one.tables.items()}
        side = next(i for i, name in enumerate(SIDES) if name in tables)
        if views:
            tables[SIDES[side]] = renamed(tables[SIDES[side]], views[side])
        held = opened(Segment(tables, one.low, one.high), side, layout)
        keep = original(node, side, held.rows, before, one.partition)
        rows = held.rows.append_column(_PLACE, pa.array(np.arange(held.rows.num_rows))).filter(pa.array(keep))
        for partition, part in shares(node, side, rows, now):
            mask = np.zeros(held.rows.num_rows, dtype=np.bool_)
            mask[part[_PLACE].to_numpy()] = True
            segment = held.where(mask).segment(side, layout)
            yield _Moved(one.part, partition, segment.low, segment.high, dict(segment.tables))


def _of_many(storage: Storage, node: nodes.ManyJoin, saved: Sequence[SavedSegment], now: int) -> Iterator[_Moved]:
    """The rows of each stream to where they are kept now."""
    spec = many_spec(node)
    for one in saved:
        tables = {name: read_table(storage, written.key) for name, written in one.tables.items()}
        stream = next((i for i in range(spec.streams) if name_of(i) in tables), None)
        if stream is None or not spread(node):
            yield _Moved(one.part, 0, one.low, one.high, tables)
            continue
        run = many_opened(Segment(tables, one.low, one.high), spec, stream)
        for partition in range(now):
            mask = original(node, stream, run.rows, now, partition)
            if mask.any():
                segment = run.where(mask).segment(spec, stream)
                yield _Moved(one.part, partition, segment.low, segment.high, dict(segment.tables))


def _of_two_sides(storage: Storage, node: nodes.TwoSided, saved: Sequence[SavedSegment], now: int) -> Iterator[_Moved]:
    """The rows of each side to where those of one key meet now."""
    for one in saved:
        for name, written in one.tables.items():
            for partition, part in shares(node, SIDES.index(name), read_table(storage, written.key), now):
                yield _Moved(one.part, partition, one.low, one.high, {name: part})


def _cut(storage: Storage, saved: Sequence[SavedSegment], columns: Sequence[str], partitions: int) -> Iterator[_Moved]:
    """The segments' tables of one part and shape joined, and cut by partition.

    Tables say of what form they are; those of one form are joined.
    """
    shapes: dict[Any, list[tuple[SavedSegment, dict[str, pa.Table]]]] = {}
    for one in saved:
        tables = {name: read_table(storage, written.key) for name, written in sorted(one.tables.items())}
        shape = tuple((name, table.schema.serialize().to_pybytes()) for name, table in tables.items())
        shapes.setdefault((one.part, shape), []).append((one, tables))
    for (part, _), found in shapes.items():
        joined = {name: pa.concat_tables([tables[name] for _, tables in found]) for name in found[0][1]}
        low, high = min(one.low for one, _ in found), max(one.high for one, _ in found)
        for partition, tables in split_segment(joined, columns, partitions):
            covers = covering(tables, Segment(tables, low, high))
            yield _Moved(part, partition, covers.low, covers.high, tables)


def merge_facts(parts: Sequence[Mapping[Any, Any]]) -> dict[Any, Any]:
    """Facts of several partitions as one: the greatest number, the union of maps, entry by entry.

    Numbers only grow, and a partition may hold an old copy of another's: the greatest is the one that is true.

    >>> merge_facts([{"last": 3, "counts": {"a": 4, "b": 1}}, {"last": 5, "counts": {"a": 2, "b": 2}}])
    {'last': 5, 'counts': {'a': 4, 'b': 2}}
    """
    out: dict[Any, Any] = {}
    for facts in parts:
        for name, value in facts.items():
            if name not in out:
                out[name] = value
            elif isinstance(value, dict):
                out[name] = merge_facts([out[name], value])
            else:
                out[name] = max(out[name], value)
    return out
