"""Tables by partition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.partials import KEY
from millstream.kernels.partition import partition_of
from millstream.state.store import Segment


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
