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
    columns: dict[str, Extremes] = {}
    for name, at in _places(metadata, own, schema, skips).items():
        said = part.column(at).statistics
        if said is not None and said.has_min_max and said.has_null_count and not said.null_count:
            columns[name] = Extremes(said.min, said.max)
    return skips.unread(part.num_rows, columns, schema)


def _places(metadata: pq.FileMetaData, own: pa.Schema, schema: pa.Schema, skips: Skips) -> dict[str, int]:
    """By column that is asked for: its place in the file, where it has the stream's type."""
    asked = {skips.attribute, *(name for one in skips.records for name in one.attributes)}
    paths = {metadata.schema.column(i).path: i for i in range(metadata.num_columns)}
    alike = [name for name in asked if name in own.names and own.field(name).type == schema.field(name).type]
    return {name: paths[name] for name in alike if name in paths}


def together(unread: Sequence[Unread]) -> Unread | None:
    """All that was not read, as one."""
    return Unread(sum(one.rows for one in unread), max(one.high for one in unread)) if unread else None
