"""The Spark host: an epoch is a Spark job, its state is segments in a checkpoint, its end is a manifest.

`foreachBatch` gives the rows and the number of an epoch. If that epoch has a manifest it is done and is
skipped. If not, it starts from the manifest before it; whatever a broken attempt left is overwritten, because
names are a function of (operator, partition, sequence).
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import tempfile
import threading
import time
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.core.errors import PlanError
from millstream.core.progress import Progress
from millstream.core.window import Landmark
from millstream.ops.turn import Let
from millstream.plan import nodes
from millstream.plan.explain import explain
from millstream.plan.optimize import optimize
from millstream.plan.plan import Plan
from millstream.runtime.batch import Batch, Source
from millstream.runtime.ended import refuse_rows, refuse_start
from millstream.runtime.epoch import now_of
from millstream.runtime.flow import Order
from millstream.runtime.ledger import Ledger, StreamLedger, settle_keys
from millstream.runtime.migrate import check_states, held_by, renamed
from millstream.runtime.outputs import claim_folders, finish, folders
from millstream.runtime.parcel import Report
from millstream.runtime.program import Program, Target, plan_text
from millstream.runtime.punctuate import UserPunctuation, bind_punctuations
from millstream.runtime.query import HostQuery
from millstream.runtime.repartition import repartition
from millstream.runtime.sources import check_unseekable
from millstream.runtime.staging import sweep
from millstream.runtime.stops import Stops
from millstream.runtime.table_files import TableFiles
from millstream.runtime.tables import Tables
from millstream.runtime.trigger import AvailableNow, Every, Once, Trigger, wait_until
from millstream.spark.agreement import check_frames, check_next
from millstream.spark.deliver import deliver
from millstream.spark.failure import readable
from millstream.spark.fit import check_session, check_worker
from millstream.spark.follow import follow
from millstream.spark.frames import Tags, arrow_schema, tagged
from millstream.spark.jobs import Arrivals, Jobs
from millstream.spark.outlets import for_workers
from millstream.spark.places import places
from millstream.spark.reduce import GROUPS, Reduction, layout, native_reduce
from millstream.spark.report import progress_report
from millstream.spark.reread import read_again
from millstream.spark.session import settings_of, settle_session
from millstream.state.lock import checkpoint_id, locked
from millstream.state.manifest import Manifest, Manifests
from millstream.state.paths import local_path

VERSION = "0.1.0"
log = logging.getLogger("millstream.spark")
ReportTo = Callable[[dict[str, Any]], None]


class SparkHost:
    """Runs queries over data frames and sources, an epoch at a time, with a checkpoint."""

    def __init__(self, spark: SparkSession, checkpoint: str | Path | None, partitions: int | None) -> None:
        if spark is not None:
            check_session(spark)
        self.spark = spark
        self.settings = settings_of(spark)
        self.partitions = _partitions(partitions, spark)
        self.jobs = Jobs(spark, self.partitions)
        self.checkpoint = local_path(checkpoint or tempfile.mkdtemp(prefix="millstream-"), "a checkpoint")
        if checkpoint is None:  # nobody can come back to it
            weakref.finalize(self, shutil.rmtree, self.checkpoint, ignore_errors=True)
        self.id = ""
        """Tells this checkpoint from others; known once it is in use."""
        self.manifests = Manifests(self.checkpoint)
        self.tables = Tables()
        self.table_files = TableFiles(self.checkpoint, self.tables)
        self.queries: dict[str, HostQuery] = {}
        self.sources: dict[str, Any] = {}
        self.ledger = Ledger()
        self.program = Program([], self.partitions)
        self._supplied: dict[str, list[UserPunctuation]] = {}
        self._readers: dict[str, Iterator[Batch]] = {}
        self._opened = False
        self._formerly: dict[str, str] = {}
        """By query: the name that it had before this start, where that is another."""
        self._under_way: int | None = None
        self._query: StreamingQuery | None = None
        self._told: dict[str, Progress] = {}
        self._starts: dict[str, Any] = {}
        self._reduces: tuple[Program, Reduction | None] | None = None
        self.spark_progress: list[dict[str, int]] = []
        """What Spark itself measured of each epoch of the last streaming run, in milliseconds by phase."""

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
                self._starts[name] = getattr(source, "position", None)

    def supply(self, node: nodes.Source, punctuation: UserPunctuation) -> None:
        """A punctuation from the caller, for the end of the next epoch; a bad one is refused here."""
        seen = self.ledger.streams.get(node.name, StreamLedger()).known
        waiting = self._supplied.setdefault(node.name, [])
        bind_punctuations([*waiting, punctuation], node, seen)
        waiting.append(punctuation)

    def frame_schema(self, frame: DataFrame) -> Any:
        """A data frame's schema as Arrow sees it."""
        return arrow_schema(frame)

    def frame_table(self, frame: DataFrame) -> Any:
        """All rows of a data frame that is no stream, as its files are now."""
        return read_again(frame).toArrow().cast(arrow_schema(frame))

    def plan(self, asked: Mapping[str, nodes.Node], manifest: Manifest | None) -> Plan:
        """How queries run: those that the checkpoint knows find their operators again."""
        if self._opened or manifest is None:
            held = self.ledger.operators if self._opened else {}
            return optimize(Plan.of(asked, held=held, distributed=True))
        plan = optimize(Plan.of(asked, held=manifest.operators, distributed=True))
        # Columns that are read no longer, or again, put nodes between others: names go by the node, not by the place.
        self._formerly = renamed({name: plan[name] for name in asked}, manifest)
        held = held_by(plan, manifest, self._formerly)
        same = all(manifest.operators.get(name) == keys for name, keys in held.items())
        return plan if same else optimize(Plan.of(asked, held=held, distributed=True))

    def explain(self, asked: Mapping[str, nodes.Node], sources: Mapping[str, Any], *, unbounded: bool) -> str:
        """How queries run, or would."""
        plan = self.plan(asked, None if self._opened else self.manifests.latest())
        program = Program([Target(name, plan[name]) for name in asked], self.partitions)
        place_of = places(program, sources)
        return explain(plan, list(asked), choice_of=lambda _: None, place_of=place_of, unbounded=unbounded)

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
        try:
            with locked(self.checkpoint):
                self.id = checkpoint_id(self.checkpoint)
                if self.spark is not None:
                    check_worker(self.spark)
                self._open()
                refuse_start(self._known(), end_of_stream=end_of_stream)
                self._take_epochs(trigger, stopping, report, quiet)
                if not stopping():  # nobody knows when the next run is
                    self._flush(report, end=end_of_stream, let="all" if isinstance(trigger, AvailableNow) else "share")
                finish(self.queries.values())
        except BaseException as error:
            # What is in hand may be half of an epoch: another start goes back to the last manifest.
            self._opened = False
            if isinstance(error, PySparkException | Py4JError | RuntimeError):
                raise readable(error, self.epoch) from error
            raise
        finally:
            self._query = None

    def read_all(self, timeout: float | None) -> bool:
        """Wait until Spark has read what its sources have now; True if that came in time."""
        query = self._query
        if query is None:
            return True
        waiter = threading.Thread(target=_read_all, args=(query,), daemon=True)
        waiter.start()
        waiter.join(timeout)
        return not waiter.is_alive()

    def _take_epochs(
        self, trigger: Trigger, stopping: Callable[[], bool], report: ReportTo, quiet: Callable[[float], None]
    ) -> None:
        frames = {name: s for name, s in self.sources.items() if isinstance(s, DataFrame)}
        # In order of their names: Spark's checkpoint knows streams by their place only.
        streaming = {name: frame for name, frame in sorted(frames.items()) if frame.isStreaming}
        check_frames(self.ledger, self.checkpoint, list(streaming))
        self.ledger.frames = list(streaming)
        self._readers = {}
        if streaming:
            self._run_streaming(streaming, trigger, stopping, report, quiet)
        else:
            self._run_batches(trigger, stopping, report, quiet)

    # --- opening -------------------------------------------------------------------------------

    def _open(self) -> None:
        """Read the checkpoint, unless this host has it in hand already."""
        if self._opened and self.manifests.sequences()[-1:] != [self.ledger.sequence]:
            self._opened = False  # another driver has been here since
        self._formerly = {}
        manifest = None if self._opened else self.manifests.latest()
        plan = self.plan({q.name: q.node for q in self.queries.values()}, manifest)
        targets = [Target(q.name, plan[q.name], for_workers(q)) for q in self.queries.values()]
        self.program = Program(targets, self.partitions)
        if not self._opened:
            self._rewind(manifest, plan)
        claim_folders(self.queries.values(), self.id, self._formerly)
        self.ledger.welcome(settle_keys(self.program, self.ledger.operators))
        self.ledger.forget(self.program)
        if manifest is not None:
            deliver(self, manifest.outputs, manifest.sequence, again=True)
        self._lay_out(self.partitions if manifest is None else manifest.partitions)
        if not self._opened:
            self._tidy()
            self.manifests.sweep()
            sweep(sink for q in self.queries.values() for sink in folders(q))
        self._opened = True

    def _lay_out(self, partitions: int) -> None:
        """Have the state where this program looks for it; what is there stays, if it can."""
        best = self._best_layout()
        if not self.ledger.segments and not self.ledger.facts:
            self.ledger.layout = best
        elif partitions != self.partitions or self.ledger.layout not in (GROUPS, best):
            log.info("moving state from %d to %d partitions, by groups", partitions, self.partitions)
            repartition(self.ledger, self.program, self.checkpoint, partitions)
            self._commit([], self.ledger.epoch)

    def _best_layout(self) -> str:
        streams = [self.sources[source.name] for source in self._source_nodes()]
        streaming = all(isinstance(one, DataFrame) and one.isStreaming for one in streams)
        return layout(self.program, self.spark.version) if streaming else GROUPS

    def _rewind(self, manifest: Manifest | None, plan: Plan) -> None:
        """Forget everything since the last manifest; sources go back to where they were then."""
        if manifest is not None:
            texts = {target.name: plan_text(target.node) for target in self.program.targets}
            check_states(plan, manifest, texts, self._formerly)
            self.manifests.check(manifest)
        self.ledger = Ledger() if manifest is None else Ledger.of(manifest)
        if manifest is not None:
            held = held_by(plan, manifest, self._formerly)
            self.ledger.rename(self._formerly)
            self.ledger.operators |= held
        self.table_files.rewind()
        for name, source in self.sources.items():
            if isinstance(source, DataFrame):
                continue
            position = self.ledger.streams.get(name, StreamLedger()).position or self._starts.get(name)
            if not hasattr(source, "seek") or not hasattr(source, "position"):
                check_unseekable(name, source, known=name in self.ledger.streams)
            elif position is not None:
                source.seek(position)

    def drain(self, name: str) -> None:
        """Let a query of the checkpoint give all it holds, as if its streams had ended, and forget it."""
        try:
            with locked(self.checkpoint):
                self.id = checkpoint_id(self.checkpoint)
                self._open()
                self._drain(name)
        except BaseException:
            self._opened = False
            raise

    def _drain(self, name: str) -> None:
        """A step in which only one query's operators learn, of the end; the others stay as they are."""
        whole, ledger = self.program, self.ledger
        target = next(one for one in whole.targets if one.name == name)
        kept = {key for query, keys in ledger.operators.items() if query != name for key in keys}
        mine = set(ledger.operators[name]) - kept
        alone = Program([target], self.partitions)
        alone.keys = [whole.keys[whole.index[id(node)]] for node in alone.nodes]
        others = [segment for segment in ledger.segments if segment.operator not in mine]
        facts = {key: found for key, found in ledger.facts.items() if key not in mine}
        known = {source: (one.known, one.advanced) for source, one in self._streams().items()}
        self.program = alone
        try:
            order = self._order({source.name: Progress(ended=True) for source in self._source_nodes()}, "all")
            reports = self.jobs.settle(alone, order, f"drain {name}") if alone.depth else []
            self._take_in(order, reports)
        finally:
            self.program = whole
        for source, (was, told) in known.items():  # the streams have not ended for the others
            ledger.streams[source].known, ledger.streams[source].advanced = was, told
        ledger.segments, ledger.facts = others, facts
        del ledger.operators[name]
        self.program = Program([one for one in whole.targets if one.name != name], self.partitions)
        ledger.welcome(settle_keys(self.program, ledger.operators))
        ledger.forget(self.program)
        self._commit([one for report in reports for one in report.staged], ledger.epoch)
        del self.queries[name]

    # --- driving -------------------------------------------------------------------------------

    def _run_streaming(
        self,
        streaming: dict[str, DataFrame],
        trigger: Trigger,
        stopping: Callable[[], bool],
        report: ReportTo,
        quiet: Callable[[float], None],
    ) -> None:
        tags = Tags.of(streaming)
        settled = threading.Event()
        before = self.ledger.sequence
        if frames := self._unread_frames():  # of such a frame all rows are one epoch, before those of the streams
            arrivals = Arrivals(tagged(frames), Tags.of(frames), {})
            self._step(arrivals, self.ledger.epoch, report, trigger)

        def on_epoch(frame: DataFrame, epoch: int) -> None:
            if epoch == self.ledger.epoch:
                log.info("epoch %d is committed already", epoch)
                return
            check_next(self.ledger, self.checkpoint, epoch)
            if not settled.is_set():  # the session is the stream's own, from its first epoch to its last
                settle_session(frame.sparkSession, self.partitions, self.settings)
                settled.set()
            arrivals = Arrivals(frame, tags, self._next_local())
            self._step(arrivals, epoch, report, trigger)

        def idle() -> None:
            """Spark has no rows; the driver's sources, the clock and the caller may have something to say."""
            began = time.monotonic()
            if local := self._next_local():
                self._step(Arrivals(local=local), self.ledger.epoch, report, trigger)
                return
            self._readers = {}
            self._flush(report, end=False)
            quiet(began)

        def started(query: StreamingQuery) -> None:
            self._query = query

        # Spark refuses a name that another run of the session has: two engines may ask the same.
        name = f"millstream {', '.join(list(self.queries)[:5])} ({self.id[:8]})"
        where = self.checkpoint / "spark"
        self.spark_progress = follow(
            streaming, trigger, on_epoch, idle, stopping=stopping, started=started, checkpoint=where, name=name
        )
        # Spark's streams may have fewer epochs than the sources that the driver reads, or none.
        taken = isinstance(trigger, Once) and self.ledger.sequence > before
        while not isinstance(trigger, Every) and not taken and not stopping() and (local := self._next_local()):
            self._step(Arrivals(local=local), self.ledger.epoch, report, trigger)
            taken = isinstance(trigger, Once)

    def _run_batches(
        self, trigger: Trigger, stopping: Callable[[], bool], report: ReportTo, quiet: Callable[[float], None]
    ) -> None:
        while not stopping():
            began = time.monotonic()
            frames = self._unread_frames()
            local = self._next_local()
            if frames or local:
                arrivals = Arrivals(tagged(frames) if frames else None, Tags.of(frames), local)
                self._step(arrivals, self.ledger.epoch + 1, report, trigger)
            elif isinstance(trigger, Every):
                self._readers = {}
                self._flush(report, end=False)
                quiet(began)
            if isinstance(trigger, Once) or (isinstance(trigger, AvailableNow) and not frames and not local):
                return
            if isinstance(trigger, Every):
                wait_until(began + trigger.seconds, stopping)

    def _unread_frames(self) -> dict[str, DataFrame]:
        """The data frames that are no streams and whose rows no committed step has taken."""
        frames = {n: s for n, s in self.sources.items() if isinstance(s, DataFrame) and not s.isStreaming}
        return {name: frame for name, frame in frames.items() if self._streams()[name].position is None}

    def _next_local(self) -> dict[str, Batch]:
        """The next batch of each source that the driver reads itself."""
        out: dict[str, Batch] = {}
        for name, source in self.sources.items():
            if isinstance(source, DataFrame):
                continue
            local: Source = source
            if name not in self._readers:
                self._readers[name] = local.batches()
            batch = next(self._readers[name], None)
            if batch is None and self._supplied.get(name):
                batch = Batch(local.schema.empty_table())
            if batch is not None:
                out[name] = batch
        return out

    # --- one epoch -----------------------------------------------------------------------------

    def _step(self, arrivals: Arrivals, epoch: int, report: ReportTo, trigger: Trigger) -> None:
        """Take an epoch's rows; operators learn what was known before them."""
        began = time.monotonic()
        # Where a flush follows, it is the end of the epoch.
        let: Let = "share" if isinstance(trigger, AvailableNow) else "due"
        order = self._order({name: one.known for name, one in self._streams().items()}, let)
        supplied = self._waiting()
        reports = self.jobs.step(self.program, order, arrivals, self._reduction(arrivals), f"epoch {epoch}")
        ran = time.monotonic()
        refuse_rows(self._known(), self._rows_by_stream(reports))
        for source in self._source_nodes():
            batch = arrivals.local.get(source.name)
            given = [*(batch.punctuations if batch else ()), *supplied.get(source.name, ())]
            seen = self._streams()[source.name].known
            self.ledger.learn(source, reports, bind_punctuations(given, source, seen), now_of(source))
        self._take_in(order, reports)
        for name, source in self.sources.items():
            if isinstance(source, DataFrame):
                if name in arrivals.tags.schemas and not source.isStreaming:
                    self._streams()[name].position = {"read": True}
            elif name in self._streams():
                self._streams()[name].position = getattr(source, "position", None)
        self._commit([one for r in reports for one in r.staged], epoch)
        self._took(supplied)
        rows = sum(self._rows_by_stream(reports).values())
        report(progress_report(self, rows, {"job": ran - began, "commit": time.monotonic() - ran}))
        if isinstance(trigger, Every):
            self._flush(report, end=False)

    def _flush(self, report: ReportTo, *, end: bool, let: Let = "share") -> None:
        """Let operators learn what is known, without new rows; does nothing if that changes nothing."""
        if end and self._grows():
            self._flush(report, end=False, let=let)
        streams, supplied = self._streams(), self._waiting()
        for source in self._source_nodes():
            given = bind_punctuations(supplied.get(source.name, ()), source, streams[source.name].known)
            if given or now_of(source) is not None:  # time passes without rows too
                self.ledger.learn(source, [], given, now_of(source))
        target = {name: Progress(ended=True) if end else one.known for name, one in streams.items()}
        stops = Stops(self.program, self.ledger)
        if all(target[name] == one.advanced for name, one in streams.items()) and not stops.waiting(let):
            self._took(supplied)  # it said nothing new
            return
        began = time.monotonic()
        order = self._order(target, let)
        reports = self.jobs.settle(self.program, order, "flush")
        for name, progress in target.items():
            streams[name].known = progress
        self._take_in(order, reports)
        self._commit([one for r in reports for one in r.staged], self.ledger.epoch)
        self._took(supplied)
        report(progress_report(self, 0, {"job": time.monotonic() - began}))

    def _grows(self) -> bool:
        """Is there a landmark? The last bound closes windows of it that the end, which comes after, does not."""
        found = (node.windows for node in self.program.nodes if isinstance(node, nodes.Aggregate))
        return any(isinstance(window, Landmark) for windows in found for window in windows)

    def _waiting(self) -> dict[str, list[UserPunctuation]]:
        """What the caller has supplied, as of now: it may supply more while the step is under way."""
        return {name: list(given) for name, given in self._supplied.items() if given}

    def _took(self, supplied: Mapping[str, list[UserPunctuation]]) -> None:
        """Forget supplied punctuation that a committed step has taken."""
        for name, taken in supplied.items():
            del self._supplied[name][: len(taken)]

    def _reduction(self, arrivals: Arrivals) -> Reduction | None:
        """How Spark itself reduces this program's rows, if it can; worked out once."""
        if arrivals.frame is None or settings_of(arrivals.frame.sparkSession) != self.settings:
            return None  # where Spark would compute under other settings, kernels must
        if self._reduces is None or self._reduces[0] is not self.program:
            native = native_reduce(self.program)
            self._reduces = (self.program, native and Reduction(self.program, native, self.ledger.layout))
        return self._reduces[1]

    def _order(self, target: Mapping[str, Progress], let: Let) -> Order:
        """What the tasks of the next step must know."""
        stops = Stops(self.program, self.ledger)
        now, self._told = stops.now(target, let)
        judged = {name: one.known for name, one in self._streams().items()}
        index = {key: i for i, key in enumerate(self.program.keys)}
        names = [table.name for target in self.program.targets for table in nodes.tables(target.node)]
        sequence = self.ledger.sequence + 1
        self.ledger.tables = self.table_files.versions(dict.fromkeys(names), self.ledger.tables, sequence)
        order = Order(
            sequence,
            str(self.checkpoint),
            stops.before,
            now,
            judged,
            keys=self.program.keys,
            attempt=uuid.uuid4().hex[:8],
            tables=self.ledger.tables,
            let=let,
        )
        for segment in self.ledger.segments:
            if segment.operator in index:
                order.state.setdefault((index[segment.operator], segment.partition), []).append(segment)
        for key, parts in self.ledger.facts.items():
            if key in index:
                order.facts |= {(index[key], partition): facts for partition, facts in parts.items()}
        self._target = dict(target)
        self._under_way = order.sequence
        return order

    def _take_in(self, order: Order, reports: list[Report]) -> None:
        self.ledger.absorb(self.program, reports)
        self.ledger.sequence, self.ledger.told = order.sequence, self._told
        for name, progress in self._target.items():
            self._streams()[name].advanced = progress

    def _commit(self, outputs: list[dict[str, Any]], epoch: int) -> None:
        """Write the manifest; then publish what it names, and clear what nothing names."""
        self.ledger.epoch = epoch
        self.manifests.write(self.ledger.manifest(self.program, VERSION, outputs))
        self.table_files.commit()
        deliver(self, outputs, self.ledger.sequence, again=False)
        self._tidy()
        self._under_way = None

    def _tidy(self) -> None:
        """Clear what nothing names; only between jobs, when nobody is writing."""
        self.manifests.collect(Path(written.path) for written in self.ledger.tables.values())
        for folder in (self.checkpoint / "staging").glob("*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _streams(self) -> dict[str, StreamLedger]:
        for source in self._source_nodes():
            self.ledger.streams.setdefault(source.name, StreamLedger())
        return {source.name: self.ledger.streams[source.name] for source in self._source_nodes()}

    def _source_nodes(self) -> list[nodes.Source]:
        return [node for node in self.program.nodes if isinstance(node, nodes.Source)]

    def _known(self) -> dict[str, Progress]:
        """By stream: what it has promised so far."""
        return {name: one.known for name, one in self._streams().items()}

    def _rows_by_stream(self, reports: Iterable[Report]) -> dict[str, int]:
        entrances = {self.program.index[id(node)]: node.name for node in self._source_nodes()}
        found = dict.fromkeys(entrances.values(), 0)
        for report in reports:
            for i, meter in report.meters.items():
                if i in entrances:
                    found[entrances[i]] += meter.get("rows_in", 0)
        return found


def _read_all(query: StreamingQuery) -> None:
    with contextlib.suppress(PySparkException, Py4JError):  # why a query failed, its own run says
        query.processAllAvailable()


def _partitions(asked: Any, spark: SparkSession) -> int:
    if asked is None:
        return max(1, spark.sparkContext.defaultParallelism)
    if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:
        raise PlanError(f"partitions={asked!r} is not a number of partitions", hint="Give a whole number from 1 up.")
    return asked
