"""Staging: results are written where no reader looks, and published by renaming once their epoch is committed."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.core.errors import SinkError, StateError
from millstream.runtime.handed import HandedOn
from millstream.runtime.parcel import Report
from millstream.runtime.program import Program
from millstream.runtime.sinks.discard import DiscardSink
from millstream.runtime.sinks.folder import FolderSink
from millstream.runtime.sinks.owner import owns
from millstream.state.files import read_table, sync, write_table
from millstream.state.paths import inside

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
                for hidden, visible in sink.stage(rows, f"part-{self.sequence:08d}-{self.place}", f"-{self.attempt}"):
                    names = {"hidden": hidden, "visible": visible}
                    relative = {name: path.relative_to(sink.folder).as_posix() for name, path in names.items()}
                    out.append({"sink": "folder", "folder": str(sink.folder), **relative})
            elif isinstance(sink, HandedOn):
                name = f"{self.sequence:08d}-{target}-{output}-{number}-{self.place}-{self.attempt}.arrow"
                written = write_table(self.folder.parent / "handed" / name, rows)
                out.append({"sink": "handed", "stream": sink.stream, "file": asdict(written)})
            elif not isinstance(sink, DiscardSink):
                others.append(number)
        if others:
            query = program.targets[target].name
            name = f"{target}-{output}-{self.place}-{self.attempt}.arrow"
            written = write_table(self.folder / f"{self.sequence:08d}" / name, rows)
            path = Path(written.path).relative_to(self.folder.parent).as_posix()
            out.append({"sink": "others", "query": query, "output": output, "numbers": others, "path": path})
        return out


def leaving(reports: Iterable[Report]) -> list[dict[str, Any]]:
    """What a step hands to sinks, once it is committed; what it hands on to the next step stays in the checkpoint."""
    return [one for report in reports for one in report.staged if one["sink"] != "handed"]


def publish(staged: Sequence[dict[str, Any]], checkpoint: str, *, again: bool) -> None:
    """Rename the files of folder sinks to where readers look. Doing it `again` changes nothing.

    Only folders that `checkpoint` has written to are touched, whatever a manifest says.
    """
    changed: set[Path] = set()
    for one in staged:
        if one["sink"] != "folder":
            continue
        hidden, visible = _named(one, checkpoint)
        changed.add(visible.parent)
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
    for folder in changed:  # the next manifest no longer names these files
        if folder.is_dir():
            sync(folder)


def _named(one: dict[str, Any], checkpoint: str) -> tuple[Path, Path]:
    """The two names of a staged file, if they are what a sink of this checkpoint would have given it."""
    folder = Path(str(one["folder"]))
    hidden, visible = (inside(folder, str(one[name])) for name in ("hidden", "visible"))
    if (
        hidden is None
        or visible is None
        or hidden.parent != visible.parent
        or not hidden.name.startswith(".part-")
        or not visible.name.startswith("part-")
    ):
        raise StateError(
            f"the manifest would have {one['hidden']!r} renamed to {one['visible']!r} in {folder}, which no sink does",
            hint="It was changed by somebody. Restore the checkpoint.",
        )
    if folder.is_dir() and not owns(folder, checkpoint):
        raise StateError(
            f"the manifest would have files published in {folder}, which this checkpoint has never written to",
            hint="If the folder was cleared, clear the checkpoint too; else restore the folder.",
        )
    return hidden, visible


def sweep(sinks: Iterable[FolderSink]) -> None:
    """Remove what broken attempts staged for these sinks; to be called when nobody is writing."""
    for sink in sinks:
        for path in sink.folder.rglob(".part-*.tmp"):
            path.unlink(missing_ok=True)


def gather(staged: Sequence[dict[str, Any]], checkpoint: Path) -> dict[tuple[str, str, tuple[int, ...]], pa.Table]:
    """Staged rows of the other sinks: by query, output and sink numbers."""
    tables: dict[tuple[str, str, tuple[int, ...]], list[pa.Table]] = {}
    for one in staged:
        if one["sink"] == "others":
            path = inside(checkpoint, str(one["path"]))
            if path is None:
                raise StateError(
                    f"the manifest names {one['path']!r}, which is not in the checkpoint",
                    hint="Restore the checkpoint.",
                )
            key = (one["query"], one["output"], tuple(one["numbers"]))
            tables.setdefault(key, []).append(read_table(path))
    return {key: pa.concat_tables(found) for key, found in tables.items()}
