"""A folder of part files, one per epoch, each whole or not there at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from millstream.core.errors import MillstreamError, SinkError, nearest
from millstream.runtime.sinks.owner import Owner, claim
from millstream.runtime.sinks.partitioned import parts
from millstream.state.local_storage import LocalStorage, make_folder
from millstream.state.paths import identity, local_path
from millstream.state.storage import Data, Storage

MODES = ("error", "append", "replace")


class FolderSink(ABC):
    """Writes `part-00000007.<suffix>` for epoch 7.

    A file gets its name only when it is complete: it is written under a hidden name and renamed. The name
    depends on nothing but the epoch, so an epoch written again replaces its file and adds nothing. With
    `partition_by` there is one file per epoch and value of these columns, in folders such as `day=2026-01-31`.

    A folder belongs to the query that wrote it first. `mode` says what happens if another one did: "error" refuses,
    "append" writes beside what is there, "replace" removes it first.
    """

    suffix: ClassVar[str]

    def __init__(self, folder: str | Path, *, mode: str = "error", partition_by: Sequence[str] | str = ()) -> None:
        # Whole, because tasks may run elsewhere than the program.
        self.folder = local_path(folder, "the folder of a sink", SinkError)
        if mode not in MODES:
            raise SinkError(f"there is no mode {mode!r}", hint=nearest(mode, MODES))
        self.mode = mode
        self.storage: Storage = LocalStorage(self.folder)
        self.partition_by = (partition_by,) if isinstance(partition_by, str) else tuple(partition_by)
        self._prefix = ""

    @abstractmethod
    def _encode(self, rows: pa.Table) -> Data:
        """All rows as the bytes of one file."""

    @property
    def identity(self) -> Path:
        """The folder's one path, whatever links lead to it."""
        return identity(self.folder)

    def check(self, schema: pa.Schema) -> None:
        """Refuse a schema that cannot be partitioned as asked."""
        for name in self.partition_by:
            if name not in schema.names:
                raise SinkError(f"partition_by names the unknown column {name!r}", hint=nearest(name, schema.names))
            if pa.types.is_nested(schema.field(name).type):
                raise SinkError(
                    f"partition_by={name!r} is {schema.field(name).type}, which names no folder",
                    hint="Partition by a column of plain values.",
                )
        if len(set(self.partition_by)) == len(schema.names):
            raise SinkError("partition_by has every column", hint="Leave one column for the files.")

    def claim(self, owner: Owner) -> None:
        """Write for this owner from now on; a folder that is somebody else's is dealt with as `mode` says."""
        self._make_folder()
        self._prefix = claim(self.storage, owner, self.mode)

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Write the file of an epoch, or its files."""
        for key, part in self._parts(rows, f"part-{epoch:08d}"):
            self._put(key, part, key)

    def stage(self, rows: pa.Table, name: str, attempt: str = "") -> list[tuple[str, str]]:
        """Write files under keys that readers ignore; returns those and the keys they are to have.

        `attempt` is in the hidden keys only: two attempts at one epoch do not meet.
        """
        out: list[tuple[str, str]] = []
        for visible, part in self._parts(rows, name):
            folder, slash, file = visible.rpartition("/")
            hidden = f"{folder}{slash}.{file}{attempt}.tmp"
            self._put(hidden, part, visible)
            out.append((hidden, visible))
        return out

    def _parts(self, rows: pa.Table, name: str) -> Iterator[tuple[str, pa.Table]]:
        """The keys of the files that these rows make, and the rows of each."""
        self._make_folder()
        file = f"part-{self._prefix}{name.removeprefix('part-')}.{self.suffix}"
        for folder, part in parts(rows, self.partition_by):
            yield f"{folder}/{file}" if folder else file, part

    def _put(self, key: str, rows: pa.Table, visible: str) -> None:
        try:
            self.storage.put(key, self._encode(rows))
        except (pa.ArrowException, OSError, ValueError, TypeError, MillstreamError) as error:
            fact = error.fact if isinstance(error, MillstreamError) else error
            raise SinkError(
                f'"{self.storage.name(visible)}" cannot be written: {fact}',
                hint="The epoch is not delivered, and no part of the file is left. Check space, permissions, "
                "and whether the format has the types of the result.",
            ) from error

    def finish(self, schema: pa.Schema) -> None:
        """Leave a file with the columns and no rows where no row ever came, so that readers find an empty result."""
        self._make_folder()
        if self.partition_by or any(key.startswith("part-") for key in self.storage.list()):
            return
        for key, part in self._parts(schema.empty_table(), "part-schema"):
            self._put(key, part, key)

    def close(self) -> None:
        """Nothing to let go of."""

    def _make_folder(self) -> None:
        try:
            make_folder(self.folder)
        except OSError as error:
            raise SinkError(
                f'folder "{self.folder}" cannot be made: {error}',
                hint="Give the path of a folder, in a place that may be written to.",
            ) from error
