"""A log of messages with Kafka's columns, read by offset: what stands in for Kafka and its connector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

COLUMNS = "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
START = datetime(2026, 1, 1, tzinfo=UTC)


class Span(InputPartition):
    """Some messages of one partition of the log."""

    def __init__(self, partition: int, start: int, end: int) -> None:
        """From `start` up to, not including, `end`."""
        self.partition, self.start, self.end = partition, start, end


class Log(DataSource):
    """Partitions are the files of a folder, messages their lines."""

    @classmethod
    def name(cls) -> str:
        """Kafka's own name is taken."""
        return "messages"

    def schema(self) -> str:
        """Kafka's own columns."""
        return COLUMNS

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - Spark's names
        """A reader of the folder that the subscription names."""
        return Reader(Path(self.options["subscribe"]))


class Reader(DataSourceStreamReader):
    """Offsets are a number for each partition, as Kafka's are."""

    def __init__(self, folder: Path) -> None:
        """Read the files of a folder."""
        self.folder = folder

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The beginning of every partition."""
        return {path.name: 0 for path in sorted(self.folder.iterdir())}

    def latestOffset(self) -> dict[str, int]:  # noqa: N802
        """The end of every partition."""
        return {path.name: len(path.read_text().splitlines()) for path in sorted(self.folder.iterdir())}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        """What is new of each partition."""
        return [Span(i, start[name], end[name]) for i, name in enumerate(sorted(end)) if start[name] < end[name]]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """The messages of a span, with Kafka's columns."""
        assert isinstance(partition, Span)
        path = sorted(self.folder.iterdir())[partition.partition]
        lines = path.read_text().splitlines()[partition.start : partition.end]
        for offset, line in enumerate(lines, partition.start):
            key = str(json.loads(line).get("k", "")).encode() if line.startswith("{") else None
            at = START + timedelta(milliseconds=offset)
            yield key, line.encode(), self.folder.name, partition.partition, offset, at, 0
