"""The manifest: what an epoch left behind, in one file, written last. An epoch is done when its manifest is there.

`sequence` counts the manifests; `epoch` is the source's number. Only the newest few are kept, and the files that
none of them names are garbage.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from millstream.core.errors import StateError
from millstream.state.codec import plain, restore
from millstream.state.files import Written, verify
from millstream.state.long_values import pack, part_key, unpack
from millstream.state.paths import inside
from millstream.state.storage import Storage

FORMAT = 2
"""The version of the state's format; a newer one is refused."""
KEPT = 3
GROUPS = "hash of groups"
"""A layout of state: in the partitions of its groups, by `kernels.partition`, whatever host reads it."""
_FOLDERS = ("state/", "tables/", "handed/")
_MANIFESTS = "manifests/"
_WRONG = (TypeError, KeyError, ValueError, AttributeError)
"""What goes wrong where a manifest has other fields than this engine knows."""
log = logging.getLogger("millstream.state")
Facts = dict[int, dict[str, Any]]
"""What an operator knows besides its segments, by store."""


@dataclass(frozen=True, slots=True)
class SavedSegment:
    """One segment on disk: its tables, the keys it covers, and whose it is."""

    operator: str
    partition: int
    low: int
    high: int
    tables: dict[str, Written]
    part: int = 0
    """Which of the operator's stores it is in, where it has several."""


@dataclass(slots=True, kw_only=True)
class Manifest:
    """Everything that a restart needs to know."""

    sequence: int
    epoch: int
    version: str
    partitions: int
    queries: dict[str, str]
    """Each query's plan as text, for people."""
    states: dict[str, str] = field(default_factory=dict[str, str])
    """What each query's state depends on: a restart with something else is refused."""
    shapes: dict[str, list[bool]] = field(default_factory=dict[str, list[bool]])
    """Of each node of a query, inputs first: is it more than a cut of unread columns? Cuts may come and go."""
    segments: list[SavedSegment] = field(default_factory=list[SavedSegment])
    facts: dict[str, dict[int, Facts]] = field(default_factory=dict[str, dict[int, Facts]])
    """By operator and partition."""
    streams: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """By stream: progress, generator state, position."""
    outputs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What this epoch delivers: staged files and where they go."""
    counters: dict[str, Any] = field(default_factory=dict[str, Any])
    operators: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By query: the names under which its nodes, inputs first, keep state."""
    leases: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """By the name of an aggregate: which part of which store it reads, and since when that has all its rows."""
    stores: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """By store and part: what has been kept there, and since when."""
    joins: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """By store of rows for joins: what has been kept there, and since when."""
    frames: list[str] = field(default_factory=list[str])
    """The streams that Spark reads and keeps the positions of."""
    layout: str = "groups"
    """What decides the partition that state is in. The default is what format 1 had: another hash of groups."""
    tables: dict[str, Written] = field(default_factory=dict[str, Written])
    """By table beside the streams: the version that this epoch read, and the next will."""
    told: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """By operator that holds results back: the progress that its readers have been told of."""

    handed: dict[str, list[Written]] = field(default_factory=dict[str, list[Written]])
    """By stream of late or rejected rows: those that the next epoch reads."""

    feedback: dict[str, Any] = field(default_factory=dict[str, Any])
    """What readers ignore from the next epoch on, and what operators do about it."""

    def files(self) -> Iterator[Written]:
        """Every file that it needs: of state, of tables, of rows that are handed on."""
        for segment in self.segments:
            yield from segment.tables.values()
        yield from self.tables.values()
        for files in self.handed.values():
            yield from files


