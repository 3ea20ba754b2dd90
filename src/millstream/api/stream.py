"""A stream of rows, and the operations on it. Every method returns a new stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api.foreign_words import refuse_word
from millstream.api.operations.as_of import as_of_node
from millstream.api.operations.enrich import enrich_node
from millstream.api.operations.feedback import instrument_node
from millstream.api.operations.join import Keys, join_node, left_alone, speaking_join
from millstream.api.operations.paced import compute_node, pace_node
from millstream.api.operations.top import Columns, top_node
from millstream.api.operations.whole_rows import whole_rows_node
from millstream.api.operations.window import check_flush, make_windows
from millstream.api.operations.windowed import Windowed
from millstream.core.errors import PlanError, SchemaError, nearest
from millstream.core.expression import Expression
from millstream.core.flush import Flush
from millstream.core.quote import apart, check_reserved
from millstream.core.window import WHOLE
from millstream.kernels.expressions.evaluate import as_condition, type_of
from millstream.kernels.group import check_groupable
from millstream.kernels.same import all_alike
from millstream.kernels.ticks import domain_of
from millstream.plan import nodes
from millstream.sql.expression import condition, expression, named_expression
from millstream.sql.statement_expressions import quoted

if TYPE_CHECKING:
    from millstream.api.engine import Engine
    from millstream.api.query import Query

_WHOLE = "__whole"
"""The constant that grouping without a window has in place of a windowing attribute."""


class Stream:
    """A node of the plan, in the user's hands."""

    def __init__(self, engine: Engine, node: nodes.Node) -> None:
        """The rows of `node`."""
        self.engine = engine
        self.node = node

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self.node.schema

    if not TYPE_CHECKING:  # a checker should still find what is not there

        def __getattr__(self, name):
            return refuse_word(type(self).__name__, name)

    def where(self, condition: str) -> Query:
        """The rows that satisfy an SQL condition."""
        parsed = as_condition(expression(condition, self.schema, self.engine.settings), self.schema)
        kind = type_of(parsed, self.schema)
        if not pa.types.is_boolean(kind):
            raise SchemaError(f"{condition} is {kind}, not a condition", hint='Compare something: "price > 10".')
        return self._query(nodes.Select(input=self.node, condition=parsed))

    def filter(self, condition: str) -> Query:
        """The same as `where`, with the name that data frames use."""
        return self.where(condition)

    def with_columns(self, **named: str) -> Query:
        """All columns and computed ones, which replace columns of the same name: `with_columns(total="price * n")`."""
        if not named:
            raise PlanError("with_columns has no columns", hint='Name at least one: with_columns(total="price * n").')
        kept = [quoted(name) for name in self.schema.names if name not in named]
        return self.select(*kept, **named)

    def select(self, *columns: str, **named: str) -> Query:
        """Computed columns: `select("a", "a + b AS c", d="upper(e)")`."""
        schema, settings = self.schema, self.engine.settings
        items = [named_expression(text, schema, settings) for text in columns]
        items += [(name, expression(text, schema, settings)) for name, text in named.items()]
        if not items:
            raise PlanError("select has no columns", hint='Name at least one: select("ts", "price").')
        _unique([name for name, _ in items])
        check_reserved([name for name, _ in items if name not in schema.names])
        schema = pa.schema([pa.field(name, type_of(parsed, self.schema)) for name, parsed in items])
        return self._query(nodes.Project(input=self.node, columns=tuple(items), schema=schema))

    def union(self, *others: Stream) -> Query:
        """The rows of all streams, which must have the same columns. Progress is the minimum.

        If a column has several time zones, the result has the zone of the first stream.
        """
        for other in others:
            if not isinstance(other, Stream):
                raise PlanError(f"{other!r} is not a stream", hint="Unite streams of one engine: a.union(b, c).")
            if not all_alike(self.schema, other.schema):
                raise SchemaError(
                    f"a union of {_shown(self.schema)} and {_shown(other.schema)}",
                    hint="Select the same columns with the same types on both sides first.",
                )
        every = (self.node, *(other.node for other in others))
        return self._query(nodes.Union(inputs=every, schema=self.schema))

    def pace(self, *others: Stream, on: str, within: Any, headroom: Any = None) -> Query:
        """The rows of all streams that are no more than `within` behind the greatest value of `on` that has come.

        Streams that fall behind are told what is too late for them, so that they need not work on it. While they work,
        time goes on: with `headroom`, about the length of an epoch, they are told that much more.

        >>> import millstream as ms
        >>> engine = ms.Engine(host="local")
        >>> fast = engine.stream("fast", [{"ts": 1}, {"ts": 9}], progress=ms.ordered("ts"))
        >>> slow = engine.stream("slow", [{"ts": 2}, {"ts": 8}], progress=ms.ordered("ts"))
        >>> query = fast.pace(slow, on="ts", within=3).named("q")
        >>> engine.start(ms.available_now()).await_termination()
        True
        >>> query.table()["ts"].to_pylist()
        [9, 8]
        """
        return self._query(pace_node(self, others, on, within, headroom))

    def instrument(self, said: Any = None, *, on: Sequence[str] = (), every: int = 1, once: bool = False) -> Query:
        """The same rows; for experiments, it tells the operators below what is ignored.

        After `every` so many rows it says what is `said`, or that it ignores rows with the values that the last row has
        in the columns `on`; with `once`, only the first time. What it says must be over some day: a bound, or a value,
        that punctuation passes.

        >>> import millstream as ms
        >>> engine = ms.Engine(host="local")
        >>> rows = [{"ts": ts} for ts in range(9)]
        >>> stream = engine.stream("s", rows, progress=ms.ordered("ts"), epoch_rows=3)
        >>> query = stream.instrument(ms.assumed("ts < 5"), every=3).named("q")
        >>> engine.start(ms.available_now()).await_termination()
        True
        >>> query.table()["ts"].to_pylist()
        [0, 1, 2, 5, 6, 7, 8]
        """
        return self._query(instrument_node(self, said, on, every, once=once))

    def compute(
        self, function: Callable[[pa.Table], Any], columns: pa.Schema | str, *, cost: int = 1, budget: int | None = None
    ) -> Query:
        """Columns that a function makes of a table of rows, one value a row: for imputation and look-ups.

        `budget` is what may be spent in an epoch, and `cost` what a row costs: rows beyond that wait for the next
        epochs, and punctuation waits behind them. Rows that nobody reads any more are dropped while they wait.

        >>> import millstream as ms
        >>> engine = ms.Engine(host="local")
        >>> cars = engine.stream(
        ...     "cars", [{"ts": 1, "speed": None}], schema="ts BIGINT, speed BIGINT", progress=ms.ordered("ts")
        ... )
        >>> query = cars.compute(lambda rows: {"speed": [50] * len(rows)}, "speed BIGINT", budget=10).named("q")
        >>> engine.start(ms.available_now(), end_of_stream=True).await_termination()
        True
        >>> query.table().to_pylist()
        [{'ts': 1, 'speed': 50}]
        """
        return self._query(compute_node(self, function, columns, cost, budget))

    def join(
        self,
        other: Stream,
        on: Keys = None,
        how: str = "inner",
        *,
        within: Any = None,
        window: Any = None,
        time: str | tuple[str, str] | None = None,
        where: str | None = None,
        thrifty: bool = False,
        impatient: bool = False,
    ) -> Query:
        """Pairs of rows of two streams: `bids.join(asks, on="item", within="5 minutes")`.

        on              columns that must be equal: a name, a list of names, or pairs `[("src", "dest")]`.
        how             inner, left, right, full, semi, anti; also Spark's other names for them.
        within          the maximum distance in time: a length, or `(low, high)`, which means
                        left + low <= right <= left + high. Without it, rows would be kept forever.
        window          instead of `within`: both rows are in the same tumbling window of this length.
        time            the attributes for `within` and `window` (default: the progressing ones).
        where           any other condition on the columns of the pair. Names that both sides have become
                        `left_…` and `right_…`; a key with one name is one column. A semi or anti join returns
                        the left side, with its own names.
        thrifty         tell each side which of its rows find no partner, because the other side is complete there and
                        has none. For inner joins with a `window`, or `within=0`, of which one side is sparse and ahead.
        impatient       tell each side which of its rows have partners that wait, so that they come first, for example
                        from `compute`. For inner joins of which one side is sparse.
        """
        made = join_node(
            self, other, on, how, within=within, window=window, time=time,
            condition=None if where is None else lambda pair: condition(where, pair, self.engine.settings),
        )  # fmt: skip
        return self._query(left_alone(speaking_join(made, thrifty=thrifty, impatient=impatient)))

    def join_as_of(
        self,
        other: Stream,
        on: Keys = None,
        how: str = "inner",
        *,
        time: str | tuple[str, str] | None = None,
        within: Any = None,
        strict: bool = False,
    ) -> Query:
        """Each row with the latest row of another stream that is not after it: `trades.join_as_of(quotes, on="item")`.

        on              columns that must be equal, as in `join`.
        how             inner, or left: rows without a partner leave with nulls.
        time            the attributes to compare (default: the progressing ones).
        within          the maximum age of a partner. Without it, the last row of every key is kept forever.
        strict          exclude partners of the same time.
        """
        return self._query(as_of_node(self, other, on, how, time=time, within=within, strict=strict))

    def enrich(self, table: Any, on: Keys = None, how: str = "inner", *, where: str | None = None) -> Query:
        """Each row with the rows of a table that have its keys: `bids.enrich(items, on="item")`.

        table           a table of `engine.table`, its name, or a source: an Arrow table, a path, a callable.
        on              columns that must be equal: a name, a list of names, or pairs `[("item", "id")]`.
        how             inner, or left: rows without a partner leave with nulls.
        where           any other condition on the columns of the pair, which have the same names as in `join`.
        """
        wanted = None if where is None else lambda pair: condition(where, pair, self.engine.settings)
        return self._query(enrich_node(self, self.engine.table_of(table), on, how, wanted))

    def difference(self, other: Stream, *, window: Any = None, time: str | None = None) -> Query:
        """The rows, each once, that are not in another stream with the same columns; null equals null.

        window          compare rows without their time, within the same tumbling window of this length.
        time            the column that makes progress on both sides (default: the first such column).
        """
        return self._query(whole_rows_node(self, other, "anti", "difference", time=time, window=window))

    def intersect(self, other: Stream, *, window: Any = None, time: str | None = None) -> Query:
        """The rows, each once, that are also in another stream with the same columns. See `difference`."""
        return self._query(whole_rows_node(self, other, "semi", "intersect", time=time, window=window))

    def group_by(self, *columns: str, **named: str) -> Windowed:
        """Aggregate without a window: one result per group, when punctuation says that the group is over.

        Groups are columns or expressions: `group_by("k")`, `group_by("upper(k) AS k")`, `group_by(k="upper(k)")`.
        """
        names = [Expression.column(name) for name in self.schema.names]
        whole = expression("0", self.schema, self.engine.settings)
        hidden = apart(_WHOLE, self.schema.names)
        items = (*((str(one), one) for one in names), (hidden, whole))
        schema = self.schema.append(pa.field(hidden, pa.int32()))
        node = nodes.Project(input=self.node, columns=items, schema=schema, hidden=True)
        return Windowed(Stream(self.engine, node), hidden, (WHOLE,), ()).group_by(*columns, **named)

    def distinct(self, *columns: str) -> Query:
        """The first row of each combination of `columns` (default: all)."""
        names = tuple(dict.fromkeys(columns or self.schema.names))
        self._check_keys(names)
        return self._query(nodes.Distinct(input=self.node, columns=names))

    def top(self, rows: int | None, *, per: Columns, by: Columns, number: str | None = None) -> Query:
        """The first rows of each group, once it is complete: `bids.top(3, per="auction", by="price DESC")`.

        rows            the number of rows; None for all of them, to number them.
        per             the columns of the group. Punctuation on these columns says when a group is complete.
        by              the columns to order by, ascending or `DESC`; nulls last; the other columns decide ties.
        number          the name of a column for the position of a row in its group, from 1.
        """
        return self._query(top_node(self, rows, per, by, number))

    def sort(self, attribute: str) -> Query:
        """Rows in order of a progressing attribute, released by its punctuation."""
        self._check((attribute,))
        domain_of(self.schema.field(attribute).type, attribute)
        return self._query(nodes.Sort(input=self.node, attribute=attribute))

    def window(
        self,
        attribute: str | None = None,
        *,
        range: Any = None,
        slide: Any = None,
        start: Any = None,
        by: str = "range",
        partition_by: str | Sequence[str] = (),
        per: str | None = None,
        gap: Any = None,
        extent: Callable[[int], tuple[int, int]] | None = None,
        wids: Callable[[int], Iterable[int]] | None = None,
        flush: Flush | None = None,
    ) -> Windowed:
        """Divide the stream into windows.

        range, slide    a length of the attribute: a duration for timestamps, a number for numbers. Without a slide,
                        windows are tumbling; `range="all"` is a landmark; a list of ranges gives several windows.
                        A function from the attribute's domain to a window gives a window kind of your own.
        start           where window 0 begins to count (default: aligned to the epoch or zero; windows of whole days to
                        midnight in the engine's time zone).
        by="rows"       range and slide are numbers of rows, in order of arrival or, with an attribute, in its order;
                        `partition_by` numbers the rows of each partition separately.
        per="tuple"     a window ends at every `slide`-th row to arrive; per="rank": in the order of the attribute.
        gap             session windows.
        extent, wids    a user-defined window, in ticks of the attribute.
        flush           how to spread the results of a closed window over epochs: `ms.slow_flush(rows=1000)` or
                        `ms.lazy_flush()`.
        """
        keys: tuple[Any, ...] = tuple(partition_by) if isinstance(partition_by, list | tuple) else (partition_by,)
        self._check_keys(keys)
        keys = tuple(dict.fromkeys(keys))
        made = make_windows(
            self.schema, attribute, range=range, slide=slide, start=start, by=by, partition_by=keys, per=per,
            gap=gap, extent=extent, wids=wids, zone=self.engine.settings.zone,
        )  # fmt: skip
        node = self.node
        if made.sort_by is not None:
            node = nodes.Sort(input=node, attribute=made.sort_by)
        held = check_flush(flush, made.windows)
        return Windowed(Stream(self.engine, node), made.attribute, made.windows, keys, held)

    def named(self, name: str) -> Query:
        """The rows of the stream as a query with this name."""
        return self._query(self.node).named(name)

    def for_each(self, fn: Callable[[pa.Table, int], Any]) -> Query:
        """The rows of the stream as a query; calls `fn(table, epoch)`."""
        return self._query(self.node).for_each(fn)

    def punctuate(self, attribute: str | None = None, *, before: Any = None, **equal: Any) -> None:
        """Supply a punctuation to this source; it holds from the end of the next epoch."""
        self.engine.punctuate(self, attribute, before=before, **equal)

    def _query(self, node: nodes.Node) -> Query:
        from millstream.api.query import Query  # noqa: PLC0415 - a query is a stream too

        return Query(self.engine, node)

    def _check(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.schema.names:
                raise SchemaError(f"there is no column {name!r}", hint=nearest(name, self.schema.names))

    def _check_keys(self, names: Iterable[str]) -> None:
        self._check(names)
        for name in names:
            check_groupable(self.schema.field(name).type, name)


def _unique(names: Sequence[str]) -> None:
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise PlanError(f"the column {twice[0]!r} is named twice", hint="Give each column a name of its own.")


def _shown(schema: pa.Schema) -> str:
    return "(" + ", ".join(f"{field.name} {field.type}" for field in schema) + ")"
