"""A disk that loses power: what was not synced is gone, files and names alike.

It watches `os.fsync`. A synced file keeps the bytes that it had then; a synced folder keeps the names that it had then,
each with the file that it meant. At a power loss a folder is made again from these alone: a file that was never
synced is there empty if its name was synced, and a name that was not synced is not there at all.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Disk:
    """What is on the disk for certain, of one folder."""

    def __init__(self, root: Path, kept: Path) -> None:
        self._root = root
        self._kept = kept
        self._names: dict[int, dict[str, int]] = {}
        """By folder: its names, and the files or folders that they mean."""
        self._contents: dict[int, Path] = {}
        self._folders: set[int] = set()
        self.syncs = 0
        kept.mkdir()

    def synced(self, handle: int) -> None:
        """A file or folder is on the disk as it is now."""
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if not path.is_relative_to(self._root):
            return
        self.syncs += 1
        number = os.fstat(handle).st_ino
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            with os.scandir(path) as found:
                entries = {one.name: one for one in found}
                self._names[number] = {name: one.inode() for name, one in entries.items()}
                self._folders |= {one.inode() for one in entries.values() if one.is_dir()}
        else:
            copy = self._kept / f"{number}-{self.syncs}"
            shutil.copyfile(path, copy)
            self._contents[number] = copy

    def after_power_loss(self, folder: Path) -> None:
        """Make again, elsewhere, what a restart would find."""
        self._make(self._root.stat().st_ino, folder)

    def _make(self, number: int, folder: Path) -> None:
        folder.mkdir()
        for name, file in self._names.get(number, {}).items():
            if file in self._folders:
                self._make(file, folder / name)
            elif file in self._contents:
                shutil.copyfile(self._contents[file], folder / name)
            else:
                (folder / name).touch()


@contextmanager
def watched(root: Path, kept: Path) -> Iterator[Disk]:
    """Watch what is synced under a folder, which must be there."""
    disk, real = Disk(root, kept), os.fsync

    def fsync(handle: int) -> None:
        real(handle)
        disk.synced(handle)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        yield disk
