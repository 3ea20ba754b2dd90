"""Parquet files. A file that is cut off or corrupt stops the run: no part of it is taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.runtime.batch import Batch, Unread
from millstream.runtime.sources.conform import conform, own_schema
from millstream.runtime.sources.contents import unreadable_file
from millstream.runtime.sources.skipping import Extremes, Skips


def schema_of(path: Path) -> pa.Schema | None:
    """The schema in the file's footer."""
    try:
        return own_schema(pq.read_schema(path))
    except (pa.ArrowException, OSError) as error:
        raise unreadable_file(path, error) from error


def read(path: Path, schema: pa.Schema, skips: Skips | None = None) -> Batch:
    """The columns that the schema names, but for groups of rows that need not be read."""
    unread: list[Unread] = []
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            there = set(file.schema_arrow.names)
            wanted = [name for name in schema.names if name in there]
            if skips is None:
                table = file.read(columns=wanted)
            else:
                found = [
                    unread_group(file.metadata, i, file.schema_arrow, schema, skips) for i in range(file.num_row_groups)
                ]
                unread = [one for one in found if one is not None]
                table = file.read_row_groups([i for i, one in enumerate(found) if one is None], columns=wanted)
    except (pa.ArrowException, OSError) as error:
        raise unreadable_file(path, error) from error
    return replace(conform(table, schema, path.name), unread=together(unread))


def unread_group(
    metadata: pq.FileMetaData, group: int, own: pa.Schema, schema: pa.Schema, skips: Skips
) -> Unread | None:
    """What is known of a group of rows that need not be read; None if it must be."""
    part = metadata.row_group(group)
    asked = {skips.attribute, *(name for one in skips.records for name in one.attributes)}
    columns: dict[str, Extremes] = {}
    for i in range(part.num_columns):
        column = part.column(i)
        name, said = column.path_in_schema, column.statistics
        if name not in asked or name not in own.names or own.field(name).type != schema.field(name).type:
            continue
        if said is not None and said.has_min_max and said.has_null_count and not said.null_count:
            columns[name] = Extremes(said.min, said.max)
    return skips.unread(part.num_rows, columns, schema)


def together(unread: Sequence[Unread]) -> Unread | None:
    """All that was not read, as one."""
    return Unread(sum(one.rows for one in unread), max(one.high for one in unread)) if unread else None
