"""Sinks as the Spark host sees them: tasks write to folders, the driver to everything else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from millstream.core.errors import SinkError
from millstream.runtime.query import HostQuery
from millstream.runtime.sinks.discard import DiscardSink
from millstream.runtime.sinks.folder import FolderSink


class Elsewhere:
    """Stands in, where tasks run, for a sink that only the driver can write to."""

    def write(self, rows: Any, epoch: int) -> None:
        """The driver writes it."""

    def close(self) -> None:
        """The driver closes it."""


def folders(query: HostQuery) -> list[FolderSink]:
    """The folders that a query writes to."""
    return [sink for sinks in query.outputs().values() for sink in sinks if isinstance(sink, FolderSink)]


def check_folders(queries: Iterable[HostQuery]) -> None:
    """Files are named after the step, so two outputs in one folder would overwrite each other's."""
    seen: dict[Path, str] = {}
    for query in queries:
        for sink in folders(query):
            folder = sink._folder.absolute()
            if folder in seen:
                raise SinkError(
                    f'"{folder}" is the folder of two outputs, of {seen[folder]!r} and of {query.name!r}',
                    hint="Give each output a folder of its own.",
                )
            seen[folder] = query.name


def for_workers(query: HostQuery) -> dict[str, list[Any]]:
    """A query's sinks as tasks see them."""
    return {
        output: [sink if isinstance(sink, FolderSink | DiscardSink) else Elsewhere() for sink in sinks]
        for output, sinks in query.outputs().items()
    }
