"""The engine: streams, queries over them, and the host that runs them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.api.again import query_differences, same_source, stream_differences
from millstream.api.contract import refuse
from millstream.api.control import Control
from millstream.api.declared import (
    bound_progress,
    check_columns,
    check_known,
    check_mark,
    check_name,
    domains_of,
    is_frame,
)
from millstream.api.hosts import local_host, spark_host
from millstream.api.live import Live, LiveChanges
from millstream.api.query import Query
from millstream.api.schema import as_schema
from millstream.api.sql.execute import execute
from millstream.api.stream import Stream
from millstream.api.table import Table, rows_of
from millstream.core.errors import PlanError, nearest
from millstream.core.generator import Supplied
from millstream.core.pattern import Equal, Pattern, UpTo
from millstream.core.settings import Settings
from millstream.plan import nodes
from millstream.plan.check_report import CheckReport, report
from millstream.plan.hints import SIDES
from millstream.plan.sharing import Sharing, sharing_of
from millstream.runtime.batch import UNREADABLE
from millstream.runtime.punctuate import UserPunctuation
from millstream.runtime.reports.report import nothing_yet
from millstream.runtime.run import Run
from millstream.runtime.sources import make_source
from millstream.runtime.trigger import AvailableNow, Trigger
from millstream.sql.grammar.text import Piece


class Engine(LiveChanges):
    """Streams in, results out.

    >>> import millstream as ms
    >>> engine = ms.Engine(host="local")
    >>> rows = [{"ts": 3, "k": "a"}, {"ts": 1, "k": "b"}, {"ts": 12, "k": "a"}]
    >>> bids = engine.stream("bids", rows, progress=ms.bounded_disorder("ts", 2))
    >>> counts = bids.window("ts", range=10).agg(n=ms.count()).named("counts")
    >>> engine.start(ms.available_now()).await_termination()
    True
    >>> counts.table().to_pylist()
    [{'window_id': 0, 'window_start': 0, 'window_end': 10, 'n': 2}]
    """

    def __init__(
        self,
        spark: Any = None,
        *,
        host: str | None = None,
        checkpoint: str | Path | None = None,
        partitions: int | None = None,
        allow_unbounded: bool = False,
        ansi: bool | None = None,
        time_zone: str | None = None,
        sharing: str | Sharing = "auto",
    ) -> None:
        """Run on the given Spark session, or on a new local one. `host="local"` runs in this process, without Spark.

        `checkpoint` is the folder that a restart continues from, on both hosts. Without one, state is in a temporary
        folder on Spark, and in memory on the local host. `partitions` is the number of parts of the state; a restart
        can change it. With `allow_unbounded`, queries with unbounded state can run, and `explain` marks them. `ansi`
        and `time_zone` are settings for expressions. On Spark they come from the session and must not be given here;
        on the local host the defaults are True and "UTC". `sharing` is auto, isolated, pull-up, mem-opt or
        cpu-opt: what state queries have in common. The answers are the same; `ms.Sharing` gives cpu-opt its figures.
        """
        if host not in (None, "local", "spark"):
            raise PlanError(f"there is no host {host!r}", hint='Use host="local" or host="spark".')
        if host == "local":
            self.host: Any = local_host(spark, checkpoint, partitions, sharing_of(sharing))
            self.settings = Settings(
                ansi=True if ansi is None else ansi, zone="UTC" if time_zone is None else time_zone
            )
        else:
            if ansi is not None or time_zone is not None:
                raise PlanError(
                    "on Spark, ansi and time_zone are the session's",
                    hint="Set spark.sql.ansi.enabled and spark.sql.session.timeZone before the engine is made.",
                )
            self.host = spark_host(spark, checkpoint, partitions, sharing_of(sharing))
            self.settings: Settings = self.host.settings
        self._sharing = sharing_of(sharing)
        self._sources: dict[str, Any] = {}
        self._given: dict[str, tuple[Any, ...]] = {}
        """By stream, as they were given: the source, the rows of an epoch, and the progress."""
        self._statements: dict[str, str] = {}
        """By stream or view: the statement that made it."""
        self._streams: dict[str, nodes.Source] = {}
        self._tables: dict[str, Table] = {}
        self._queries: dict[str, Query] = {}
        self._views: dict[str, Query] = {}
        self._places: dict[int, tuple[nodes.Node, Piece]] = {}
        self._asked: dict[int, tuple[str, str]] = {}
        self._listeners: list[Callable[[dict[str, Any]], Any]] = []
        self._redeclared: dict[str, nodes.Source] = {}
        self._unnamed = 0
        self._allowed = allow_unbounded
        self._marked = allow_unbounded
        self._run: Run | None = None
        self._live = Live(self)
        if checkpoint is not None:
            self.host.listen = Control(self)

    def stream(
        self,
        name: str,
        source: Any,
        *,
        progress: Any = None,
        schema: pa.Schema | str | None = None,
        epoch_rows: int | None = None,
    ) -> Stream:
        """A stream of rows from a source.

        `source` is an Arrow table, an iterable of tables (one per epoch), dict rows, a path of Parquet, CSV or JSON
        files, or a callable that returns the next rows, and None or no rows if there are none now; on Spark also any
        data frame, streaming or not. The same declaration again, for example in a notebook cell that runs twice,
        returns the existing stream. `progress` declares the disorder of the stream,
        from which punctuation follows; without it, windows close only at the end of the stream. `epoch_rows` divides a
        large table into epochs. `schema` is an Arrow schema, or text with the types of Spark: "ts TIMESTAMP, k STRING".
        """
        check_name(name, "stream")
        if name in self._tables:
            raise PlanError(f"there is a table {name!r} already", hint="Choose another name.")
        if is_frame(source):
            made, visible = source, self.host.frame_schema(source)
        else:
            made = make_source(source, schema=as_schema(schema), epoch_rows=epoch_rows)
            visible = made.schema
        check_columns(visible)
        mark = getattr(progress, "mark", None)
        if mark is not None:
            check_known(mark, visible, "the mark")
            check_mark(mark, visible.field(mark).type)
            visible = visible.remove(visible.get_field_index(mark))
        raw = is_frame(source) and UNREADABLE in source.schema.names
        promise = bound_progress(progress, visible)
        node = nodes.Source(name=name, schema=visible, progress=promise, domains=domains_of(visible), raw=raw)
        known = self._streams.get(name)
        if known is not None:
            return self._again(known, node, (source, epoch_rows, progress))
        self._sources[name] = made
        self._given[name] = (source, epoch_rows, progress)
        self._streams[name] = node
        return Stream(self, node)

    def _again(self, known: nodes.Source, now: nodes.Source, given: tuple[Any, ...]) -> Stream:
        """The stream that is declared already, if it is declared in the same way."""
        before, rows, progress = self._given[known.name]
        alike = given[1] == rows and same_source(before, given[0])
        differs = stream_differences(known, now, same_source=alike, same_promise=given[2] == progress)
        if differs:
            raise PlanError(
                f"there is a stream {known.name!r} already, with {' and '.join(differs)}",
                hint="Choose another name, or begin with a new engine.",
            )
        return Stream(self, known)

    def table(self, name: str, source: Any, *, schema: pa.Schema | str | None = None) -> Table:
        """A table beside the streams, for look-ups: `JOIN name` in SQL, `stream.enrich(table, on=…)` in Python.

        `source` is an Arrow table, dict rows, a path of Parquet, CSV or JSON files, or a callable that returns one of
        these; on Spark also a data frame that is not a stream. It is read now, and again by `refresh`.

        >>> import millstream as ms
        >>> engine = ms.Engine(host="local")
        >>> items = engine.table("items", [{"item": "lamp", "kind": "light"}])
        >>> bids = engine.stream("bids", [{"item": "lamp", "price": 5}, {"item": "sofa", "price": 9}])
        >>> query = bids.enrich(items, on="item", how="left").named("q")
        >>> engine.start(ms.available_now()).await_termination()
        True
        >>> [row["kind"] for row in query.table().sort_by("price").to_pylist()]
        ['light', None]
        """
        check_name(name, "table")
        if name in self._tables or name in self._streams or name in self._views:
            raise PlanError(f"there is a table, stream or view {name!r} already", hint="Choose another name.")
        given = as_schema(schema)
        rows = rows_of(self, source, given)
        check_columns(rows.schema)
        made = Table(self, nodes.Table(name=name, schema=rows.schema), source, given)
        self.host.tables.add(name, rows)
        self._tables[name] = made
        return made

    def table_of(self, given: Any) -> Table:
        """The table for an argument: a table of this engine, its name, or a source for a new table."""
        if isinstance(given, Stream):
            raise PlanError("a stream is no table", hint="Join it: a.join(b, on=…, within=…) or a.join_as_of(b, on=…).")
        if isinstance(given, Table):
            if self._tables.get(given.name) is not given:
                raise PlanError(f"the table {given.name!r} is of another engine", hint="Declare it with engine.table.")
            return given
        if isinstance(given, str) and given in self._tables:
            return self._tables[given]
        number = 1 + sum(name.startswith("table_") for name in self._tables)
        return self.table(f"table_{number}", given)

    def refresh(self, name: str) -> None:
        """Read a table again; the next epochs use the new rows."""
        if name not in self._tables:
            known = nearest(name, self._tables) if self._tables else "There is none: declare it with engine.table."
            raise PlanError(f"there is no table {name!r}", hint=known)
        self.host.tables.refresh(name, self._tables[name].read())

    def sql(self, text: str, *, name: str | None = None) -> Query:
        """The query of an SQL statement; with a `name` it runs under that name. See docs/sql.md."""
        return execute(self, text, name=name)

    def register(self, query: Query, name: str | None) -> Query:
        """Register a query to run under a name; if the same query has this name already, return that one."""
        if name is not None:
            check_name(name, "query")
        for source in nodes.sources(query.node):
            if self._streams.get(source.name) is not source:
                raise PlanError(
                    f"{source.name!r} is not the stream of that name in this engine",
                    hint="It belongs to another engine, or was declared again since. "
                    "Use what stream(…) of this engine returned last.",
                )
        for table in nodes.tables(query.node):
            if table.name not in self._tables or self._tables[table.name].node is not table:
                raise PlanError(f"the table {table.name!r} is of another engine", hint="Declare it with engine.table.")
        chosen = name or query.name or self.free_name(f"query_{len(self._queries) + 1}")
        known = self._queries.get(chosen)
        if known is not None and known is not query:
            differs = query_differences(known, query)
            if differs:
                raise PlanError(
                    f"there is a query {chosen!r} already, with {' and '.join(differs)}", hint="Choose another name."
                )
            if query.name is not None:
                del self._queries[query.name]
            return known
        if query.name is not None and query.name != chosen:
            if query.name in self.host.queries:
                raise PlanError(f"query {query.name!r} has run under that name", hint="Name it before the first start.")
            del self._queries[query.name]
        query.name = chosen
        self._queries[chosen] = query
        self._live.come(query)
        return query

    def free_name(self, wish: str = "") -> str:
        """An unused name: the given one, or the same with a number."""
        taken = (self._queries, self._streams, self._views, self._tables)
        if wish and not any(wish in one for one in taken):
            return wish
        stem, first = (wish, 2) if wish else ("query", self._unnamed + 1)
        number = next(n for n in count(first) if not any(f"{stem}_{n}" in one for one in taken))
        self._unnamed = self._unnamed if wish else number - 1
        return f"{stem}_{number}"

    def placed(self, node: nodes.Node, piece: Piece, sides: tuple[str, str] = SIDES) -> None:
        """Remember where a statement asks for a node, and what it calls the sides of a join, for errors."""
        self._places[id(node)] = (node, piece)
        self._asked[id(node)] = sides

    def punctuate(self, stream: Stream, attribute: str | None, *, before: Any = None, **equal: Any) -> None:
        """Supply a punctuation to a stream; it takes effect at the end of the next epoch."""
        node = stream.node
        if not isinstance(node, nodes.Source) or not isinstance(node.progress, Supplied):
            raise PlanError(
                "only a source whose progress is supplied can be punctuated",
                hint="Declare it with engine.stream(…, progress=ms.supplied()).",
            )
        parts: dict[str, Any] = {name: Equal(value) for name, value in equal.items()}
        if attribute is not None:
            parts[attribute] = UpTo(before)
        self.host.supply(node, UserPunctuation(Pattern(parts)))

    @property
    def spark(self) -> Any:
        """The Spark session in use; None on the local host."""
        return getattr(self.host, "spark", None)

    def explain(self) -> str:
        """Every query as a tree: where each part runs, what is shared, which strategies were chosen and why."""
        asked = {name: query.node for name, query in self._queries.items()}
        return self.host.explain(asked, self._sources, unbounded=self._marked)

    def check(self, *, end_of_stream: bool = False) -> CheckReport:
        """For each operator: what it keeps, what releases it and how long that takes, or why its state is unbounded.

        >>> import millstream as ms
        >>> engine = ms.Engine(host="local")
        >>> bids = engine.stream("bids", [{"ts": 3, "item": "lamp"}], progress=ms.bounded_disorder("ts", 2))
        >>> _ = bids.window("ts", range=10).agg(n=ms.count()).named("counts")
        >>> print(engine.check())
        query counts: safe
          aggregate over range 10 slide 10 on ts
            keeps    partials of open windows
            forgets  on punctuation [[ts:+]]
            horizon  12 of ts: range 10 + disorder 2
          stream bids promises {[[ts:+]]} (ts within 2)
        """
        asked = {name: query.node for name, query in self._queries.items()}
        return report(asked, ends=end_of_stream, asked=self._asked, sharing=self._sharing)

    def start(
        self,
        trigger: Trigger | None = None,
        *,
        end_of_stream: bool = False,
        allow_unbounded: bool = False,
        name: str = "run",
    ) -> Run:
        """Run every registered query.

        With `end_of_stream`, the end of the available input is the final punctuation, and all windows close. Without
        it, windows that punctuation has not closed stay open, and the report shows them. A query with unbounded state
        is then refused, unless `allow_unbounded` is set, which is for this run only.
        """
        if self._run is not None and self._run.is_active:
            raise PlanError("the engine is running already", hint="Stop the run, or wait for its end.")
        if trigger is not None and not isinstance(trigger, Trigger):
            raise PlanError(
                f"{trigger!r} is not a trigger", hint='Use ms.available_now(), ms.once() or ms.every("1 second").'
            )
        if not self._queries:
            raise PlanError("there is no query to run", hint='Name one with .named("q"), or give it a sink.')
        allowed = self._allowed or allow_unbounded
        # What one start let run stays marked; what the next may run is asked anew.
        self._marked = self._marked or allowed
        if not allowed:
            refuse(self.check(end_of_stream=end_of_stream), self._places)
        self._hand_over()
        self._run = Run(
            self.host,
            trigger or AvailableNow(),
            end_of_stream=end_of_stream,
            name=name,
            before=nothing_yet({key: query.node for key, query in self._queries.items()}),
            listeners=self._listeners,
        )
        return self._run.begin()

    def drain(self, name: str) -> None:
        """Emit everything that a query holds, as if its streams had ended, and remove it from the checkpoint.

        Use it before you change a query: call it with the old query, then declare the new one, which starts with the
        rows that arrive from then on. Other queries are not affected.
        """
        if self._run is not None and self._run.is_active:
            raise PlanError("the engine is running", hint="Stop the run first.")
        if name not in self._queries:
            known = nearest(name, self._queries) if self._queries else "Declare it as it was when it ran."
            raise PlanError(f"there is no query {name!r}", hint=known)
        if not hasattr(self.host, "drain"):
            raise PlanError(
                f"this engine has no checkpoint, so it keeps no state of {name!r} between runs",
                hint="Start it with end_of_stream=True: all results that it holds then leave.",
            )
        self._hand_over()
        self.host.drain(name)
        del self._queries[name]

    def _hand_over(self) -> None:
        """Tell the host of the queries that are new to it."""
        new = [self.host_query(key, query) for key, query in self._queries.items() if key not in self.host.queries]
        names = [source.name for query in new for source in nodes.sources(query.node)]
        self.host.add(new, {name: self._sources[name] for name in names})
        self._live.speak()

    def on_epoch(self, fn: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any]], Any]:
        """Call `fn(report)` after each epoch, in the thread of the run. The report is the same as `run.progress`.

        An error in `fn` stops the run as a failure with that cause. Can be used as a decorator.

        >>> import millstream as ms
        >>> engine = ms.Engine(host="local")
        >>> _ = engine.stream("s", [{"x": 1}, {"x": 2}], epoch_rows=1).where("x > 1").named("q")
        >>> @engine.on_epoch
        ... def show(report):
        ...     print(report["epoch"], report["input_rows"], report["queries"]["q"]["rows_out"])
        >>> engine.start(ms.available_now()).await_termination()
        0 1 0
        1 1 1
        True
        """
        if not callable(fn):
            raise PlanError(f"{fn!r} cannot be called", hint="Give a function of one report: engine.on_epoch(print).")
        self._listeners.append(fn)
        return fn
