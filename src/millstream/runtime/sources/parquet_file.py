"""Parquet files. A file that is cut off or corrupt stops the run: no part of it is taken."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.runtime.batch import Batch
from millstream.runtime.sources.conform import conform, own_schema
from millstream.runtime.sources.contents import unreadable_file


def schema_of(path: Path) -> pa.Schema | None:
    """The schema in the file's footer."""
    try:
        return own_schema(pq.read_schema(path))
    except (pa.ArrowException, OSError) as error:
        raise unreadable_file(path, error) from error


def read(path: Path, schema: pa.Schema) -> Batch:
    """The columns that the schema names."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            there = set(file.schema_arrow.names)
            wanted = [name for name in schema.names if name in there]
            table = file.read(columns=wanted)
    except (pa.ArrowException, OSError) as error:
        raise unreadable_file(path, error) from error
    return conform(table, schema, path.name)
