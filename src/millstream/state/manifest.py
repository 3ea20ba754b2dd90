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
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from millstream.core.errors import StateError
from millstream.state.codec import plain, restore
from millstream.state.files import Written, verify, write_text_once
from millstream.state.paths import inside

FORMAT = 1
"""The version of the state's format; a newer one is refused."""
KEPT = 3
_FOLDERS = ("state", "tables", "handed")
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
    frames: list[str] = field(default_factory=list[str])
    """The streams that Spark reads and keeps the positions of."""
    layout: str = "groups"
    """What decides the partition that state is in; see `spark.reduce`."""
    tables: dict[str, Written] = field(default_factory=dict[str, Written])
    """By table beside the streams: the version that this epoch read, and the next will."""
    told: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """By operator that holds results back: the progress that its readers have been told of."""

    handed: dict[str, list[Written]] = field(default_factory=dict[str, list[Written]])
    """By stream of late or rejected rows: those that the next epoch reads."""

    def files(self) -> Iterator[Written]:
        """Every file that it needs: of state, of tables, of rows that are handed on."""
        for segment in self.segments:
            yield from segment.tables.values()
        yield from self.tables.values()
        for files in self.handed.values():
            yield from files


class Manifests:
    """The manifests of a checkpoint folder. Files are named relative to it, so that the folder can be moved."""

    def __init__(self, folder: Path) -> None:
        self.root = folder
        self.folder = folder / "manifests"
        self._named: dict[int, set[str]] = {}

    def sequences(self) -> list[int]:
        """The numbers of the manifests there are, ascending."""
        return sorted(int(path.stem) for path in self.folder.glob("*.json") if re.fullmatch(r"\d+", path.stem))

    def write(self, manifest: Manifest) -> None:
        """Commit: when this returns, the epoch is done."""
        fields = asdict(manifest)
        named = [written for segment in fields["segments"] for written in segment["tables"].values()]
        named += [*fields["tables"].values(), *(written for files in fields["handed"].values() for written in files)]
        for written in named:
            written["path"] = str(Path(written["path"]).relative_to(self.root))
        body = json.dumps(plain(fields))
        digest = hashlib.sha256(body.encode()).hexdigest()
        text = json.dumps({"format": FORMAT, "sha256": digest, "body": body})
        if not write_text_once(self._path(manifest.sequence), text):
            raise StateError(
                f"{self._path(manifest.sequence)} is there already: another driver has committed this epoch",
                hint="Two runs have used this checkpoint at once. Stop one of them, then start the other again.",
            )
        self._named[manifest.sequence] = {written.path for written in manifest.files()}

    def read(self, sequence: int) -> Manifest:
        """One manifest, checked."""
        path = self._path(sequence)
        try:
            outer = json.loads(path.read_text(encoding="utf-8"))
            body, digest, version = str(outer["body"]), str(outer["sha256"]), int(outer["format"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StateError(f"the manifest {path} cannot be read: {error}", hint=self._back(sequence)) from error
        if version > FORMAT:
            raise StateError(
                f"the manifest {path} has format {version}, and this engine knows up to {FORMAT}",
                hint="Use the version of Millstream that wrote it, or a newer one.",
            )
        if hashlib.sha256(body.encode()).hexdigest() != digest:
            raise StateError(f"the manifest {path} is corrupt: its checksum does not match", hint=self._back(sequence))
        try:
            return _manifest(restore(json.loads(body)), self.root)
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise StateError(
                f"the manifest {path} says something that this engine does not understand: {error}",
                hint="It may be of another version of Millstream: use that one. " + self._back(sequence),
            ) from error

    def latest(self) -> Manifest | None:
        """The newest manifest, or None in an empty checkpoint."""
        found = self.sequences()
        return self.read(found[-1]) if found else None

    def check(self, manifest: Manifest) -> None:
        """Verify every segment that a manifest names."""
        for written in manifest.files():
            wrong = verify(written)
            if wrong:
                raise StateError(
                    f"the segment {written.path} {wrong}; epoch {manifest.epoch} needs it",
                    hint=self._back(manifest.sequence),
                )

    def _back(self, before: int) -> str:
        """What to do about a manifest that is of no use."""
        for sequence in reversed([number for number in self.sequences() if number < before]):
            try:
                manifest = self.read(sequence)
            except StateError:
                continue
            if all(verify(written) is None for written in manifest.files()):
                return (
                    f"Restore the file; or fall back to epoch {manifest.epoch} ({self._path(sequence)}) by removing "
                    "the manifests after it."
                )
        return "Restore the file; no earlier epoch is whole."

    def collect(self, keep: Iterable[Path]) -> list[Path]:
        """Forget old manifests and the state files that no kept manifest names; returns what was removed.

        `keep` are files in use beyond what manifests name. Files cut short by a kill go too. Only to be called
        when nobody is writing.
        """
        found = self.sequences()
        named = {str(path) for path in keep}
        for sequence in found[-KEPT:]:
            if sequence not in self._named:
                try:
                    self._named[sequence] = {written.path for written in self.read(sequence).files()}
                except StateError as error:
                    # What an unreadable manifest needs is not known: nothing is removed while it is among those kept.
                    log.warning("nothing is removed from %s: %s", self.root, error.fact)
                    return []
            named |= self._named[sequence]
        for sequence in found[:-KEPT]:
            self._path(sequence).unlink(missing_ok=True)
            self._named.pop(sequence, None)
        removed: list[Path] = []
        for path in (path for folder in _FOLDERS for path in (self.root / folder).rglob("*")):
            if ".arrow" in path.name and str(path) not in named:
                path.unlink(missing_ok=True)
                removed.append(path)
        return removed

    def sweep(self) -> None:
        """Remove the manifests that a kill cut short; to be called when nobody is writing."""
        for path in self.folder.glob(".*"):
            path.unlink(missing_ok=True)

    def _path(self, sequence: int) -> Path:
        return self.folder / f"{sequence:08d}.json"


def _manifest(fields: dict[str, Any], root: Path) -> Manifest:
    segments = [_segment(one, root) for one in fields.pop("segments")]
    tables = {name: _file(one, root) for name, one in fields.pop("tables", {}).items()}
    handed = {name: [_file(one, root) for one in files] for name, files in fields.pop("handed", {}).items()}
    return Manifest(**fields, segments=segments, tables=tables, handed=handed)


def _segment(fields: dict[str, Any], root: Path) -> SavedSegment:
    tables = {name: _file(one, root) for name, one in fields.pop("tables").items()}
    return SavedSegment(**fields, tables=tables)


def _file(saved: dict[str, Any], root: Path) -> Written:
    written = Written(**saved)
    path = inside(root, written.path)
    if path is None:
        raise ValueError(f"it names {written.path!r}, which is not in the checkpoint")
    return replace(written, path=str(path))
