"""Tables of state in a storage: Arrow IPC, mapped into memory when read.

A table is known by its length and checksum, so that one cut short or altered is told from a good one.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import pyarrow as pa

from millstream.core.errors import StateError
from millstream.state.storage import Storage


@dataclass(frozen=True, slots=True)
class Written:
    """A table as it was written: its key, how long it is, and its checksum."""

    key: str
    length: int
    checksum: int
    rows: int


def write_table(storage: Storage, key: str, table: pa.Table) -> Written:
    """Write a table as a whole or not at all."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    data = sink.getvalue()
    storage.put(key, data)
    return Written(key, data.size, zlib.crc32(data), table.num_rows)


def read_table(storage: Storage, key: str) -> pa.Table:
    """Map a table into memory."""
    try:
        with pa.memory_map(str(storage.local_copy(key))) as source:
            return pa.ipc.open_file(source).read_all()
    except (OSError, pa.ArrowInvalid) as error:
        raise StateError(
            f"cannot read the segment {storage.name(key)}: {error}", hint="Restore the checkpoint's files."
        ) from error


def verify(storage: Storage, written: Written) -> str | None:
    """What is wrong with a table, if anything is."""
    length = storage.size(written.key)
    if length is None:
        return "is missing"
    if length != written.length:
        return f"has {length} bytes instead of {written.length}"
    with storage.local_copy(written.key).open("rb") as file:
        checksum = 0
        while block := file.read(1 << 20):
            checksum = zlib.crc32(block, checksum)
    return None if checksum == written.checksum else "has another checksum than when it was written"
