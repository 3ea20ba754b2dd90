"""The manifest: what an epoch left behind, in one file, written last. An epoch is done when its manifest is there.

`sequence` counts the manifests; `epoch` is the source's number. Only the newest few are kept, and the files that
none of them names are garbage.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from millstream.core.errors import StateError
from millstream.state.codec import plain, restore
from millstream.state.files import Written, verify, write_text

FORMAT = 1
"""The version of the state's format; a newer one is refused."""
KEPT = 3


@dataclass(frozen=True, slots=True)
class SavedSegment:
    """One segment on disk: its tables, the keys it covers, and whose it is."""

    operator: str
    partition: int
    low: int
    high: int
    tables: dict[str, Written]


@dataclass(slots=True, kw_only=True)
class Manifest:
    """Everything that a restart needs to know."""

    sequence: int
    epoch: int
    version: str
    partitions: int
    queries: dict[str, str]
    """Each query's plan as text: a restart with another plan is refused."""
    segments: list[SavedSegment] = field(default_factory=list[SavedSegment])
    facts: dict[str, dict[int, dict[str, Any]]] = field(default_factory=dict[str, dict[int, dict[str, Any]]])
    """By operator and partition."""
    streams: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """By stream: progress, generator state, position."""
    outputs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What this epoch delivers: staged files and where they go."""
    counters: dict[str, Any] = field(default_factory=dict[str, Any])


class Manifests:
    """The manifests of a checkpoint folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "manifests"

    def sequences(self) -> list[int]:
        """The numbers of the manifests there are, ascending."""
        return sorted(int(path.stem) for path in self.folder.glob("[0-9]*.json"))

    def write(self, manifest: Manifest) -> None:
        """Commit: when this returns, the epoch is done."""
        body = json.dumps(plain(asdict(manifest)))
        digest = hashlib.sha256(body.encode()).hexdigest()
        write_text(self._path(manifest.sequence), json.dumps({"format": FORMAT, "sha256": digest, "body": body}))

    def read(self, sequence: int) -> Manifest:
        """One manifest, checked."""
        path = self._path(sequence)
        earlier = [number for number in self.sequences() if number < sequence]
        back = (
            f"Fall back to manifest {earlier[-1]} ({self._path(earlier[-1])})." if earlier else "There is none before."
        )
        try:
            outer = json.loads(path.read_text(encoding="utf-8"))
            body, digest, version = outer["body"], outer["sha256"], outer["format"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise StateError(f"the manifest {path} cannot be read: {error}", hint=back) from error
        if version > FORMAT:
            raise StateError(
                f"the manifest {path} has format {version}, and this engine knows up to {FORMAT}",
                hint="Use the version of Millstream that wrote it, or a newer one.",
            )
        if hashlib.sha256(body.encode()).hexdigest() != digest:
            raise StateError(f"the manifest {path} is corrupt: its checksum does not match", hint=back)
        return _manifest(restore(json.loads(body)))

    def latest(self) -> Manifest | None:
        """The newest manifest, or None in an empty checkpoint."""
        found = self.sequences()
        return self.read(found[-1]) if found else None

    def check(self, manifest: Manifest) -> None:
        """Verify every segment that a manifest names."""
        for segment in manifest.segments:
            for written in segment.tables.values():
                wrong = verify(written)
                if wrong:
                    good = self._last_good(manifest.sequence)
                    raise StateError(
                        f"the segment {written.path} {wrong}; epoch {manifest.epoch} needs it",
                        hint="Restore the file. " + good,
                    )

    def _last_good(self, before: int) -> str:
        for sequence in reversed([number for number in self.sequences() if number < before]):
            try:
                manifest = self.read(sequence)
            except StateError:
                continue
            if all(verify(w) is None for segment in manifest.segments for w in segment.tables.values()):
                return f"The last whole epoch is {manifest.epoch} ({self._path(sequence)})."
        return "No earlier epoch is whole."

    def collect(self, keep: Iterable[Path]) -> list[Path]:
        """Forget old manifests and the state files that no kept manifest names; returns what was removed.

        `keep` are files in use beyond what manifests name.
        """
        found = self.sequences()
        for sequence in found[:-KEPT]:
            self._path(sequence).unlink(missing_ok=True)
        named = {str(path) for path in keep}
        for sequence in found[-KEPT:]:
            named |= {w.path for s in self.read(sequence).segments for w in s.tables.values()}
        removed: list[Path] = []
        for path in (self.folder.parent / "state").rglob("*.arrow"):
            if str(path) not in named:
                path.unlink(missing_ok=True)
                removed.append(path)
        return removed

    def _path(self, sequence: int) -> Path:
        return self.folder / f"{sequence:08d}.json"


def _manifest(fields: dict[str, Any]) -> Manifest:
    segments = [_segment(one) for one in fields.pop("segments")]
    return Manifest(**fields, segments=segments)


def _segment(fields: dict[str, Any]) -> SavedSegment:
    tables = {name: Written(**written) for name, written in fields.pop("tables").items()}
    return SavedSegment(**fields, tables=tables)
