"""Staging: results are written where no reader looks, and published by renaming once their epoch is committed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.core.errors import SinkError
from millstream.runtime.program import Program
from millstream.runtime.sinks.discard import DiscardSink
from millstream.runtime.sinks.folder import FolderSink
from millstream.state.files import read_table, write_table

log = logging.getLogger("millstream.runtime")


@dataclass(frozen=True, slots=True)
class Stage:
    """Where one task stages what leaves: names are a function of sequence, output and the task's place."""

    folder: Path
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
                hidden, visible = sink.stage(rows, f"{name}-{self.attempt}")
                visible = visible.with_name(name + visible.suffix)
                out.append({"sink": "folder", "hidden": str(hidden.absolute()), "visible": str(visible.absolute())})
            elif not isinstance(sink, DiscardSink):
                others.append(number)
        if others:
            query = program.targets[target].name
            name = f"{target}-{output}-{self.place}-{self.attempt}.arrow"
            written = write_table(self.folder / f"{self.sequence:08d}" / name, rows)
            out.append({"sink": "others", "query": query, "output": output, "numbers": others, "path": written.path})
        return out


def publish(staged: Sequence[dict[str, Any]], *, again: bool) -> None:
    """Rename the files of folder sinks to where readers look. Doing it `again` changes nothing."""
    for one in staged:
        if one["sink"] != "folder":
            continue
        hidden, visible = Path(one["hidden"]), Path(one["visible"])
        try:
            hidden.replace(visible)
        except FileNotFoundError:
            if visible.exists():
                continue
            if not again:
                raise SinkError(f'"{hidden}" is gone before it was published', hint="Who removed it?") from None
            log.warning('"%s" is not there: published, and moved away since?', visible)
        except OSError as error:
            raise SinkError(
                f'"{visible}" cannot be given its name: {error}',
                hint="The epoch is committed; the next start publishes what is missing.",
            ) from error


def sweep(sinks: Iterable[FolderSink]) -> None:
    """Remove what broken attempts staged for these sinks; to be called when nobody is writing."""
    for sink in sinks:
        for path in sink._folder.glob(".part-*.tmp"):
            path.unlink(missing_ok=True)


def gather(staged: Sequence[dict[str, Any]]) -> dict[tuple[str, str, tuple[int, ...]], pa.Table]:
    """Staged rows of the other sinks: by query, output and sink numbers."""
    tables: dict[tuple[str, str, tuple[int, ...]], list[pa.Table]] = {}
    for one in staged:
        if one["sink"] == "others":
            key = (one["query"], one["output"], tuple(one["numbers"]))
            tables.setdefault(key, []).append(read_table(Path(one["path"])))
    return {key: pa.concat_tables(found) for key, found in tables.items()}
