"""Staging: results are written where no reader looks, and published by renaming once their epoch is committed."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from millstream.core.errors import SinkError, StateError
from millstream.runtime.outputs.handed import HandedOn
from millstream.runtime.sinks.discard import DiscardSink
from millstream.runtime.sinks.folder import FolderSink
from millstream.runtime.sinks.owner import owns
from millstream.runtime.tasks.parcel import Report
from millstream.runtime.tasks.program import Program
from millstream.state.files import read_table, write_table
from millstream.state.local_storage import LocalStorage
from millstream.state.paths import inside
from millstream.state.storage import Storage

STAGING = "staging/"
"""Where rows wait for sinks that are no folders."""
_REMOVED = "Another program has removed it. Restore the file, or start with an empty checkpoint and an empty folder."
log = logging.getLogger("millstream.runtime")


@dataclass(frozen=True, slots=True)
class Stage:
    """Where one task stages what leaves: names are a function of sequence, output and the task's place."""

    storage: Storage
    """The checkpoint."""
    sequence: int
    place: str
    """Which task of the step it is: no two tasks of a step have one place."""
    attempt: str
    """A file not yet published has it in its name: nobody else can write to it."""

    def write(self, program: Program, target: int, output: str, rows: pa.Table) -> list[dict[str, Any]]:
        """Stage some rows of an output, for each of its sinks; returns what to publish."""
        out: list[dict[str, Any]] = []
        others: list[int] = []
        sinks = program.targets[target].sinks.get(output, [])
        for number, sink in enumerate(sinks):
            if isinstance(sink, FolderSink):
                name = f"part-{self.sequence:08d}-{self.place}"
                for hidden, visible in sink.stage(rows, name, f"-{self.attempt}"):
                    out.append({"sink": "folder", "folder": str(sink.folder), "hidden": hidden, "visible": visible})
            elif isinstance(sink, HandedOn):
                key = f"handed/{self.sequence:08d}-{target}-{output}-{number}-{self.place}-{self.attempt}.arrow"
                written = write_table(self.storage, key, rows)
                out.append({"sink": "handed", "stream": sink.stream, "file": asdict(written)})
            elif not isinstance(sink, DiscardSink):
                others.append(number)
        if others:
            query = program.targets[target].name
            key = f"{STAGING}{self.sequence:08d}-{target}-{output}-{self.place}-{self.attempt}.arrow"
            write_table(self.storage, key, rows)
            out.append({"sink": "others", "query": query, "output": output, "numbers": others, "path": key})
        return out


def leaving(reports: Iterable[Report]) -> list[dict[str, Any]]:
    """What a step hands to sinks, once it is committed; what it hands on to the next step stays in the checkpoint."""
    return [one for report in reports for one in report.staged if one["sink"] != "handed"]


def publish(staged: Sequence[dict[str, Any]], checkpoint: str, *, again: bool) -> None:
    """Rename the files of folder sinks to where readers look. Doing it `again` changes nothing.

    Only folders that `checkpoint` has written to are touched, whatever a manifest says.
    """
    for one in staged:
        if one["sink"] != "folder":
            continue
        folder, hidden, visible = _named(one, checkpoint)
        try:
            moved = folder.move(hidden, visible)
        except StateError as error:
            raise SinkError(
                error.fact, hint="The epoch is committed; the next start publishes what is missing."
            ) from error
        if moved or folder.size(visible) is not None:
            continue
        if not again:
            raise SinkError(f'"{folder.name(hidden)}" is gone before it was published', hint=_REMOVED)
        log.warning('"%s" is not there: published, and moved away since?', folder.name(visible))


def _named(one: dict[str, Any], checkpoint: str) -> tuple[Storage, str, str]:
    """The folder and the two keys of a staged file, if they are what a sink of this checkpoint would have given it."""
    path = Path(str(one["folder"]))
    hidden, visible = (PurePosixPath(str(one[name])) for name in ("hidden", "visible"))
    if (
        inside(path, str(hidden)) is None
        or inside(path, str(visible)) is None
        or hidden.parent != visible.parent
        or not hidden.name.startswith(".part-")
        or not visible.name.startswith("part-")
    ):
        raise StateError(
            f"the manifest would have {one['hidden']!r} renamed to {one['visible']!r} in {path}, which no sink does",
            hint="It was changed by somebody. Restore the checkpoint.",
        )
    folder = LocalStorage(path)
    if path.is_dir() and not owns(folder, checkpoint):
        raise StateError(
            f"the manifest would have files published in {path}, which this checkpoint has never written to",
            hint="If the folder was cleared, clear the checkpoint too; else restore the folder.",
        )
    return folder, str(hidden), str(visible)


def sweep(sinks: Iterable[FolderSink]) -> None:
    """Remove what broken attempts staged for these sinks; to be called when nobody is writing."""
    for sink in sinks:
        for key in sink.storage.list():
            if re.match(r"\.part-.*\.tmp$", key.rsplit("/", 1)[-1]):
                sink.storage.delete(key)
        sink.storage.sweep()


def gather(staged: Sequence[dict[str, Any]], storage: Storage) -> dict[tuple[str, str, tuple[int, ...]], pa.Table]:
    """Staged rows of the other sinks: by query, output and sink numbers."""
    tables: dict[tuple[str, str, tuple[int, ...]], list[pa.Table]] = {}
    for one in staged:
        if one["sink"] == "others":
            key = (one["query"], one["output"], tuple(one["numbers"]))
            tables.setdefault(key, []).append(read_table(storage, str(one["path"])))
    return {key: pa.concat_tables(found) for key, found in tables.items()}
