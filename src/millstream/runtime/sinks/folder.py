"""A folder of part files, one an epoch, each whole or not there at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

import pyarrow as pa

from millstream.core.errors import SinkError


class FolderSink(ABC):
    """Writes `part-00000007.<suffix>` for epoch 7.

    A file gets its name only when it is complete: it is written under a hidden name and renamed. The name
    depends on nothing but the epoch, so an epoch written again replaces its file and adds nothing.
    """

    suffix: str

    def __init__(self, folder: str | Path) -> None:
        if not isinstance(folder, str | Path):
            raise SinkError(f"{folder!r} is not a path", hint="Give the path of a folder, as text or pathlib.Path.")
        # Whole, because tasks may run elsewhere than the program.
        self._folder = Path(folder).expanduser().absolute()

    @abstractmethod
    def _write_file(self, rows: pa.Table, path: Path) -> None:
        """Write all rows to a new file."""

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Write the file of an epoch."""
        hidden, target = self.stage(rows, f"part-{epoch:08d}")
        try:
            hidden.replace(target)
        except OSError as error:
            raise _failed(target, hidden, error) from error

    def stage(self, rows: pa.Table, name: str) -> tuple[Path, Path]:
        """Write a file under a name that readers ignore; returns that and the name it is to have."""
        self._make_folder()
        target = self._folder / f"{name}.{self.suffix}"
        hidden = target.with_name(f".{target.name}.tmp")
        try:
            self._write_file(rows, hidden)
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise _failed(target, hidden, error) from error
        return hidden, target

    def close(self) -> None:
        """Leave a folder even if no row came, so that readers find an empty result and not an error."""
        self._make_folder()

    def _make_folder(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SinkError(
                f'folder "{self._folder}" cannot be made: {error}',
                hint="Give the path of a folder, in a place that may be written to.",
            ) from error


def _failed(target: Path, hidden: Path, error: Exception) -> SinkError:
    """The error to raise when a file cannot be written or given its name; what was written is removed."""
    hidden.unlink(missing_ok=True)
    return SinkError(
        f'"{target}" cannot be written: {error}',
        hint="The epoch is not delivered, and no part of the file is left. Check space, permissions, "
        "and whether the format has the types of the result.",
    )
