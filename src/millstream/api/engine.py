"""The engine: streams, queries over them, and the host that runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from millstream.api.contract import refuse
from millstream.api.query import Query
from millstream.api.sql import execute
from millstream.api.stream import Stream
from millstream.api.table import Table, rows_of
from millstream.core.domain import Domain
from millstream.core.errors import PlanError, SchemaError, WindowError, nearest
from millstream.core.generator import Supplied
from millstream.core.pattern import Equal, Pattern, UpTo
from millstream.core.quote import check_reserved
from millstream.core.settings import Settings
from millstream.kernels.group import check_groupable
from millstream.kernels.ticks import domain_of
from millstream.plan import nodes
from millstream.plan.report import Report, report
from millstream.runtime.batch import UNREADABLE
from millstream.runtime.local import LocalHost
from millstream.runtime.punctuate import UserPunctuation
from millstream.runtime.query import HostQuery
from millstream.runtime.run import Run
from millstream.runtime.sources import make_source
from millstream.runtime.trigger import AvailableNow, Trigger
from millstream.sql.text import Piece


class Engine:
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
    ) -> None:
        """On Spark with the given session, or with a local one made for it; `host="local"` needs no Spark.

        `checkpoint` is the folder that a restart continues from; without one a temporary folder is used.
        `partitions` is how many parts state is kept in; a restart may change it. With `allow_unbounded` queries
        run that would keep rows for ever, and `explain` says which. `ansi` and `time_zone` are what expressions mean
        by a failure and by a day: on Spark they are the session's, and not given here; else they are True and "UTC".
        """
        if host not in (None, "local", "spark"):
            raise PlanError(f"there is no host {host!r}", hint='Use host="local" or host="spark".')
        if host == "local":
            if spark is not None or checkpoint is not None or partitions is not None:
                raise PlanError(
                    "the local host takes no session, checkpoint or partitions",
                    hint='Leave host="local" out to run on Spark.',
                )
            self.host: Any = LocalHost()
            self.settings = Settings(
                ansi=True if ansi is None else ansi, zone="UTC" if time_zone is None else time_zone
            )
        else:
            if ansi is not None or time_zone is not None:
                raise PlanError(
                    "on Spark, ansi and time_zone are the session's",
                    hint="Set spark.sql.ansi.enabled and spark.sql.session.timeZone before the engine is made.",
                )
            self.host = _spark_host(spark, checkpoint, partitions)
            self.settings: Settings = self.host.settings
        self._sources: dict[str, Any] = {}
        self._streams: dict[str, nodes.Source] = {}
        self._tables: dict[str, Table] = {}
        self._queries: dict[str, Query] = {}
        self._views: dict[str, Query] = {}
        self._places: dict[int, tuple[nodes.Node, Piece]] = {}
        self._allowed = allow_unbounded
        self._marked = allow_unbounded
        self._run: Run | None = None

    def stream(
        self,
        name: str,
        source: Any,
        *,
        progress: Any = None,
        schema: pa.Schema | None = None,
        epoch_rows: int | None = None,
    ) -> Stream:
        """A stream of rows from a source.

        `source` is an Arrow table, an iterable of tables (one an epoch), dict rows, a path of Parquet, CSV or JSON
        files, or a callable; on Spark also any data frame, streaming or not. `progress` says how the stream's
        disorder becomes punctuation; without it windows close only at the end of the stream. `epoch_rows` cuts a
        large table into epochs.
        """
        check_name(name, "stream")
        if name in self._streams:
            raise PlanError(f"there is a stream {name!r} already", hint="Choose another name.")
        if name in self._tables:
            raise PlanError(f"there is a table {name!r} already", hint="Choose another name.")
        if _is_frame(source):
            made, visible = source, self.host.frame_schema(source)
        else:
            made = make_source(source, schema=schema, epoch_rows=epoch_rows)
            visible = made.schema
        _check_columns(visible)
        mark = getattr(progress, "mark", None)
        if mark is not None:
            _known(mark, visible, "the mark")
            _check_mark(mark, visible.field(mark).type)
            visible = visible.remove(visible.get_field_index(mark))
        raw = _is_frame(source) and UNREADABLE in source.schema.names
        promise = _bound(progress, visible)
        node = nodes.Source(name=name, schema=visible, progress=promise, domains=_domains(visible), raw=raw)
        self._sources[name] = made
        self._streams[name] = node
        return Stream(self, node)

    def table(self, name: str, source: Any, *, schema: pa.Schema | None = None) -> Table:
        """A table beside the streams, to enrich them from: `JOIN name` in SQL, `stream.enrich(table, on=…)`.

        `source` is an Arrow table, dict rows, a path of Parquet, CSV or JSON files, or a callable that returns one of
        these; on Spark also a data frame that is no stream. It is read now, and again when `refresh` says so.

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
        rows = rows_of(self, source, schema)
        _check_columns(rows.schema)
        made = Table(self, nodes.Table(name=name, schema=rows.schema), source, schema)
        self.host.tables.add(name, rows)
        self._tables[name] = made
        return made

    def table_of(self, given: Any) -> Table:
        """The table that is meant: one of this engine, the name of one, or a source that becomes one."""
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
        """Read a table again; what is there now holds from the next epoch on."""
        if name not in self._tables:
            known = nearest(name, self._tables) if self._tables else "There is none: declare it with engine.table."
            raise PlanError(f"there is no table {name!r}", hint=known)
        self.host.tables.refresh(name, self._tables[name].read())

    def sql(self, text: str, *, name: str | None = None) -> Query:
        """The query that an SQL statement asks; with a `name` it runs under that name. See docs/sql.md."""
        return execute(self, text, name=name)

    def register(self, query: Query, name: str | None) -> None:
        """Have a query run, under a name of its own."""
        if name is not None:
            check_name(name, "query")
        for source in nodes.sources(query.node):
            if self._streams.get(source.name) is not source:
                raise PlanError(
                    f"{source.name!r} is not the stream of that name in this engine",
                    hint="Another engine's, or declared again since: read it anew.",
                )
        for table in nodes.tables(query.node):
            if table.name not in self._tables or self._tables[table.name].node is not table:
                raise PlanError(f"the table {table.name!r} is of another engine", hint="Declare it with engine.table.")
        chosen = name or query.name or f"query_{len(self._queries) + 1}"
        known = self._queries.get(chosen)
        if known is not None and known is not query:
            raise PlanError(f"there is a query {chosen!r} already", hint="Choose another name.")
        if query.name is not None and query.name != chosen:
            if query.name in self.host.queries:
                raise PlanError(f"query {query.name!r} has run under that name", hint="Name it before the first start.")
            del self._queries[query.name]
        query.name = chosen
        self._queries[chosen] = query

    def placed(self, node: nodes.Node, piece: Piece) -> None:
        """Remember where in a statement a node was asked for, so that a refusal can point there."""
        self._places[id(node)] = (node, piece)

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

    def check(self, *, end_of_stream: bool = False) -> Report:
        """What each operator keeps, what lets it forget and how long that takes, or why it never would.

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
        return report({name: query.node for name, query in self._queries.items()}, ends=end_of_stream)

    def start(
        self,
        trigger: Trigger | None = None,
        *,
        end_of_stream: bool = False,
        allow_unbounded: bool = False,
        name: str = "run",
    ) -> Run:
        """Run every registered query.

        With `end_of_stream` the end of the available input is the final punctuation, so that everything
        closes; else what punctuation has not closed stays open, and the report says so. A query that would then
        keep rows for ever is refused, unless `allow_unbounded` lets it run: in this run, not in the next.
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
        new = [self._host_query(key, query) for key, query in self._queries.items() if key not in self.host.queries]
        names = [source.name for query in new for source in nodes.sources(query.node)]
        self.host.add(new, {name: self._sources[name] for name in names})
        self._run = Run(self.host, trigger or AvailableNow(), end_of_stream=end_of_stream, name=name)
        return self._run

    def _host_query(self, name: str, query: Query) -> HostQuery:
        outputs = (query, query.late, query.rejected)
        if self.spark is None and any(one.needs_spark for one in outputs):
            raise PlanError(
                f"query {name!r} writes to a table of Spark, and this engine runs in this process",
                hint='Leave host="local" out, or choose a folder: .to_parquet("out").',
            )
        results, late, rejected = (one.resolved() for one in outputs)
        return HostQuery(name, query.node, results, late, rejected)


