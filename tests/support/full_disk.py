"""A disk of its own that can be filled up, and emptied again: no stand-in raises the error, the system does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(at: Path, size: int = 16 << 20) -> Iterator[SmallDisk]:
    """A file system of `size` bytes at a folder; the test is skipped where nobody may mount one."""
    at.mkdir(parents=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(at)], check=False, capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(at)
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


class SmallDisk:
    """Fills up to leave a number of bytes."""

    def __init__(self, at: Path) -> None:
        """A mounted file system."""
        self.at = at
        self._filler = at / ".filler"

    @property
    def free(self) -> int:
        """The bytes that can still be written."""
        found = os.statvfs(self.at)
        return found.f_bavail * found.f_frsize

    def leave(self, free: int) -> None:
        """Take all but `free` bytes."""
        with self._filler.open("ab") as out:
            while self.free > free:
                out.write(b"\0" * min(1 << 20, self.free - free))
                out.flush()

    def clear(self) -> None:
        """Give them back."""
        self._filler.unlink()
