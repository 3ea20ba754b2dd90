"""The durable host: an epoch is a step of tasks, its state is segments in a checkpoint, its end is a manifest.

An epoch that has a manifest is done. One that has none starts from the manifest before it; whatever a broken
attempt left is overwritten, because names are a function of (operator, partition, sequence).

This host runs its tasks in its own process. The host on Spark is this one with other jobs and with data frames as
sources.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from millstream.core.errors import MillstreamError, RunError
from millstream.core.progress import Progress
from millstream.ops.turn import Let
from millstream.plan import nodes
from millstream.plan.explain import explain
from millstream.plan.optimize import optimize
from millstream.plan.plan import Plan
from millstream.plan.rewrite.share_state import share_state
from millstream.plan.sharing import Sharing
from millstream.runtime.batch import Batch
from millstream.runtime.changes import Changes
from millstream.runtime.control import Listener
from millstream.runtime.durable.arrange import arrange, plain_program
from millstream.runtime.durable.changing import Changing
from millstream.runtime.durable.deliver import deliver, tidy
from millstream.runtime.durable.drain import drain_query
from millstream.runtime.durable.drive import Drive
from millstream.runtime.durable.ending import end_streams
from millstream.runtime.durable.epoch_report import progress_report, rows_by_stream
from millstream.runtime.durable.heeding import demanded, guards_in_force
from millstream.runtime.durable.jobs import Arrivals, Jobs, LocalJobs
from millstream.runtime.durable.lay_out import lay_out
from millstream.runtime.durable.ledger import Ledger, StreamLedger
from millstream.runtime.durable.migrate import held_by, renamed
from millstream.runtime.durable.rewind import rewind
from millstream.runtime.durable.stops import Stops
from millstream.runtime.ended_streams import refuse_rows, refuse_start
from millstream.runtime.local.epoch import now_of
from millstream.runtime.no_frames import NoFrames
from millstream.runtime.outputs.folders import claim_folders, finish, folders
from millstream.runtime.punctuate import UserPunctuation, bind_punctuations
from millstream.runtime.query import HostQuery
from millstream.runtime.reports.metrics import Accounts
from millstream.runtime.reports.phases import Phases
from millstream.runtime.tables import Tables
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Report
from millstream.runtime.tasks.program import Program, Target, grows
from millstream.runtime.tasks.staging import leaving, sweep
from millstream.runtime.tasks.table_files import TableFiles
from millstream.runtime.trigger import AvailableNow, Every, Trigger
from millstream.state.local_storage import LocalStorage, passing_folder
from millstream.state.lock import checkpoint_id
from millstream.state.manifest import Manifest, Manifests
from millstream.state.paths import local_path
from millstream.state.storage import Storage

VERSION = "0.1.0"
ReportTo = Callable[[dict[str, Any]], None]


class DurableHost(NoFrames, Changing):
    """Runs queries over sources, an epoch at a time, with a checkpoint."""

    def __init__(self, checkpoint: str | Path | None, partitions: int, jobs: Jobs | None = None) -> None:
        self.partitions = partitions
        self.jobs = jobs or LocalJobs()
        self.checkpoint = local_path(checkpoint, "a checkpoint") if checkpoint else passing_folder(self)
        self.id = ""
        """Tells this checkpoint from others; known once it is in use."""
        self.storage: Storage = LocalStorage(self.checkpoint)
        self.manifests = Manifests(self.storage)
        self.tables = Tables()
        self.table_files = TableFiles(self.storage, self.tables)
        self.queries: dict[str, HostQuery] = {}
        self.changes = Changes()
        self.listen: Listener | None = None
        """Looks for what other processes ask, between two epochs."""
        self.sources: dict[str, Any] = {}
        self.ledger = Ledger()
        self.accounts = Accounts()
        Changing.__init__(self)
        self.program = Program([], self.partitions)
        self.supplied: dict[str, list[UserPunctuation]] = {}
        self.begun = False
        """Is the run past its start?"""
        self._opened = False
        self.formerly: dict[str, str] = {}
        """By query: the name that it had before this start, where that is another."""
        self._under_way: int | None = None
        self._told: dict[str, Progress] = {}
        self._phases = Phases()
        self.starts: dict[str, Any] = {}
        self.sharing = Sharing()
        """How much of their state queries have in common."""

    @property
    def epoch(self) -> int:
        """The number of the step under way, or the next one."""
        return self.ledger.sequence + 1 if self._under_way is None else self._under_way

    def add(self, queries: Iterable[HostQuery], sources: Mapping[str, Any]) -> None:
        """Run these queries too, from the next start on."""
        self.queries |= {query.name: query for query in queries}
        for name, source in sources.items():
            if name not in self.sources:
                self.sources[name] = source
                self.starts[name] = getattr(source, "position", None)

    def supply(self, node: nodes.Source, punctuation: UserPunctuation) -> None:
        """A punctuation from the caller, for the end of the next epoch; a bad one is refused here."""
        seen = self.ledger.streams.get(node.name, StreamLedger()).known
        waiting = self.supplied.setdefault(node.name, [])
        bind_punctuations([*waiting, punctuation], node, seen)
        waiting.append(punctuation)

    def plan(self, asked: Mapping[str, nodes.Node], manifest: Manifest | None) -> Plan:
        """How queries run: those that the checkpoint knows find their operators again."""
        if self._opened or manifest is None:
            held = self.ledger.operators if self._opened else {}
            return optimize(Plan.of(asked, held=held, distributed=True))
        plan = optimize(Plan.of(asked, held=manifest.operators, distributed=True))
        # Columns that are read no longer, or again, put nodes between others: names go by the node, not by the place.
        self.formerly = renamed({name: plan[name] for name in asked}, manifest)
        held = held_by(plan, manifest, self.formerly)
        same = all(manifest.operators.get(name) == keys for name, keys in held.items())
        return plan if same else optimize(Plan.of(asked, held=held, distributed=True))

    def explain(self, asked: Mapping[str, nodes.Node], sources: Mapping[str, Any], *, unbounded: bool) -> str:
        """How queries run, or would."""
        written = self.plan(asked, None if self._opened else self.manifests.latest())
        plan = share_state(written, sharing=self.sharing).plan
        program = Program([Target(name, plan[name]) for name in asked], self.partitions)
        return explain(
            plan,
            list(asked),
            choice_of=lambda _: None,
            place_of=self.places(program, sources),
            path_of=self.row_path(program, sources),
            unbounded=unbounded,
        )

    def places(self, program: Program, sources: Mapping[str, Any]) -> Callable[[nodes.Node], str]:
        """Where each node of a program is computed."""
        return lambda _: "kernel"

    def row_path(self, program: Program, sources: Mapping[str, Any]) -> Callable[[nodes.Source], str | None]:
        """Which way the rows of a stream take, and why, where there are several."""
        return lambda _: None

    def run(
        self,
        trigger: Trigger,
        *,
        end_of_stream: bool,
        stopping: Callable[[], bool],
        report: ReportTo,
        quiet: Callable[[float], None],
    ) -> None:
        """Take epochs as the trigger says, until done or told to stop."""
        self.begun = False
        try:
            with self.storage.locked():
                self.id = checkpoint_id(self.storage)
                self.check_workers()
                self._open()
                refuse_start(self._known(), end_of_stream=end_of_stream)
                self.begun = True
                self.take_epochs(trigger, stopping, report, quiet)
                if not stopping():  # nobody knows when the next run is
                    let: Let = "all" if isinstance(trigger, AvailableNow) else "share"
                    if end_of_stream:
                        end_streams(self, report, trigger, let)
                    else:
                        self.flush(report, let=let)
                finish(self.queries.values())
        except BaseException:
            # What is in hand may be half of an epoch: another start goes back to the last manifest.
            self._opened = False
            raise

    def so_far(self) -> dict[str, Any] | None:
        """The report of the last committed epoch, of earlier runs too; None as long as the checkpoint is not open."""
        return progress_report(self, 0, {}) if self._opened and self.ledger.sequence >= 0 else None

    # --- what another host does in its own way ----------------------------------------------------

    def check_workers(self) -> None:
        """Can tasks run where this host runs them? They run here."""

    def take_epochs(
        self, trigger: Trigger, stopping: Callable[[], bool], report: ReportTo, quiet: Callable[[float], None]
    ) -> None:
        """Take epochs as the trigger says."""
        Drive(self, trigger, stopping, report, quiet).by_itself()

    def read_all(self, timeout: float | None) -> bool:
        """Wait for those who read for this host; True if they were done in time. Nobody reads for this one."""
        return True

    def arrivals(self, local: Mapping[str, Batch]) -> Any:
        """An epoch of rows that the driver holds, for the jobs."""
        return Arrivals(local)

    def held_sources(self) -> dict[str, Any]:
        """The sources that the driver reads itself."""
        return self.sources

    def took(self, arrivals: Any) -> None:
        """Note in the ledger what a step has read of each source."""
        for name, source in self.held_sources().items():
            if name in self.stream_ledgers():
                self.stream_ledgers()[name].position = getattr(source, "position", None)

    def hand_over(self, sink: Any, rows: Any, sequence: int) -> None:
        """Give a step's rows to a sink that is no folder."""
        sink.write(rows, sequence)

    # --- opening -------------------------------------------------------------------------------

    def _open(self) -> None:
        """Read the checkpoint, unless this host has it in hand already."""
        if self._opened and self.manifests.sequences()[-1:] != [self.ledger.sequence]:
            self._opened = False  # another driver has been here since
        self.formerly = {}
        manifest = None if self._opened else self.manifests.latest()
        plan = self.plan({q.name: q.node for q in self.queries.values()}, manifest)
        self.program = plain_program(self, plan)
        if not self._opened:
            rewind(self, manifest, plan)
        claim_folders(self.queries.values(), self.sources, self.id, self.formerly)
        arrange(self, plan, self.program)
        self.ledger.forget(self.program)
        if manifest is not None:
            deliver(self, manifest.outputs, manifest.sequence, again=True)
        lay_out(self, self.partitions if manifest is None else manifest.partitions)
        if not self._opened:
            tidy(self)
            self.manifests.sweep()
            sweep(sink for q in self.queries.values() for sink in folders(q))
        self._opened = True

    def drain(self, name: str) -> None:
        """Let a query of the checkpoint give all it holds, as if its streams had ended, and forget it."""
        try:
            with self.storage.locked():
                self.id = checkpoint_id(self.storage)
                self.check_workers()
                self._open()
                drain_query(self, name)
        except BaseException as error:
            self._opened = False
            if isinstance(error, MillstreamError):
                raise
            raise RunError(
                f"draining {name!r} failed: {type(error).__name__}: {error}",
                hint="The cause is chained below; the query and its state are as they were.",
            ) from error

    # --- one epoch -----------------------------------------------------------------------------

    def step(self, arrivals: Any, epoch: int, report: ReportTo, trigger: Trigger) -> None:
        """Take an epoch's rows; operators learn what was known before them."""
        self._phases = phases = Phases()
        # Where a flush follows, it is the end of the epoch.
        let: Let = "share" if isinstance(trigger, AvailableNow) else "due"
        order = self.order({name: one.known for name, one in self.stream_ledgers().items()}, let)
        supplied = self._waiting()
        phases.done("plan")
        reports = self.jobs.step(self.program, order, arrivals, f"epoch {epoch}")
        phases.done("job")
        phases.moved("job", "plan", self.jobs.planned)
        came = rows_by_stream(self, reports)
        refuse_rows(self._known(), came)
        for source in self.source_nodes():
            batch = arrivals.local.get(source.name)
            given = [*(batch.punctuations if batch else ()), *supplied.get(source.name, ())]
            seen = self.stream_ledgers()[source.name].known
            self.ledger.learn(source, reports, bind_punctuations(given, source, seen), now_of(source))
        for name in arrivals.local:
            self.ledger.handed.pop(name, None)
        self.take_in(order, reports)
        self.took(arrivals)
        self.commit([*leaving(reports), *demanded(self, order)], epoch)
        self._took(supplied)
        report(progress_report(self, sum(came.values()), phases.seconds))
        if isinstance(trigger, Every):
            self.flush(report)

    def flush(self, report: ReportTo, *, end: Collection[str] = (), let: Let = "share") -> None:
        """Let operators learn what is known, without new rows; those in `end` end. Does nothing if nothing is new."""
        if end and grows(self.program):
            self.flush(report, let=let)
        streams, supplied = self.stream_ledgers(), self._waiting()
        for source in self.source_nodes():
            given = bind_punctuations(supplied.get(source.name, ()), source, streams[source.name].known)
            if given or now_of(source) is not None:  # time passes without rows too
                self.ledger.learn(source, [], given, now_of(source))
        target = {name: Progress(ended=True) if name in end else one.known for name, one in streams.items()}
        stops = Stops(self.program, self.ledger)
        if all(target[name] == one.advanced for name, one in streams.items()) and not stops.waiting(let):
            self._took(supplied)  # it said nothing new
            return
        self._phases = phases = Phases()
        order = self.order(target, let)
        phases.done("plan")
        reports = self.jobs.learn(self.program, order, "flush")
        phases.done("job")
        for name, progress in target.items():
            streams[name].known = progress
        self.take_in(order, reports)
        self.commit(leaving(reports), self.ledger.epoch)
        self._took(supplied)
        report(progress_report(self, 0, phases.seconds))

    def _waiting(self) -> dict[str, list[UserPunctuation]]:
        """What the caller has supplied, as of now: it may supply more while the step is under way."""
        return {name: list(given) for name, given in self.supplied.items() if given}

    def _took(self, supplied: Mapping[str, list[UserPunctuation]]) -> None:
        """Forget supplied punctuation that a committed step has taken."""
        for name, taken in supplied.items():
            del self.supplied[name][: len(taken)]

    def order(self, target: Mapping[str, Progress], let: Let) -> Order:
        """What the tasks of the next step must know."""
        stops = Stops(self.program, self.ledger)
        now, self._told = stops.now(target, let)
        judged = {name: one.known for name, one in self.stream_ledgers().items()}
        names = [table.name for target in self.program.targets for table in nodes.tables(target.node)]
        sequence = self.ledger.sequence + 1
        self.ledger.tables = self.table_files.versions(dict.fromkeys(names), self.ledger.tables, sequence)
        order = Order(
            sequence,
            self.storage,
            stops.before,
            now,
            judged,
            keys=self.program.keys,
            attempt=uuid.uuid4().hex[:8],
            tables=self.ledger.tables,
            let=let,
        )
        order.guards, order.fresh = guards_in_force(self)
        self.give_state(order)
        self._target = dict(target)
        self._under_way = order.sequence
        return order

    def give_state(self, order: Order) -> None:
        """Have tasks know all that operators keep."""
        index = {key: i for i, key in enumerate(self.program.keys)}
        order.state, order.facts = {}, {}
        for segment in self.ledger.segments:
            if segment.operator in index:
                order.state.setdefault((index[segment.operator], segment.partition), []).append(segment)
        for key, parts in self.ledger.facts.items():
            if key in index:
                order.facts |= {(index[key], partition): facts for partition, facts in parts.items()}

    def take_in(self, order: Order, reports: list[Report]) -> None:
        """Let the ledger learn what the tasks of a step reported."""
        self.ledger.absorb(self.program, reports)
        self.ledger.sequence, self.ledger.told = order.sequence, self._told
        for name, progress in self._target.items():
            self.stream_ledgers()[name].advanced = progress

    def commit(self, outputs: list[dict[str, Any]], epoch: int) -> None:
        """Write the manifest; then publish what it names, and clear what nothing names."""
        self.ledger.epoch = epoch
        self.manifests.write(self.ledger.manifest(self.program, VERSION, outputs))
        self.table_files.commit()
        self._phases.done("commit")
        deliver(self, outputs, self.ledger.sequence, again=False)
        self._phases.done("deliver")
        tidy(self)
        self._under_way = None

    def stream_ledgers(self) -> dict[str, StreamLedger]:
        """By stream of the program: its ledger."""
        for source in self.source_nodes():
            self.ledger.streams.setdefault(source.name, StreamLedger())
        return {source.name: self.ledger.streams[source.name] for source in self.source_nodes()}

    def source_nodes(self) -> list[nodes.Source]:
        """The streams of the program."""
        return [node for node in self.program.nodes if isinstance(node, nodes.Source)]

    def _known(self) -> dict[str, Progress]:
        """By stream: what it has promised so far."""
        return {name: one.known for name, one in self.stream_ledgers().items()}
