"""State in another number of partitions: every segment is cut anew by the key that its rows meet on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.runtime.ledger import Ledger
from millstream.runtime.program import Program, partition_columns
from millstream.runtime.tasks import covering, split_segment
from millstream.state.files import read_table, write_table
from millstream.state.manifest import SavedSegment


def repartition(ledger: Ledger, program: Program, checkpoint: Path) -> None:
    """Cut the ledger's segments for the program's partitions; new files, the old ones stay until nobody needs them."""
    segments: list[SavedSegment] = []
    facts: dict[str, dict[int, dict[str, Any]]] = {}
    for i, node in program.stops():
        key, columns = program.keys[i], partition_columns(node)
        mine = [segment for segment in ledger.segments if segment.operator == key]
        for number, (partition, tables) in enumerate(_parts(mine, columns, program.partitions)):
            folder = checkpoint / "state" / key / f"{partition:05d}"
            written = {
                name: write_table(folder / f"{ledger.sequence + 1:08d}-moved-{number}-{name}.arrow", table)
                for name, table in tables.items()
            }
            covers = covering(tables)
            segments.append(SavedSegment(key, partition, covers.low, covers.high, written))
        together = merge_facts(list(ledger.facts.get(key, {}).values()))
        if together:
            # A partition may know more than it needs: facts are by key, or hold for all.
            facts[key] = dict.fromkeys(range(program.partitions if columns else 1), together)
    ledger.segments, ledger.facts = segments, facts


def _parts(
    saved: Sequence[SavedSegment], columns: Sequence[str], partitions: int
) -> list[tuple[int, dict[str, pa.Table]]]:
    """The segments' tables of one shape joined, and cut by partition."""
    shapes: dict[tuple[str, ...], list[dict[str, pa.Table]]] = {}
    for one in saved:
        tables = {name: read_table(Path(written.path)) for name, written in one.tables.items()}
        shapes.setdefault(tuple(sorted(tables)), []).append(tables)
    out: list[tuple[int, dict[str, pa.Table]]] = []
    for names, found in shapes.items():
        joined = {name: pa.concat_tables([tables[name] for tables in found]) for name in names}
        out += list(split_segment(joined, columns, partitions))
    return out


def merge_facts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Facts of several partitions as one: the greatest number, the union of maps.

    >>> merge_facts([{"last": 3, "counts": {"a": 1}}, {"last": 5, "counts": {"b": 2}}])
    {'last': 5, 'counts': {'a': 1, 'b': 2}}
    """
    out: dict[str, Any] = {}
    for facts in parts:
        for name, value in facts.items():
            if name not in out:
                out[name] = value
            elif isinstance(value, dict):
                out[name] = {**out[name], **value}
            else:
                out[name] = max(out[name], value)
    return out
