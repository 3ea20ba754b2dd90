"""Delta tables as streams, read from their log version by version: what stands in for Delta's own connector.

The tables are real: Delta's Rust implementation writes them. The connector is a package for the JVM, and no Python
package, so that this reader does in Python what it does: a version of the table is an offset, and the rows of a
version are those of the files that it adds.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType


def actions(table: Path, version: int) -> list[dict[str, Any]]:
    """What a version did to a table."""
    lines = (table / "_delta_log" / f"{version:020d}.json").read_text().splitlines()
    return [json.loads(line) for line in lines]


class AddedFile(InputPartition):
    """A file that a version added."""

    def __init__(self, path: str) -> None:
        """Its place on this machine."""
        self.path = path


class Delta(DataSource):
    """`spark.readStream.format("delta").load(path)`, as with the connector."""

    @classmethod
    def name(cls) -> str:
        """The connector's own name."""
        return "delta"

    def schema(self) -> StructType:
        """The columns that the table began with, as its log has them: Spark's own JSON."""
        (found,) = [one["metaData"] for one in actions(Path(self.options["path"]), 0) if "metaData" in one]
        return StructType.fromJson(json.loads(found["schemaString"]))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's names
        """A reader of the table's log."""
        return Reader(Path(self.options["path"]), schema.names)


class Reader(DataSourceStreamReader):
    """Offsets are versions of the table."""

    def __init__(self, table: Path, names: list[str]) -> None:
        """Read a table in a folder."""
        self.table, self.names = table, names

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """Before the first version."""
        return {"version": -1}

    def latestOffset(self) -> dict[str, int]:  # noqa: N802
        """The last version whose log entry is there."""
        return {"version": max(int(path.stem) for path in (self.table / "_delta_log").glob("*.json"))}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """The files that the versions after `start` added, up to `end`."""
        return [
            AddedFile(str(self.table / unquote(one["add"]["path"])))
            for version in range(start["version"] + 1, end["version"] + 1)
            for one in actions(self.table, version)
            if "add" in one and one["add"]["dataChange"]
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a file, as Arrow."""
        assert isinstance(partition, AddedFile)
        yield from pq.read_table(partition.path, columns=self.names).to_batches()
