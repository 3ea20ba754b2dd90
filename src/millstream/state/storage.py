"""The storage protocol: everything that a checkpoint or a folder of results holds, by keys relative to a root.

A key is a relative path with slashes. What `put` has returned from stays, whatever happens next: after a crash or a
power loss an object is there whole, or not at all. So an order of puts is an order on the disk: segments first, then
the manifest that names them.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol

import pyarrow as pa

Data = bytes | pa.Buffer


class Storage(Protocol):
    """Objects under one root. Another file system or object store is another implementation of this."""

    def name(self, key: str) -> str:
        """What a key is called outside: a path or address, for messages."""
        ...

    def put(self, key: str, data: Data) -> None:
        """Write an object, in place of one that has the key."""
        ...

    def put_if_absent(self, key: str, data: Data) -> bool:
        """Write an object, unless the key is taken; returns whether this call wrote it."""
        ...

    def get(self, key: str) -> bytes | None:
        """An object's bytes; None if there is none."""
        ...

    def list(self, prefix: str = "") -> list[str]:
        """The keys that begin with a prefix, which ends with a slash or is empty, in order."""
        ...

    def size(self, key: str) -> int | None:
        """An object's length in bytes; None if there is none."""
        ...

    def delete(self, key: str) -> None:
        """Remove an object, if there is one."""
        ...

    def move(self, key: str, to: str) -> bool:
        """Give an object another key, in place of one that has it; returns whether there was an object to move."""
        ...

    def local_copy(self, key: str) -> Path:
        """A file with the object's bytes, to be mapped into memory. Only for objects that never change."""
        ...

    def sweep(self, prefix: str = "") -> None:
        """Remove what writes that were cut off left under a prefix; for when nobody else is writing."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """Keep every other driver from this root, for as long as this process lives at most."""
        ...
