"""Files and folders as a source: so many files per epoch, in order of their names unless another is asked for."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.runtime.batch import Batch
from millstream.runtime.sources import csv_file, json_file, parquet_file
from millstream.runtime.sources.file_order import MODIFIED, NAME, check_order, in_order
from millstream.runtime.sources.listing import check_format, format_of, named_path, names_in, would_name
from millstream.runtime.sources.pieces import Pieces
from millstream.runtime.sources.skipping import Skips
from millstream.state.paths import identity

log = logging.getLogger("millstream.runtime")
_READERS: dict[str, ModuleType] = {"parquet": parquet_file, "csv": csv_file, "json": json_file}


class FileSource:
    """The files that a path stands for; each is handed over once, and a later run takes what arrived since.

    A file is read when its epoch is asked for. If it cannot be read the run stops, `position` stays before
    it, and a later run tries it again.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        format: str | None = None,  # noqa: A002 - the word users of Spark and pandas expect
        schema: pa.Schema | None = None,
        epoch_files: int = 1,
        epoch_rows: int | None = None,
        pattern: str = "*",
        order_by: str = NAME,
    ) -> None:
        """See `files`."""
        if not isinstance(path, str | Path) or not isinstance(pattern, str):
            raise SourceError(f"files({path!r}, pattern={pattern!r}) names no files", hint="Give both as text.")
        self._path = named_path(path)
        self._folder = self._path.parent if self._path.is_file() else self._path
        if not isinstance(epoch_files, int) or epoch_files < 1:
            raise SourceError(f"epoch_files={epoch_files!r} is not positive", hint="Give a whole number from 1 on.")
        self._reader = _READERS[check_format(format or format_of(self._path, pattern))]
        self._schema = schema
        self._epoch_files = epoch_files
        self._pattern = pattern
        self._pieces = Pieces(epoch_rows)
        self._order_by = order_by
        if order_by not in (NAME, MODIFIED):
            check_order(order_by, self.schema)
        self._done: dict[str, list[int]] = {}
        """By file that was handed over: its length, and when it was last written."""
        self._warned: set[str] = set()
        self._current: list[str] = []
        self.skips: Skips | None = None
        """What need not be read from now on."""

    @property
    def schema(self) -> pa.Schema:
        """The schema given, or that of the first file that has one."""
        if self._schema is None:
            self._schema = self._first_schema()
        return self._schema

    @property
    def position(self) -> dict[str, Any]:
        """Files handed over whole, files being handed over, and how many rows of those."""
        return {"done": dict(self._done), "current": list(self._current), "rows": self._pieces.taken}

    def seek(self, position: Mapping[str, Any]) -> None:
        """Go on from `position`: the files named there as done are not read again."""
        self._done = {name: list(known) for name, known in position["done"].items()}
        self._current = list(position["current"])
        self._pieces.clear(position["rows"])

    def would_read(self, file: Path) -> bool:
        """Is a file of this name, without links in it, one that a later epoch would read?"""
        return would_name(identity(self._path), self._pattern, file)

    def batches(self) -> Iterator[Batch]:
        """The files there now that were not handed over yet, read one epoch at a time."""
        schema = self.schema
        if self._current:
            yield from self._hand_over(schema)
        names = names_in(self._path, self._pattern)
        self._warn_of_changes(names)
        fresh = [(name, self._file(name)) for name in names if name not in self._done]
        new = in_order(fresh, self._order_by, lambda path: self._reader.read(path, schema).rows)
        for at in range(0, len(new), self._epoch_files):
            group = new[at : at + self._epoch_files]
            self._pieces.load(self._read(group, schema))
            self._current = group
            yield from self._hand_over(schema)

    def _hand_over(self, schema: pa.Schema) -> Iterator[Batch]:
        """The rest of the current files, piece by piece."""
        while self._current:
            if not self._pieces.loaded:
                self._pieces.load(self._read(self._current, schema))
            piece = self._pieces.take()
            if not self._pieces.loaded:
                self._done |= {name: _as_it_is(self._file(name)) for name in self._current}
                self._current = []
            yield piece

    def _read(self, names: list[str], schema: pa.Schema) -> Batch:
        # Where files are cut into epochs, progress would be ahead of the rows that are left.
        skips = self.skips if self._reader is parquet_file and self._pieces.whole else None
        more = {} if skips is None else {"skips": skips}
        parts: list[Batch] = [self._reader.read(self._file(name), schema, **more) for name in names]
        unreadable = [row for part in parts for row in part.unreadable]
        unread = parquet_file.together([part.unread for part in parts if part.unread is not None])
        return Batch(pa.concat_tables([part.rows for part in parts]), unreadable, unread=unread)

    def _warn_of_changes(self, names: list[str]) -> None:
        """Say of files that were read and are not what they were: what is new in them is not read."""
        changed = [
            name
            for name in names
            if name in self._done and name not in self._warned and _as_it_is(self._file(name)) != self._done[name]
        ]
        if changed:
            log.warning(
                'files of "%s" have changed since they were read, and are not read again: %s. '
                "Write new rows to new files.",
                self._path,
                ", ".join(changed[:5]) + (f" and {len(changed) - 5} more" if len(changed) > 5 else ""),
            )
            self._warned.update(changed)

    def _file(self, name: str) -> Path:
        return self._folder / name

    def _first_schema(self) -> pa.Schema:
        names = names_in(self._path, self._pattern)
        for name in names:
            if (schema := self._reader.schema_of(self._file(name))) is not None:
                return schema
        what = f'"{self._path}" has no rows' if names else f'folder "{self._path}" has no files'
        raise SourceError(f"{what} to tell a schema from", hint="Give schema=pa.schema([…]).")


def files(
    path: str | Path,
    format: str | None = None,  # noqa: A002 - the word users of Spark and pandas expect
    *,
    schema: pa.Schema | None = None,
    epoch_files: int = 1,
    epoch_rows: int | None = None,
    pattern: str = "*",
    order_by: str = NAME,
) -> FileSource:
    """A file or a folder of files as a source.

    Args:
        path: A file, or a folder of files. Names that start with a dot or an underscore are left alone.
        format: "parquet", "csv" (with a header line) or "json" (one object per line); by default what the
            suffixes say.
        schema: Columns and types; by default those of the first file.
        epoch_files: How many files an epoch has.
        epoch_rows: If given, an epoch has at most so many rows: files are cut, never joined, to get there.
        pattern: Which files of the folder, as a glob; "**/*.csv" looks into folders below it too.
        order_by: In which order the files that are there are taken: "name"; "modified", the time when they were
            written; or a column, of which the file with the least value comes first.
    """
    return FileSource(
        path,
        format=format,
        schema=schema,
        epoch_files=epoch_files,
        epoch_rows=epoch_rows,
        pattern=pattern,
        order_by=order_by,
    )


def _as_it_is(path: Path) -> list[int]:
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]
