"""Sinks as a durable host sees them: tasks write to folders and to the next epoch, the driver to everything else."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from millstream.runtime.outputs.handed import HandedOn
from millstream.runtime.query import HostQuery
from millstream.runtime.sinks.discard import DiscardSink
from millstream.runtime.sinks.folder import FolderSink


class DriverSink:
    """Stands in, where tasks run, for a sink that only the driver can write to."""

    def write(self, rows: Any, epoch: int) -> None:
        """The driver writes it."""

    def close(self) -> None:
        """The driver closes it."""


def for_workers(query: HostQuery, read: Collection[str]) -> dict[str, list[Any]]:
    """A query's sinks as tasks see them; `read` are the streams that somebody reads."""

    def seen(sink: Any) -> Any:
        if isinstance(sink, HandedOn) and sink.stream not in read:
            return DiscardSink()
        return sink if isinstance(sink, FolderSink | DiscardSink | HandedOn) else DriverSink()

    return {output: [seen(sink) for sink in sinks] for output, sinks in query.outputs().items()}
