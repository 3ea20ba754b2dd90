"""Compaction: many small part files of a folder become few, with the same rows. For a folder that nobody writes to."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.core.errors import SinkError
from millstream.runtime.sinks.owner import writers_of
from millstream.state.local_storage import LocalStorage
from millstream.state.paths import local_path
from millstream.state.storage import Data, Storage

_PLAN = "_compaction"
"""Names the files of a merge under way, so that one that is cut off is finished and not begun again."""
TARGET = 128 << 20


def compact(path: str | Path, *, target: int = TARGET) -> int:
    """Merge the small files of a folder of results to files of about `target` bytes; returns how many are gone.

    Rows and their order stay. Call it while no query writes to the folder; a reader that looks at the very moment may
    see the rows of one merge twice. A call that is cut off does no harm: the next one finishes it.
    """
    folder = LocalStorage(local_path(path, "a folder of results", SinkError))
    if not writers_of(folder):
        raise SinkError(f'"{folder.root}" is no folder that a query has written to', hint="Give the folder of a sink.")
    _finish(folder)
    gone = 0
    for group in _groups(folder, target):
        gone += _merge(folder, group) - 1
    return gone


def _groups(folder: Storage, target: int) -> list[list[PurePosixPath]]:
    """Neighbours by name that are together not much larger than the target; a file that is large enough is alone."""
    out: list[list[PurePosixPath]] = []
    waiting: list[PurePosixPath] = []
    size = 0
    for file in sorted(PurePosixPath(key) for key in folder.list()):
        if not file.name.startswith("part-"):
            continue
        here = folder.size(str(file)) or 0
        near = waiting and (file.parent, file.suffix) == (waiting[0].parent, waiting[0].suffix)
        if waiting and (size + here > target or not near):
            out.append(waiting)
            waiting, size = [], 0
        waiting.append(file)
        size += here
    out.append(waiting)
    return [group for group in out if len(group) > 1]


def _merge(folder: Storage, files: Sequence[PurePosixPath]) -> int:
    merged = files[0].with_name(f"{files[0].stem}-to-{files[-1].stem.removeprefix('part-')}{files[0].suffix}")
    hidden = merged.with_name(f".{merged.name}.tmp")
    folder.put(str(hidden), _MERGES[files[0].suffix]([folder.local_copy(str(file)) for file in files]))
    folder.put(_PLAN, json.dumps([str(file) for file in (hidden, merged, *files)]).encode())
    _finish(folder)
    return len(files)


def _finish(folder: Storage) -> None:
    """Do what the plan of a merge says, from wherever it was cut off."""
    plan = folder.get(_PLAN)
    if plan is None:
        return
    hidden, merged, *files = json.loads(plan)
    folder.move(hidden, merged)
    for file in files:
        folder.delete(file)
    folder.delete(_PLAN)


def _parquet(files: Sequence[Path]) -> Data:
    out = pa.BufferOutputStream()
    with pq.ParquetWriter(out, pq.read_schema(files[-1])) as writer:
        for file in files:
            writer.write_table(pq.read_table(file, partitioning=None).cast(writer.schema))
    return out.getvalue()


def _csv(files: Sequence[Path]) -> Data:
    first, *more = (file.read_bytes() for file in files)
    return first + b"".join(one.partition(b"\n")[2] for one in more)


def _lines(files: Sequence[Path]) -> Data:
    return b"".join(file.read_bytes() for file in files)


_MERGES: dict[str, Callable[[Sequence[Path]], Data]] = {".parquet": _parquet, ".csv": _csv, ".json": _lines}
