"""Compaction: many small part files of a folder become few, with the same rows. For a folder that nobody writes to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq

from millstream.core.errors import SinkError
from millstream.runtime.sinks.owner import writers_of
from millstream.state.files import sync, write_text
from millstream.state.paths import local_path

_PLAN = "_compaction"
"""Names the files of a merge under way, so that one that is cut off is finished and not begun again."""
TARGET = 128 << 20


def compact(path: str | Path, *, target: int = TARGET) -> int:
    """Merge the small files of a folder of results to files of about `target` bytes; returns how many are gone.

    Rows and their order stay. Call it while no query writes to the folder; a reader that looks at the very moment may
    see the rows of one merge twice. A call that is cut off does no harm: the next one finishes it.
    """
    folder = local_path(path, "a folder of results", SinkError)
    if not folder.is_dir() or not writers_of(folder):
        raise SinkError(f'"{folder}" is no folder that a query has written to', hint="Give the folder of a sink.")
    _finish(folder)
    gone = 0
    for place in sorted({file.parent for file in folder.rglob("part-*.*")}):
        for group in _groups(place, target):
            gone += _merge(folder, group) - 1
    return gone


def _groups(place: Path, target: int) -> list[list[Path]]:
    """Neighbours by name that are together not much larger than the target; a file that is large enough is alone."""
    out: list[list[Path]] = []
    waiting: list[Path] = []
    size = 0
    for file in sorted(place.glob("part-*.*")):
        here = file.stat().st_size
        if waiting and (size + here > target or file.suffix != waiting[0].suffix):
            out.append(waiting)
            waiting, size = [], 0
        waiting.append(file)
        size += here
    out.append(waiting)
    return [group for group in out if len(group) > 1]


def _merge(folder: Path, files: Sequence[Path]) -> int:
    merged = files[0].with_name(f"{files[0].stem}-to-{files[-1].stem.removeprefix('part-')}{files[0].suffix}")
    hidden = merged.with_name(f".{merged.name}.tmp")
    _MERGES[files[0].suffix](files, hidden)
    sync(hidden)
    names = [str(file.relative_to(folder)) for file in (hidden, merged, *files)]
    write_text(folder / _PLAN, json.dumps(names))
    _finish(folder)
    return len(files)


def _finish(folder: Path) -> None:
    """Do what the plan of a merge says, from wherever it was cut off."""
    plan = folder / _PLAN
    if not plan.exists():
        return
    hidden, merged, *files = (folder / name for name in json.loads(plan.read_text(encoding="utf-8")))
    if hidden.exists():
        hidden.replace(merged)
        sync(merged.parent)
    for file in files:
        file.unlink(missing_ok=True)
    plan.unlink()


def _parquet(files: Sequence[Path], target: Path) -> None:
    with pq.ParquetWriter(target, pq.read_schema(files[-1])) as writer:
        for file in files:
            writer.write_table(pq.read_table(file, partitioning=None).cast(writer.schema))


def _csv(files: Sequence[Path], target: Path) -> None:
    with target.open("wb") as out:
        for number, file in enumerate(files):
            with file.open("rb") as lines:
                header = lines.readline()
                if number == 0:
                    out.write(header)
                out.write(lines.read())


def _lines(files: Sequence[Path], target: Path) -> None:
    with target.open("wb") as out:
        for file in files:
            out.write(file.read_bytes())


_MERGES: dict[str, Callable[[Sequence[Path], Path], None]] = {".parquet": _parquet, ".csv": _csv, ".json": _lines}
