"""Versions of tables as files: the driver writes one when a table is new or read again, and tasks map it into memory.

A version is a file that never changes, named after the table and the step that first reads it. The manifest of an epoch
names the versions it was computed with, so that an epoch that is computed again reads the same rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from urllib.parse import quote

from millstream.kernels.lookup import Lookup
from millstream.ops.operator import Operator
from millstream.runtime.tables import Tables
from millstream.state.files import Written, read_table, write_table
from millstream.state.storage import Storage

Versions = Mapping[str, Written]
"""By table: the file of the version that an epoch reads."""
# A worker process serves many epochs: the last few tables stay open, each with an index.
_OPEN = 8


class TableFiles:
    """The versions of tables in a checkpoint."""

    def __init__(self, storage: Storage, tables: Tables) -> None:
        """Nothing is written yet."""
        self._storage = storage
        self._tables = tables
        self._written: dict[str, int] = {}
        self._committed: dict[str, int] = {}

    def versions(self, names: Iterable[str], known: Versions, sequence: int) -> dict[str, Written]:
        """The versions that a step reads: those `known`, or new files for tables that are new or were read again."""
        out: dict[str, Written] = {}
        for name in names:
            version = self._tables.version(name)
            if name in known and version <= self._written.get(name, 0):
                out[name] = known[name]
                continue
            key = f"tables/{quote(name, safe='')}-{sequence:08d}.arrow"
            out[name] = write_table(self._storage, key, self._tables[name].combine_chunks())
            self._written[name] = version
        return out

    def commit(self) -> None:
        """A manifest names what was written."""
        self._committed = dict(self._written)

    def rewind(self) -> None:
        """Forget what no manifest names: a table that was read again since will be written again."""
        self._written = dict(self._committed)


def give_tables(operator: Operator, storage: Storage, versions: Versions) -> None:
    """Let an operator look into the tables of its epoch, if it is one that does."""
    operator.use(lambda name, keys: _opened(storage, versions[name], keys))


@lru_cache(maxsize=_OPEN)
def _opened(storage: Storage, written: Written, keys: tuple[str, ...]) -> Lookup:
    return Lookup(read_table(storage, written.key), keys)
