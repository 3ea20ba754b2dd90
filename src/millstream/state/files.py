"""Files of state: Arrow IPC, written under a temporary name, renamed when whole, mapped into memory when read.

A file is known by its length and checksum, so that one cut short or altered is told from a good one. Everything
goes through this module: another file system is another version of it.
"""

from __future__ import annotations

import contextlib
import os
import uuid
import zlib
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from millstream.core.errors import StateError


@dataclass(frozen=True, slots=True)
class Written:
    """A file as it was written: where, how long, and its checksum."""

    path: str
    length: int
    checksum: int
    rows: int


def write_table(path: Path, table: pa.Table) -> Written:
    """Write a table as a whole or not at all."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        make_folder(path.parent)
        with pa.OSFile(str(temporary), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        checksum, length = _checksum(temporary)
        rename(temporary, path)
    except OSError as error:
        raise _failed(path, temporary, error) from error
    return Written(str(path), length, checksum, table.num_rows)


def read_table(path: Path) -> pa.Table:
    """Map a table into memory."""
    try:
        with pa.memory_map(str(path)) as source:
            return pa.ipc.open_file(source).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise StateError(f"cannot read the segment {path}: {error}", hint="Restore the checkpoint's files.") from error


def verify(written: Written) -> str | None:
    """What is wrong with a file, if anything is."""
    path = Path(written.path)
    if not path.exists():
        return "is missing"
    if path.stat().st_size != written.length:
        return f"has {path.stat().st_size} bytes instead of {written.length}"
    if _checksum(path)[0] != written.checksum:
        return "has another checksum than when it was written"
    return None


def write_text(path: Path, text: str) -> None:
    """Write a small file atomically and durably: it is there whole after a crash, or not at all."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        make_folder(path.parent)
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
        rename(temporary, path)
    except OSError as error:
        raise _failed(path, temporary, error) from error


def write_text_once(path: Path, text: str) -> bool:
    """Write a small file atomically and durably, unless its name is taken; returns whether this call wrote it."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        make_folder(path.parent)
        temporary.write_text(text, encoding="utf-8")
        sync(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink(missing_ok=True)
        sync(path.parent)
    except OSError as error:
        raise _failed(path, temporary, error) from error
    return True


def rename(temporary: Path, path: Path) -> None:
    """Give a file that is whole its name, so that after a power cut it is there whole, or not at all."""
    sync(temporary)
    temporary.replace(path)
    sync(path.parent)


def sync(path: Path) -> None:
    """Have what a file holds, or the names in a folder, on the disk and not only on its way there."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(path: Path) -> None:
    """A folder, and the folders above it, whose names are on the disk."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync(path.parent)


def _failed(path: Path, temporary: Path, error: OSError) -> StateError:
    """The error to raise when a file cannot be written; what was written of it is removed if it can be."""
    with contextlib.suppress(OSError):
        temporary.unlink()
    return StateError(f"cannot write {path}: {error}", hint="Is the disk full, or the folder read-only?")


def _checksum(path: Path) -> tuple[int, int]:
    value, length = 0, 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            value = zlib.crc32(block, value)
            length += len(block)
    return value, length
