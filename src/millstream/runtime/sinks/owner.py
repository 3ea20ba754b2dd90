"""Who writes to a folder: a file in it names the checkpoint and the query, so that no other run mixes in its own."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from millstream.core.errors import SinkError
from millstream.state.storage import Storage

MARKER = "_millstream"
"""Readers of folders pass over names that begin with an underscore."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One output of one query of one checkpoint; on the local host an engine is its own checkpoint."""

    checkpoint: str
    query: str
    output: str
    formerly: str | None = None
    """The name that the query had, if this start gave it another."""

    def is_(self, writer: dict[str, Any]) -> bool:
        """Did this owner write as `writer`?"""
        names = (self.query, self.formerly) if self.formerly else (self.query,)
        same = writer["checkpoint"] == self.checkpoint and writer["output"] == self.output
        return same and writer["query"] in names


def shown(output: str) -> str:
    """An output, as errors name it.

    >>> shown("results"), shown("late")
    ('the results', 'the late rows')
    """
    return f"the {output}" if output == "results" else f"the {output} rows"


def claim(folder: Storage, owner: Owner, mode: str) -> str:
    """Make a folder the owner's, if it may be; returns what its files begin with, to be told from others'."""
    writers = writers_of(folder)
    for number, writer in enumerate(writers):
        if owner.is_(writer):
            if writer["query"] != owner.query:
                writers[number] = _writer(owner)
                _mark(folder, writers)
            return _prefix(number, owner)
    if not writers and not _strangers(folder):
        _mark(folder, [_writer(owner)])
        return ""
    if mode == "replace":
        _clear(folder)
        _mark(folder, [_writer(owner)])
        return ""
    if mode == "append":
        # Files that nobody signed may have any name; ours must be told from them.
        writers = writers or [{"checkpoint": "", "query": "", "output": ""}]
        _mark(folder, [*writers, _writer(owner)])
        return _prefix(len(writers), owner)
    raise SinkError(
        f'"{folder.name("").rstrip("/")}" has {_whose(writers, owner)}; {owner.query!r} would mix its own into them',
        hint='Choose another folder, or say what to do: to_parquet(path, mode="append") or mode="replace"; in SQL, '
        "INSERT OVERWRITE … replaces.",
    )


def writers_of(folder: Storage) -> list[dict[str, Any]]:
    """Who has written to a folder, in order; nobody where no file says so."""
    marker = folder.get(MARKER)
    if marker is None:
        return []
    try:
        found = json.loads(marker)["writers"]
        return [{name: str(one[name]) for name in ("checkpoint", "query", "output")} for one in found]
    except (ValueError, KeyError, TypeError) as error:
        raise SinkError(
            f'"{folder.name(MARKER)}" cannot be read: {error}',
            hint="Restore it, or clear the folder: it says whose results these are.",
        ) from error


def owns(folder: Storage, checkpoint: str) -> bool:
    """Has this checkpoint written to the folder?"""
    return any(writer["checkpoint"] == checkpoint for writer in writers_of(folder))


def _writer(owner: Owner) -> dict[str, Any]:
    fields = asdict(owner)
    del fields["formerly"]
    return fields


def _prefix(number: int, owner: Owner) -> str:
    return f"{owner.checkpoint[:8]}-{number}-" if number else ""


def _mark(folder: Storage, writers: list[dict[str, Any]]) -> None:
    folder.put(MARKER, json.dumps({"format": 1, "writers": writers}, indent=1).encode())


def _strangers(folder: Storage) -> bool:
    """Are there files that a reader of the folder would take for results?"""
    return any(not key.split("/")[0].startswith((".", "_")) for key in folder.list())


def _clear(folder: Storage) -> None:
    """Remove the files that a sink has written."""
    for key in folder.list():
        name = key.rsplit("/", 1)[-1]
        if name.startswith("part-") or (name.startswith(".part-") and name.endswith(".tmp")):
            folder.delete(key)


def _whose(writers: list[dict[str, Any]], owner: Owner) -> str:
    if not writers:
        return "files that no query here has written"
    last = writers[-1]
    whose = f"{shown(last['output'])} of the query {last['query']!r}"
    return whose if last["checkpoint"] == owner.checkpoint else f"{whose} from another run or checkpoint"
