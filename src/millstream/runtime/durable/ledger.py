"""The ledger: what a distributed run knows between epochs, and how it is kept in manifests.

Progress has two ages. What the rows of an epoch showed is `known` when the epoch ends; operators learn it with
the next epoch's rows, or at once if the engine has nothing else to do. `advanced` is what they have learnt.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from millstream.core.domain import BOTTOM
from millstream.core.errors import RunError, StateError
from millstream.core.generator import Seen
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from millstream.ops.operator import Meter
from millstream.plan import nodes
from millstream.plan.lease import Lease
from millstream.runtime.durable.migrate import shape
from millstream.runtime.leases import Kept, KeptPart, kept_from
from millstream.runtime.plain_progress import pattern_from, progress_from, progress_plain
from millstream.runtime.punctuate import UserPunctuation, bind_one
from millstream.runtime.sharing.join_leases import KeptJoin, KeptJoins, joins_from
from millstream.runtime.tasks.parcel import Report
from millstream.runtime.tasks.program import Program, plan_text
from millstream.runtime.tasks.route import spread
from millstream.state.files import Written
from millstream.state.manifest import GROUPS, Facts, Manifest, SavedSegment

log = logging.getLogger("millstream.runtime")
GAUGES = ("open_windows", "peak_rows", "peak_bytes")


@dataclass(slots=True)
class StreamLedger:
    """One stream: its generator's state and its two progresses."""

    known: Progress = field(default_factory=Progress)
    advanced: Progress = field(default_factory=Progress)
    generator: dict[str, Any] = field(default_factory=dict[str, Any])
    position: dict[str, Any] | None = None


