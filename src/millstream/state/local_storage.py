"""Storage on a local or shared disk: a key is a path below a folder.

A file is written under a temporary name and synced; then it is renamed, and its folder is synced.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from millstream.core.errors import StateError
from millstream.state.lock import locked
from millstream.state.paths import inside
from millstream.state.storage import Data

# What a write that was cut off leaves behind begins with this, and is no object.
_UNFINISHED = ".~"


@dataclass(frozen=True, slots=True)
class LocalStorage:
    """The files below a folder.

    >>> import tempfile
    >>> storage = LocalStorage(Path(tempfile.mkdtemp()))
    >>> storage.put("a/b", b"1")
    >>> storage.put_if_absent("a/b", b"2"), storage.get("a/b"), storage.get("c"), storage.list("a/")
    (False, b'1', None, ['a/b'])
    >>> storage.move("a/b", "a/c"), storage.move("a/b", "a/d"), storage.list()
    (True, False, ['a/c'])
    """

    root: Path

    def name(self, key: str) -> str:
        """The path of a key."""
        return str(self.root / key)

    def put(self, key: str, data: Data) -> None:
        """Write a file, in place of one that has the key."""
        path = self._path(key)
        temporary = _unfinished(path)
        try:
            _write(temporary, data)
            temporary.replace(path)
            sync(path.parent)
        except OSError as error:
            raise _failed(path, temporary, error) from error

    def put_if_absent(self, key: str, data: Data) -> bool:
        """Write a file, unless the key is taken; returns whether this call wrote it."""
        path = self._path(key)
        temporary = _unfinished(path)
        try:
            _write(temporary, data)
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

    def get(self, key: str) -> bytes | None:
        """A file's bytes; None if there is none."""
        try:
            return self._path(key).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StateError(f"{self.name(key)} cannot be read: {error}", hint="Restore the file.") from error

    def list(self, prefix: str = "") -> list[str]:
        """The keys that begin with a prefix, in order."""
        return sorted(key for key, name in self._files(prefix) if not name.startswith(_UNFINISHED))

    def size(self, key: str) -> int | None:
        """A file's length in bytes; None if there is none."""
        try:
            return self._path(key).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def delete(self, key: str) -> None:
        """Remove a file, if there is one."""
        self._path(key).unlink(missing_ok=True)

    def move(self, key: str, to: str) -> bool:
        """Give a file another key; returns whether there was a file to move."""
        path = self._path(to)
        try:
            make_folder(path.parent)
            self._path(key).replace(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise StateError(
                f"{path} cannot be given its name: {error}", hint="Is the disk full, or the folder read-only?"
            ) from error
        sync(path.parent)
        return True

    def local_copy(self, key: str) -> Path:
        """The file itself."""
        return self._path(key)

    def sweep(self, prefix: str = "") -> None:
        """Remove what writes that were cut off left under a prefix."""
        for key, name in self._files(prefix):
            if name.startswith(_UNFINISHED):
                (self.root / key).unlink(missing_ok=True)

    def locked(self) -> AbstractContextManager[None]:
        """Keep every other driver from this folder."""
        try:
            make_folder(self.root)
        except OSError as error:
            raise StateError(
                f"the checkpoint {self.root} cannot be written: {error}", hint="Give a folder that may be written to."
            ) from error
        return locked(self.root)

    def _files(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Everything below a prefix, with what is unfinished: keys, and the last names in them."""
        root = f"{self.root}{os.sep}".replace(os.sep * 2, os.sep)  # the root of all files ends with a slash as it is
        for folder, _, names in os.walk(self.root / prefix):
            below = f"{folder}{os.sep}".removeprefix(root).replace(os.sep, "/")
            yield from ((below + name, name) for name in names)

    def _path(self, key: str) -> Path:
        path = inside(self.root, key)
        if path is None:
            raise StateError(f"{key!r} is not in {self.root}", hint="Somebody has changed a file there. Restore it.")
        return path


def sync(path: Path) -> None:
    """Have what a file holds, or the names in a folder, on the disk and not only on its way there."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def passing_folder(owner: object) -> Path:
    """A new folder that is removed when its owner is gone: nobody can come back to it."""
    path = Path(tempfile.mkdtemp(prefix="millstream-"))
    weakref.finalize(owner, shutil.rmtree, path, ignore_errors=True)
    return path


def make_folder(path: Path) -> None:
    """A folder, and the folders above it, whose names are on the disk."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync(path.parent)


def _unfinished(path: Path) -> Path:
    return path.with_name(f"{_UNFINISHED}{uuid.uuid4().hex}")


def _write(temporary: Path, data: Data) -> None:
    make_folder(temporary.parent)
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _failed(path: Path, temporary: Path, error: OSError) -> StateError:
    """The error to raise when a file cannot be written; what was written of it is removed if it can be."""
    with contextlib.suppress(OSError):
        temporary.unlink()
    return StateError(f"cannot write {path}: {error}", hint="Is the disk full, or the folder read-only?")
