"""One driver for a checkpoint: a lock while it runs, and an identity that its sinks' folders are signed with."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from millstream.core.errors import StateError
from millstream.state.storage import Storage

_LOCK, _ID = "lock", "id"


@contextmanager
def locked(checkpoint: Path) -> Generator[None]:
    """Keep every other driver from the checkpoint, for as long as this process lives at most.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with locked(folder), locked(folder):
    ...     pass
    Traceback (most recent call last):
    millstream.core.errors.StateError: the checkpoint ... is in use by process ...
    Hint: Stop that run first, or give this one a checkpoint of its own.
    """
    try:
        handle = os.open(checkpoint / _LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    except OSError as error:
        raise StateError(
            f"the checkpoint {checkpoint} cannot be written: {error}", hint="Give a folder that may be written to."
        ) from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateError(
                f"the checkpoint {checkpoint} is in use by {_holder(handle)}",
                hint="Stop that run first, or give this one a checkpoint of its own.",
            ) from None
        mine = json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode()
        if os.pread(handle, 4096, 0) != mine:
            os.ftruncate(handle, 0)
            os.pwrite(handle, mine, 0)
        yield
    finally:
        os.close(handle)


def checkpoint_id(storage: Storage) -> str:
    """What tells a checkpoint from every other, wherever it is moved; made the first time."""
    if storage.get(_ID) is None:
        storage.put_if_absent(_ID, uuid.uuid4().hex.encode())
    return (storage.get(_ID) or b"").decode("ascii").strip()


def _holder(handle: int) -> str:
    try:
        said = json.loads(os.pread(handle, 4096, 0))
        return f"process {said['pid']} on {said['host']}"
    except (ValueError, KeyError, TypeError):
        return "another process"