@dataclass(slots=True)
class Ledger:
    """Streams, segments, facts and meters, as of the last committed epoch."""

    sequence: int = -1
    epoch: int = -1
    streams: dict[str, StreamLedger] = field(default_factory=dict[str, StreamLedger])
    segments: list[SavedSegment] = field(default_factory=list[SavedSegment])
    facts: dict[str, dict[int, Facts]] = field(default_factory=dict[str, dict[int, Facts]])
    meters: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """By node key."""
    rows_out: dict[str, int] = field(default_factory=dict[str, int])
    operators: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """By query: the keys of its nodes, inputs first."""
    frames: list[str] = field(default_factory=list[str])
    """The streams that Spark reads, in the order in which its own checkpoint has them."""
    layout: str = GROUPS
    """What decides the partition that state is in: its groups, or what the host says."""
    tables: dict[str, Written] = field(default_factory=dict[str, Written])
    """By table beside the streams: the version that the last epoch read."""
    told: dict[str, Progress] = field(default_factory=dict[str, Progress])
    """By node key, of nodes that hold results back: how far they had come for their readers."""
    since: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict[str, dict[str, dict[str, int]]])
    """By query and node key: what a node that others had run before had done when the query came."""

    handed: dict[str, list[Written]] = field(default_factory=dict[str, list[Written]])
    """By stream of late or rejected rows: those that wait for the next epoch."""
    leases: dict[str, Lease] = field(default_factory=dict[str, Lease])
    """By the key of an aggregate or a join: what it reads of a store."""
    kept: Kept = field(default_factory=dict["str", "dict[int, KeptPart]"])
    """By store: what its parts have kept."""
    joins: KeptJoins = field(default_factory=dict["str", "KeptJoin"])
    """By store: what rows of joins have been kept."""
    feedback: dict[str, Any] = field(default_factory=dict[str, Any])
    """What readers ignore, as `runtime.feedback` has it."""

    def absorb(self, program: Program, reports: Sequence[Report]) -> None:
        """Take what the tasks of an epoch reported."""
        self._check_complete(program, reports)
        self.segments = []
        self.facts = {}
        gauges: dict[str, int] = {}
        for report in reports:
            for one in report.segments:
                tables = {name: Written(**written) for name, written in one["tables"].items()}
                self.segments.append(SavedSegment(**{**one, "tables": tables}))
            for one in report.facts:
                if not one["facts"]:
                    continue
                self.facts.setdefault(one["operator"], {})[one["partition"]] = one["facts"]
            for i, meter in report.meters.items():
                key = program.keys[i]
                mine = self.meters.setdefault(key, {})
                for name, value in meter.items():
                    if name not in GAUGES:
                        mine[name] = mine.get(name, 0) + value
                gauges[key] = max(gauges.get(key, 0), meter.get("open_windows", 0))
            for one in report.staged:
                if one["sink"] == "handed":
                    self.handed.setdefault(one["stream"], []).append(Written(**one["file"]))
            for query, rows in report.rows.items():
                self.rows_out[query] = self.rows_out.get(query, 0) + rows
        for key, number in gauges.items():
            self.meters.setdefault(key, {})["open_windows"] = number
        sizes = self.sizes()
        for i, _ in program.stops():
            key = program.keys[i]
            mine = self.meters.setdefault(key, {})
            rows, size = sizes.get(key, (0, 0))
            mine["open_windows"] = gauges.get(key, 0)
            mine["peak_rows"] = max(mine.get("peak_rows", 0), rows)
            mine["peak_bytes"] = max(mine.get("peak_bytes", 0), size)

    def forget(self, program: Program) -> None:
        """Drop the figures and the state of queries that are gone: one that comes again begins anew."""
        self.segments = [one for one in self.segments if self._read(program, one.operator, one.part)]
        self.facts = {
            key: {
                at: {i: one for i, one in parts.items() if self._read(program, key, i)} for at, parts in found.items()
            }
            for key, found in self.facts.items()
            if key in program.keys
        }
        self.meters = {key: meter for key, meter in self.meters.items() if key in program.keys}
        self.rows_out = {name: rows for name, rows in self.rows_out.items() if name in self.operators}
        self.told = {key: progress for key, progress in self.told.items() if key in program.keys}
        self.since = {name: before for name, before in self.since.items() if name in self.operators}
        read = {node.name for node in program.nodes if isinstance(node, nodes.Source)}
        for stream in self.handed.keys() - read:
            rows = sum(written.rows for written in self.handed.pop(stream))
            log.warning("%d rows that waited in the stream %r are dropped: no query reads it now", rows, stream)

    def _read(self, program: Program, key: str, part: int) -> bool:
        """Does some query of the program read this part of an operator's state?"""
        return key in program.keys and (key not in self.kept or part in self.kept[key])

    def welcome(self, operators: Mapping[str, Sequence[str]], run: Mapping[str, Sequence[str]] | None = None) -> None:
        """Take the queries that run from now on, with the keys of their nodes, and of the nodes that `run` for them."""
        for query in operators:
            if query not in self.operators:
                keys = (run or operators)[query]
                self.since[query] = {key: dict(self.meters[key]) for key in keys if key in self.meters}
        self.operators = {query: list(keys) for query, keys in operators.items()}

    def rename(self, formerly: Mapping[str, str]) -> None:
        """Go on with queries under the names that they have now."""
        names = {old: now for now, old in formerly.items()}
        self.rows_out = {names.get(query, query): rows for query, rows in self.rows_out.items()}
        self.operators = {names.get(query, query): keys for query, keys in self.operators.items()}
        self.since = {names.get(query, query): before for query, before in self.since.items()}

    def before(self, query: str, key: str) -> Meter | None:
        """What a node had done before a query came."""
        return _meter(self.since[query][key]) if key in self.since.get(query, {}) else None

    def _check_complete(self, program: Program, reports: Sequence[Report]) -> None:
        """A partition that did not run has not said what its state is now: that must never pass for no state."""
        ran = {(one["operator"], one["partition"]) for report in reports for one in report.facts}
        for i, node in program.stops():
            for partition in range(program.partitions if spread(node) else 1):
                if (program.keys[i], partition) not in ran:
                    raise RunError(
                        f"partition {partition} of {program.partitions} was left out",
                        hint="The epoch is not committed. Please report this, with Spark's version and settings.",
                    )

    def learn(
        self, source: nodes.Source, reports: Sequence[Report], supplied: Sequence[Punctuation], now: int | None
    ) -> None:
        """What an epoch's rows showed of a stream, and what that promises."""
        mine = self.streams.setdefault(source.name, StreamLedger())
        shown = [one for report in reports for one in report.seen if one["stream"] == source.name]
        shown.sort(key=lambda one: one["at"])
        marked = [UserPunctuation(pattern_from(one["marked"])) for one in shown if "marked" in one]
        given = (*(bind_one(one, source) for one in marked), *supplied)
        known = mine.known.copy()
        if source.progress is None:
            promises = list(given)
        else:
            tail = source.progress.tail
            seen = merge_seen([_seen(one) for one in shown if "marked" not in one], tail)
            seen = Seen(**{**_fields(seen), "supplied": given})
            mine.generator, promises = source.progress.step(mine.generator, seen, now)
        for promise in promises:
            known.accept(promise)
        mine.known = known

    def sizes(self) -> dict[str, tuple[int, int]]:
        """By operator that keeps any: the rows and bytes of it, over all partitions."""
        found: dict[str, tuple[int, int]] = {}
        for segment in self.segments:
            rows, size = found.get(segment.operator, (0, 0))
            tables = segment.tables.values()
            found[segment.operator] = rows + sum(w.rows for w in tables), size + sum(w.length for w in tables)
        return found

    def meter(self, key: str) -> Meter:
        """An operator's meter."""
        return _meter(self.meters.get(key, {}))

    def manifest(self, program: Program, version: str, outputs: list[dict[str, Any]]) -> Manifest:
        """Everything, to be written."""
        streams = {
            name: {
                "known": progress_plain(one.known),
                "advanced": progress_plain(one.advanced),
                "generator": one.generator,
                "position": one.position,
            }
            for name, one in self.streams.items()
        }
        return Manifest(
            sequence=self.sequence,
            epoch=self.epoch,
            version=version,
            partitions=program.partitions,
            queries=program.texts,
            states=program.state_texts,
            shapes={target.name: shape(target.alone) for target in program.targets},
            leases={key: asdict(lease) for key, lease in self.leases.items()},
            stores={store: {str(i): one.plain() for i, one in parts.items()} for store, parts in self.kept.items()},
            joins={store: one.plain() for store, one in self.joins.items()},
            segments=self.segments,
            facts=self.facts,
            streams=streams,
            outputs=outputs,
            counters={"meters": self.meters, "rows_out": self.rows_out, "since": self.since},
            operators=self.operators,
            frames=self.frames,
            layout=self.layout,
            tables=self.tables,
            told={key: progress_plain(progress) for key, progress in self.told.items()},
            handed=self.handed,
            feedback=self.feedback,
        )

    @classmethod
    def of(cls, manifest: Manifest) -> Ledger:
        """As a manifest has it."""
        streams = {
            name: StreamLedger(
                progress_from(one["known"]), progress_from(one["advanced"]), one["generator"], one["position"]
            )
            for name, one in manifest.streams.items()
        }
        counters = manifest.counters
        return cls(
            manifest.sequence,
            manifest.epoch,
            streams,
            manifest.segments,
            manifest.facts,
            counters["meters"],
            counters["rows_out"],
            manifest.operators,
            manifest.frames,
            manifest.layout,
            manifest.tables,
            {key: progress_from(one) for key, one in manifest.told.items()},
            counters.get("since", {}),
            manifest.handed,
            {key: Lease(**one) for key, one in manifest.leases.items()},
            kept_from(manifest.stores),
            joins_from(manifest.joins),
            manifest.feedback,
        )


