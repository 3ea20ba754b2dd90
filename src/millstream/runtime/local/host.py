"""The local host: the same operators as anywhere, in this process, on Arrow tables."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from millstream.core.domain import BOTTOM
from millstream.core.feedback import Records
from millstream.core.generator import high_of
from millstream.core.progress import Progress
from millstream.ops.guard import desired_first
from millstream.ops.operator import Meter
from millstream.ops.turn import Let
from millstream.plan import nodes
from millstream.plan.cost import Choice
from millstream.plan.explain import explain
from millstream.plan.lease import LEASING
from millstream.plan.plan import Plan
from millstream.plan.sharing import Sharing
from millstream.runtime.batch import Batch, Sink, Source
from millstream.runtime.changes import Change, Changes
from millstream.runtime.ended_streams import refuse_rows, refuse_start
from millstream.runtime.feedback import FeedbackLoop, Scene
from millstream.runtime.local.arrange import Arranged
from millstream.runtime.local.demanded import demanded
from millstream.runtime.local.epoch import step
from millstream.runtime.local.graph import Graph
from millstream.runtime.no_frames import NoFrames
from millstream.runtime.outcome import Outcome
from millstream.runtime.outputs.folders import claim_folders, finish
from millstream.runtime.outputs.handed import HandedOn, ending
from millstream.runtime.outputs.side import flagged, late_table, rejected_table
from millstream.runtime.punctuate import UserPunctuation, bind_punctuations
from millstream.runtime.query import HostQuery
from millstream.runtime.reports.metrics import Accounts, operator_metrics
from millstream.runtime.reports.report import made, of_stores, of_stream
from millstream.runtime.sources.file_source import FileSource
from millstream.runtime.sources.skipping import Skips
from millstream.runtime.tables import Tables
from millstream.runtime.trigger import AvailableNow, Every, Once, Trigger, wait_until


class LocalHost(NoFrames):
    """Runs queries over sources, an epoch at a time."""

    def __init__(self, sharing: Sharing | None = None) -> None:
        """Nothing to run yet."""
        self.id = uuid.uuid4().hex
        """Tells this host from others, for the folders that it writes to."""
        self.arranged = Arranged(sharing=sharing or Sharing())
        self._accounts = Accounts()
        self.feedback = FeedbackLoop()
        self.changes = Changes()
        self.sources: dict[str, Source] = {}
        self.tables = Tables()
        self.epoch = 0
        self.ended = False
        self.begun = False
        """Is the run past its start?"""
        self._readers: dict[str, Iterator[Batch]] = {}
        self._supplied: dict[str, list[UserPunctuation]] = {}
        self._taken: dict[str, int] = {}
        """By stream: how many of the supplied punctuations the epoch under way has."""

    def supply(self, node: nodes.Source, punctuation: UserPunctuation) -> None:
        """A punctuation from the caller, for the end of the next epoch; a bad one is refused here."""
        vertex = self.graph.vertices.get(id(node))
        seen = vertex.operator.progress[0] if vertex is not None else Progress()
        waiting = self._supplied.setdefault(node.name, [])
        bind_punctuations([*waiting, punctuation], node, seen)
        waiting.append(punctuation)

    def add(self, queries: Sequence[HostQuery], sources: Mapping[str, Source]) -> None:
        """Run these queries too, from the next epoch on."""
        self.sources.update(sources)
        self.arranged = self.arranged.changed({query.name: query for query in queries}, (), fresh=not self.epoch)

    def change(self, change: Change) -> None:
        """Run other queries, and heed other feedback; what nobody needs any more is forgotten."""
        if change.add or change.remove:
            self._change_queries(change)
        self.feedback.heed(change, self.queries, self.epoch)
        self._guard()

    def _change_queries(self, change: Change) -> None:
        gone = [name for name in change.remove if name in self.queries]
        kept = {name: query for name, query in self.queries.items() if name not in gone}
        if self.begun:
            claim_folders([*kept.values(), *change.add], {**self.sources, **change.sources}, self.id)
        new = {query.name: query for query in change.add}
        self.arranged = self.arranged.changed(new, gone, fresh=not self.epoch, short=self.feedback.heeded)
        self.sources.update(change.sources)
        read = {node.name for query in self.queries.values() for node in nodes.sources(query.node)}
        for name in self.sources.keys() - read:
            del self.sources[name]
            self._readers.pop(name, None)

    def apply_changes(self) -> None:
        """Queries come and go between two epochs."""
        self.changes.apply(self.change)

    def _hear(self) -> None:
        """An epoch is over: operators may have found out what they ignore, and feedback may have done its work."""
        news = self.feedback.hear(*self.graph.found(self.arranged.name), self.graph.doomed(self.arranged.name))
        if (self.feedback and self.feedback.expire(self._scene(), self.epoch)) or news:
            self._guard()

    def _guard(self) -> None:
        """Have operators leave out what readers ignore now."""
        if self.feedback or self.feedback.guarded:
            self.feedback.settle(self._scene())
            self.graph.guard(self.feedback.guards)

    def _scene(self) -> Scene:
        entrances = {
            vertex.node.name: one for vertex, one in self.graph.ingests() if isinstance(vertex.node, nodes.Source)
        }
        return Scene(
            roots={name: query.node for name, query in self.queries.items()},
            name=self.arranged.name,
            promised=lambda node: self.graph.at(node).told,
            high=lambda source: high_of(entrances[source.name].store.facts.get("generator", {})),
        )

    def complete_from(self, name: str) -> list[tuple[nodes.Node, int | None]]:
        """The aggregates and joins of a query that read stores, and the tick from which each is complete."""
        found = (node for node in nodes.walk(self.arranged.plain[name]) if isinstance(node, LEASING))
        return [(node, lease.complete) for node in found if (lease := self.arranged.leases.get(id(node))) is not None]

    @property
    def graph(self) -> Graph:
        """The operators at work."""
        return self.arranged.graph

    @property
    def queries(self) -> Mapping[str, HostQuery]:
        """Those that run, by name."""
        return self.arranged.queries

    def plan(self, asked: Mapping[str, nodes.Node]) -> Plan:
        """How queries would run beside those that do already."""
        return self.arranged.shared_with(asked, fresh=not self.epoch).plan

    def explain(self, asked: Mapping[str, nodes.Node], sources: Mapping[str, Source], *, unbounded: bool) -> str:
        """How queries run, or would. Whatever the sources, kernels take the rows in."""
        plan = self.plan(asked)
        return explain(plan, list(asked), choice_of=self.choice_of, place_of=lambda _: "kernel", unbounded=unbounded)

    def run(
        self,
        trigger: Trigger,
        *,
        end_of_stream: bool,
        stopping: Callable[[], bool],
        report: Callable[[dict[str, Any]], None],
        quiet: Callable[[float], None],
    ) -> None:
        """Take epochs as the trigger says, until done or told to stop."""
        self.begun = False
        refuse_start(self._known(), end_of_stream=end_of_stream)
        claim_folders(self.queries.values(), self.sources, self.id)
        self.begun = True
        self._take_epochs(trigger, end_of_stream, stopping, report, quiet)
        finish(self.queries.values())

    def _take_epochs(
        self,
        trigger: Trigger,
        end_of_stream: bool,  # noqa: FBT001 - as in `run`
        stopping: Callable[[], bool],
        report: Callable[[dict[str, Any]], None],
        quiet: Callable[[float], None],
    ) -> None:
        self._readers = {}
        match trigger:
            case Once():
                self._epoch(self._next(), report)
            case AvailableNow():
                self.apply_changes()
                while not stopping() and (batches := self._next()):
                    self._epoch(batches, report)
                    self.apply_changes()
            case Every(seconds):
                while not stopping():
                    began = time.monotonic()
                    self.apply_changes()
                    batches = self._next(again=True)
                    self._epoch(batches, report)
                    if not batches:
                        quiet(began)
                    wait_until(began + seconds, stopping, self.changes, self.apply_changes)
        if stopping() or self.ended:
            return
        if end_of_stream:
            self._end(report)
        elif isinstance(trigger, AvailableNow) and self.graph.holds:
            self._epoch({}, report, let="all")  # nobody knows when the next run is

    def _end(self, report: Callable[[dict[str, Any]], None]) -> None:
        """End every stream; one of rows that were set apart, after it has read what the others' end set apart."""
        for names in ending(self.queries.values(), self._known()):
            handed = {name: source for name in names if isinstance(source := self.sources[name], HandedOn)}
            waiting = {name: batch for name, source in handed.items() if (batch := next(source, None)) is not None}
            if waiting:
                self._epoch(waiting, report)
            self._epoch({}, report, end=names)
        self.ended = True

    def read_all(self, timeout: float | None) -> bool:
        """Nobody else reads for this host."""
        return True

    def so_far(self) -> dict[str, Any] | None:
        """The report of the last epoch, of earlier runs too."""
        return self.progress(0, {}, self.epoch - 1) if self.epoch else None

    def _next(self, *, again: bool = False) -> dict[str, Batch]:
        """The next batch of each source that has one, with what the caller supplied.

        One that has none is asked no more in this run, or `again` the next time, whatever others have meanwhile.
        """
        out: dict[str, Batch] = {}
        self._taken = {}
        self._skip()
        for name, source in self.sources.items():
            if name not in self._readers:
                self._readers[name] = source.batches()
            batch = next(self._readers[name], None)
            if batch is None and again:
                del self._readers[name]
            # It stays where it is until the epoch is over: the caller may add to it meanwhile.
            given = list(self._supplied.get(name, ()))
            self._taken[name] = len(given)
            if given:
                rows = source.schema.empty_table() if batch is None else batch.rows
                bad = () if batch is None else batch.unreadable
                more = () if batch is None else batch.punctuations
                batch = Batch(rows, bad, [*more, *given], None if batch is None else batch.unread)
            if batch is not None:
                out[name] = batch
        return out

    def _skip(self) -> None:
        """Have files tell what need not be read of them."""
        for vertex, ingest in self.graph.ingests():
            assert isinstance(vertex.node, nodes.Source)
            source = self.sources.get(vertex.node.name)
            if isinstance(source, FileSource):
                source.skips = Skips.of(vertex.node, ingest.guards, ingest.progress[0])

    def _epoch(
        self,
        batches: dict[str, Batch],
        report: Callable[[dict[str, Any]], None],
        *,
        end: Collection[str] = (),
        let: Let = "share",
    ) -> None:
        began = time.monotonic()
        refuse_rows(self._known(), {name: batch.rows.num_rows for name, batch in batches.items()})
        for vertex in self.graph.vertices.values():
            vertex.operator.use(self.tables.find)
        outcome = step(self.graph, batches, end=end, let=let)
        for name, taken in self._taken.items():
            del self._supplied.get(name, [])[:taken]
        self._taken = {}
        stepped = time.monotonic()
        for query in self.queries.values():
            self._deliver(query, outcome)
        if self.feedback.sent and (asked := self.feedback.demands()):
            self._answer(asked)
        durations = {"step": stepped - began, "deliver": time.monotonic() - stepped}
        rows = sum(batch.rows.num_rows + len(batch.unreadable) for batch in batches.values())
        told = self.progress(rows, durations, self.epoch)
        self.epoch += 1  # what the one who is told may raise does not undo the epoch
        self._hear()
        report(told)

    def _deliver(self, query: HostQuery, outcome: Outcome) -> None:
        tables = outcome.rows.get(id(query.node), [])
        if tables:
            rows = desired_first(pa.concat_tables(tables), self.graph.at(query.node).operator.guards)
            query.rows_out += rows.num_rows
            _write(query.sinks, rows, self.epoch)
            if query.finals:
                _write(query.partial, flagged(rows, self.epoch, final=True), self.epoch)
        late = late_table(query.node, outcome, self.epoch)
        if late is not None:
            _write(query.late, late, self.epoch)
        rejected = rejected_table(query.node, outcome, self.epoch)
        if rejected is not None:
            _write(query.rejected, rejected, self.epoch)

    def _answer(self, asked: Mapping[str, Records]) -> None:
        """Deliver what is demanded, partial as it is."""
        queries = [self.queries[name] for name in asked]
        records = {id(query.node): asked[query.name] for query in queries}
        found = demanded(self.graph, records, {id(query.node): query.node for query in queries})
        for query in queries:
            _write(query.partial, flagged(found[id(query.node)], self.epoch, final=False), self.epoch)

    def _known(self) -> dict[str, Progress]:
        """By stream: what it has promised so far."""
        return {vertex.node.name: ingest.progress[0] for vertex, ingest in self.graph.ingests()}  # type: ignore[union-attr]  # a source

    def choice_of(self, node: nodes.Node) -> Choice | None:
        """The strategy chosen for a node, once it is."""
        vertex = self.graph.vertices.get(id(node))
        return None if vertex is None else vertex.choice

    def progress(self, input_rows: int, durations: dict[str, float], epoch: int) -> dict[str, Any]:
        """One report of an epoch; `durations` in seconds."""
        streams = {}
        for vertex, ingest in self.graph.ingests():
            node = vertex.node
            assert isinstance(node, nodes.Source)
            attribute = None if node.progress is None else node.progress.attribute
            bound = BOTTOM if attribute is None else ingest.progress[0].bound(attribute)
            high = ingest.store.facts.get("generator", {}).get("high", BOTTOM)
            streams[node.name] = of_stream(node, ingest.meter, bound, high)
        queries = {}
        measured = {key: operator_metrics(vertex) for key, vertex in self.graph.vertices.items()}
        held = list(self._accounts.of(query.node for query in self.queries.values()))
        for query, books in zip(self.queries.values(), held, strict=True):
            queries[query.name] = {
                "rows_out": query.rows_out,
                "books": books.settle(self._meter, partial(self._before, query) if query.since else None),
                "operators": [measured[id(node)] for node in books.nodes],
                "feedback": self.feedback.report(query.name),
            }
        everything = {name: books.nodes for name, books in zip(self.queries, held, strict=True)}
        shared = of_stores(everything, lambda node: measured[id(node)])
        return made(epoch, epoch, input_rows, durations, streams, queries, shared)

    def _meter(self, node: nodes.Node) -> Meter:
        return self.graph.at(node).operator.meter

    def _before(self, query: HostQuery, node: nodes.Node) -> Meter | None:
        """What a node had done when a query came."""
        return query.since.get(self.arranged.name(node))


def _write(sinks: list[Sink], rows: pa.Table, epoch: int) -> None:
    if rows.num_rows:
        for sink in sinks:
            sink.write(rows, epoch)
