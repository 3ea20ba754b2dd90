"""Sinks as a durable host sees them: tasks write to folders, the driver to everything else."""

from __future__ import annotations

from typing import Any

from millstream.runtime.query import HostQuery
from millstream.runtime.sinks.discard import DiscardSink
from millstream.runtime.sinks.folder import FolderSink


class Elsewhere:
    """Stands in, where tasks run, for a sink that only the driver can write to."""

    def write(self, rows: Any, epoch: int) -> None:
        """The driver writes it."""

    def close(self) -> None:
        """The driver closes it."""


def for_workers(query: HostQuery) -> dict[str, list[Any]]:
    """A query's sinks as tasks see them."""
    return {
        output: [sink if isinstance(sink, FolderSink | DiscardSink) else Elsewhere() for sink in sinks]
        for output, sinks in query.outputs().items()
    }