class Manifests:
    """The manifests of a checkpoint. They name files by their keys in it, so that a checkpoint can be moved."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._named: dict[int, set[str]] = {}
        """By manifest: the files that it needs."""
        self._parts: set[str] = set()
        """The parts of the last manifest, which are there."""

    def sequences(self) -> list[int]:
        """The numbers of the manifests there are, ascending."""
        names = (key.removeprefix(_MANIFESTS) for key in self.storage.list(_MANIFESTS))
        return sorted(int(found[1]) for name in names if (found := re.fullmatch(r"(\d+)\.json", name)))

    def write(self, manifest: Manifest) -> None:
        """Commit: when this returns, the epoch is done."""
        parts: set[str] = set()

        def put(key: str, data: bytes) -> None:
            if key not in self._parts:
                self.storage.put_if_absent(key, data)
            parts.add(key)

        body = json.dumps(pack(plain(_fields_of(manifest)), put))
        digest = hashlib.sha256(body.encode()).hexdigest()
        text = json.dumps({"format": FORMAT, "sha256": digest, "body": body})
        if not self.storage.put_if_absent(_key(manifest.sequence), text.encode()):
            raise StateError(
                f"{self._path(manifest.sequence)} is there already: another driver has committed this epoch",
                hint="Two runs have used this checkpoint at once. Stop one of them, then start the other again.",
            )
        self._parts = parts
        self._named[manifest.sequence] = {written.key for written in manifest.files()} | parts

    def read(self, sequence: int) -> Manifest:
        """One manifest, checked."""
        try:
            fields, parts = self._fields(sequence)
            made = _manifest(restore(fields))
        except _WRONG as error:
            raise self._foreign(sequence, error) from error
        self._named[sequence] = {written.key for written in made.files()} | parts
        return made

    def _fields(self, sequence: int) -> tuple[dict[str, Any], set[str]]:
        """What a manifest says, in plain types, and the keys of its parts."""
        path = self._path(sequence)
        try:
            found = self.storage.get(_key(sequence))
            if found is None:
                raise ValueError("it is gone")
            outer = json.loads(found)
            body, digest, version = str(outer["body"]).encode(), str(outer["sha256"]), int(outer["format"])
        except (ValueError, KeyError, TypeError) as error:
            raise StateError(f"the manifest {path} cannot be read: {error}", hint=self._back(sequence)) from error
        if version > FORMAT:
            raise StateError(
                f"the manifest {path} has format {version}, and this engine knows up to {FORMAT}",
                hint="Use the version of Millstream that wrote it, or a newer one.",
            )
        if hashlib.sha256(body).hexdigest() != digest:
            raise StateError(f"the manifest {path} is corrupt: its checksum does not match", hint=self._back(sequence))
        parts: set[str] = set()
        return unpack(body, lambda key: self._part(key, parts)), parts

    def _foreign(self, sequence: int, error: Exception) -> StateError:
        return StateError(
            f"the manifest {self._path(sequence)} says something that this engine does not understand: {error}",
            hint="It may be of another version of Millstream: use that one. " + self._back(sequence),
        )

    def _part(self, key: str, parts: set[str]) -> bytes:
        """A part of a manifest, which its name is a checksum of."""
        found = self.storage.get(key)
        if found is None or part_key(found) != key:
            raise ValueError(f"its part {key} is missing or was changed")
        parts.add(key)
        return found

    def _needed(self, sequence: int) -> set[str]:
        """The files that a manifest names; nothing else of it is looked at."""
        try:
            fields, parts = self._fields(sequence)
            tables = [table for segment in fields["segments"] for table in segment["tables"].values()]
            tables += fields.get("tables", {}).values()
            tables += (table for handed in fields.get("handed", {}).values() for table in handed)
            return parts | {_file(table).key for table in tables}
        except _WRONG as error:
            raise self._foreign(sequence, error) from error

    def latest(self) -> Manifest | None:
        """The newest manifest, or None in an empty checkpoint."""
        found = self.sequences()
        return self.read(found[-1]) if found else None

    def check(self, manifest: Manifest) -> None:
        """Verify every segment that a manifest names."""
        for written in manifest.files():
            wrong = verify(self.storage, written)
            if wrong:
                raise StateError(
                    f"the segment {self.storage.name(written.key)} {wrong}; epoch {manifest.epoch} needs it",
                    hint=self._back(manifest.sequence),
                )

    def _back(self, before: int) -> str:
        """What to do about a manifest that is of no use."""
        for sequence in reversed([number for number in self.sequences() if number < before]):
            try:
                manifest = self.read(sequence)
            except StateError:
                continue
            if all(verify(self.storage, written) is None for written in manifest.files()):
                return (
                    f"Restore the file; or fall back to epoch {manifest.epoch} ({self._path(sequence)}) by removing "
                    "the manifests after it."
                )
        return "Restore the file; no earlier epoch is whole."

    def collect(self, keep: Iterable[str]) -> list[str]:
        """Forget old manifests and the state files that no kept manifest names; returns the keys that are gone.

        `keep` are files in use beyond what manifests name. Files cut short by a kill go too. Only to be called
        when nobody is writing.
        """
        found = self.sequences()
        named = set(keep)
        for sequence in found[-KEPT:]:
            if sequence not in self._named:
                try:
                    self._named[sequence] = self._needed(sequence)
                except StateError as error:
                    # What an unreadable manifest needs is not known: nothing is removed while it is among those kept.
                    log.warning("nothing is removed from %s: %s", self.storage.name(""), error.fact)
                    return []
            named |= self._named[sequence]
        for sequence in found[:-KEPT]:
            self.storage.delete(_key(sequence))
            self._named.pop(sequence, None)
        removed: list[str] = []
        for folder in _FOLDERS:
            gone = [key for key in self.storage.list(folder) if key not in named]
            for key in gone:
                self.storage.delete(key)
            removed += gone
            self.storage.sweep(folder)
        return removed

    def sweep(self) -> None:
        """Remove the manifests that a kill cut short; to be called when nobody is writing."""
        self.storage.sweep(_MANIFESTS)

    def _path(self, sequence: int) -> str:
        return self.storage.name(_key(sequence))


def _key(sequence: int) -> str:
    return f"{_MANIFESTS}{sequence:08d}.json"


def _fields_of(manifest: Manifest) -> dict[str, Any]:
    """What `_manifest` is given. As `asdict`, which copies every value and so takes far longer."""
    segments = [{**_by_name(one), "tables": _each(one.tables)} for one in manifest.segments]
    handed = {stream: [_by_name(one) for one in files] for stream, files in manifest.handed.items()}
    return {**_by_name(manifest), "segments": segments, "tables": _each(manifest.tables), "handed": handed}


def _each(files: dict[str, Written]) -> dict[str, Any]:
    return {name: _by_name(one) for name, one in files.items()}


def _by_name(one: Manifest | SavedSegment | Written) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}


def _manifest(fields: dict[str, Any]) -> Manifest:
    segments = [_segment(one) for one in fields.pop("segments")]
    tables = {name: _file(one) for name, one in fields.pop("tables", {}).items()}
    handed = {name: [_file(one) for one in files] for name, files in fields.pop("handed", {}).items()}
    return Manifest(**fields, segments=segments, tables=tables, handed=handed)


def _segment(fields: dict[str, Any]) -> SavedSegment:
    tables = {name: _file(one) for name, one in fields.pop("tables").items()}
    return SavedSegment(**fields, tables=tables)


def _file(saved: dict[str, Any]) -> Written:
    key = saved.pop("path", None) or saved.pop("key")  # `path` is what format 1 called it
    if inside(Path(), key) is None:
        raise ValueError(f"it names {key!r}, which is not in the checkpoint")
    return Written(key=key, **saved)