def _spark_host(spark: Any, checkpoint: str | Path | None, partitions: int | None) -> Any:
    try:
        from millstream.spark.host import SparkHost  # noqa: PLC0415 - the local host runs without pyspark
        from millstream.spark.session import local_session  # noqa: PLC0415
    except ImportError as error:
        raise PlanError(
            f"Spark is not installed: {error}",
            hint='Install millstream[spark], or run in this process with ms.Engine(host="local").',
        ) from error

    return SparkHost(spark if spark is not None else local_session(partitions), checkpoint, partitions)


def _is_frame(source: Any) -> bool:
    """Is it a Spark data frame? Told by its ways, so that the local host need not know Spark."""
    return hasattr(source, "mapInArrow") and hasattr(source, "isStreaming")


def _bound(progress: Any, schema: pa.Schema) -> Any:
    """The generator with its attribute checked and its lengths in ticks."""
    if progress is None:
        return None
    if not hasattr(progress, "step"):
        raise PlanError(
            f"{progress!r} is not a way to progress",
            hint='Use ms.ordered("ts"), ms.bounded_disorder("ts", "5 seconds"), ms.supplied() …',
        )
    for key in (*progress.keys, *(progress.per if isinstance(progress, Supplied) else ())):
        _known(key, schema, "progress")
        check_groupable(schema.field(key).type, key)
    if progress.attribute is None and isinstance(progress, Supplied):
        return progress
    attribute: Any = progress.attribute
    _known(attribute, schema, "progress")
    return progress.bind(domain_of(schema.field(attribute).type, attribute))


def _domains(schema: pa.Schema) -> dict[str, Domain]:
    found: dict[str, Domain] = {}
    for field in schema:
        try:
            found[field.name] = domain_of(field.type, field.name)
        except WindowError:
            continue
    return found


def check_name(name: object, what: str) -> None:
    """Refuse a name that is no text, or empty."""
    if not isinstance(name, str) or not name:
        raise PlanError(f"{name!r} is not the name of a {what}", hint="Give a word in quotes.")


def _check_columns(schema: pa.Schema) -> None:
    check_reserved(schema.names)
    twice = [name for name in schema.names if schema.names.count(name) > 1]
    if twice:
        raise SchemaError(f"there are {len(twice)} columns {twice[0]!r}", hint="Rename or drop all but one.")
    for field in schema:
        if pa.types.is_union(field.type):
            raise SchemaError(f"{field.name!r} is {field.type}, which no operator reads", hint="Leave the column out.")


def _check_mark(name: str, kind: pa.DataType) -> None:
    types = pa.types
    if not (types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind)):
        raise SchemaError(
            f"the mark {name!r} is {kind}, which cannot mark a row",
            hint="A mark is true where the row is a punctuation, or holds the pattern as text.",
        )


def _known(name: str, schema: pa.Schema, what: str) -> None:
    if name not in schema.names:
        raise SchemaError(f"{what} names the unknown column {name!r}", hint=nearest(name, schema.names))