def name_nodes(program: Program, known: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Name the program's nodes for the state they keep; returns the names by query, inputs first.

    A node of a query that is `known` keeps the name it had, whatever queries come and go beside it. A new one is
    named after its query: two that look the same keep their state apart.
    """
    keys = [""] * len(program.nodes)
    walks = {t.name: [program.index[id(node)] for node in nodes.walk(t.node)] for t in program.targets}
    owner: dict[str, int] = {}
    for query, walk in walks.items():
        for i, key in zip(walk, known.get(query, ()), strict=False):
            if not key:
                continue
            if owner.setdefault(key, i) != i:
                raise StateError(
                    f"in this checkpoint, the query {query!r} shares an operator with another query; now it does not",
                    hint="Build both on the same stream or query again, or give one of them another name.",
                )
            keys[i] = keys[i] or key
    for query, walk in walks.items():
        for place, i in enumerate(walk):
            text = f"{query} {place}\n{plan_text(program.nodes[i])}"
            while not keys[i]:
                key = hashlib.sha1(text.encode()).hexdigest()[:12]
                keys[i] = key if owner.setdefault(key, i) == i else ""
                text += "'"
    program.keys = keys
    return {query: [keys[i] for i in walk] for query, walk in walks.items()}


def _meter(figures: Mapping[str, int]) -> Meter:
    return Meter(**{name: value for name, value in figures.items() if name in Meter.__slots__})


def merge_seen(parts: Sequence[Seen], tail: int) -> Seen:
    """What several tasks saw, one after another, as one."""
    out = Seen()
    for one in parts:
        ticks = (*out.tail, *one.tail)
        dropped, kept = (ticks[:-tail], ticks[-tail:]) if tail else ((), ())
        groups = dict(out.groups)
        for key, seen in one.groups.items():
            groups[key] = merge_seen([groups[key], seen], tail) if key in groups else seen
        out = Seen(
            rows=out.rows + one.rows,
            high=max(out.high, one.high),
            high_before_tail=max([out.high_before_tail, one.high_before_tail, BOTTOM, *dropped]),
            tail=tuple(kept),
            groups=groups,
        )
    return out


def _seen(shown: Mapping[str, Any]) -> Seen:
    groups = {key: Seen(**{**one, "supplied": ()}) for key, one in shown["groups"].items()}
    return Seen(
        rows=shown["rows"],
        high=shown["high"],
        high_before_tail=shown["high_before_tail"],
        tail=tuple(shown["tail"]),
        groups=groups,
    )


def _fields(seen: Seen) -> dict[str, Any]:
    return {one.name: getattr(seen, one.name) for one in fields(Seen)}
