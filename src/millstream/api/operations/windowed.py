"""A stream cut into windows, waiting for its groups and its aggregates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api.foreign_words import refuse_word
from millstream.api.operations.wide import check_wide
from millstream.api.operations.wide import wide as side_by_side
from millstream.core.aggregate import AggregateCall
from millstream.core.errors import PlanError
from millstream.core.expression import Expression
from millstream.core.flush import Flush
from millstream.core.quote import apart
from millstream.core.window import WHOLE
from millstream.kernels.expressions.evaluate import type_of
from millstream.kernels.group import check_groupable
from millstream.ops.windowing.aggregate_spec import WINDOW_COLUMNS
from millstream.plan import nodes
from millstream.runtime.bind_aggregates import bind_aggregate
from millstream.sql.expression import expression, named_expression

if TYPE_CHECKING:
    from millstream.api.query import Query
    from millstream.api.stream import Stream


class Windowed:
    """A stream cut into windows, waiting for its aggregates."""

    def __init__(
        self,
        stream: Stream,
        attribute: str,
        windows: tuple[Any, ...],
        groups: tuple[str, ...],
        flush: Flush | None = None,
        shown: Mapping[str, str] | None = None,
    ) -> None:
        """Windows on `attribute`, grouped by `groups` so far; `flush` says how results leave.

        `shown` are the names that computed groups leave under.
        """
        self.stream = stream
        self.attribute = attribute
        self.windows = windows
        self.groups = groups
        self.flush = flush
        self.shown = dict(shown or {})

    if not TYPE_CHECKING:  # a checker should still find what is not there

        def __getattr__(self, name):
            return refuse_word(type(self).__name__, name)

    def group_by(self, *columns: str, **named: str) -> Windowed:
        """Aggregate per combination of these; null is a value like any other.

        A group is a column, or an expression with a name: `group_by("upper(k) AS k")`, `group_by(k="upper(k)")`.
        Aggregates see the columns of the stream, even if a group has the same name.
        """
        names = self.stream.schema.names
        groups = list(self.groups)
        computed: dict[str, Expression] = {}
        shown = dict(self.shown)
        for text in columns:
            if text in names or not isinstance(text, str) or text.isidentifier():  # a column, or meant to be one
                groups.append(text)
                continue
            name, parsed = named_expression(text, self.stream.schema, self.stream.engine.settings)
            self._compute(name, parsed, groups, computed, shown)
        for name, text in named.items():
            parsed = expression(text, self.stream.schema, self.stream.engine.settings)
            self._compute(name, parsed, groups, computed, shown)
        stream = self.stream if not computed else self._with(computed)
        stream._check_keys(groups)
        unique = tuple(dict.fromkeys(groups))
        return Windowed(stream, self.attribute, self.windows, unique, self.flush, shown)

    def _compute(
        self, name: str, parsed: Expression, groups: list[str], computed: dict[str, Expression], shown: dict[str, str]
    ) -> None:
        """A group that is an expression: a column of its own, hidden where the stream has one of that name."""
        if parsed.plain == name:
            groups.append(name)
            return
        if name in (*groups, *shown.values()):
            raise PlanError(f"the group {name!r} is named twice", hint="Give each group a name of its own.")
        hidden = apart(f"__group_{len(shown)}", self.stream.schema.names)
        check_groupable(type_of(parsed, self.stream.schema), name)
        computed[hidden], shown[hidden] = parsed, name
        groups.append(hidden)

    def _with(self, computed: Mapping[str, Expression]) -> Stream:
        """The stream with computed columns beside its own."""
        schema = self.stream.schema
        fields = [*schema, *(pa.field(name, type_of(one, schema)) for name, one in computed.items())]
        columns = (*((name, Expression.column(name)) for name in schema.names), *computed.items())
        node = nodes.Project(input=self.stream.node, columns=columns, schema=pa.schema(fields), hidden=True)
        return self.stream._query(node)

    def agg(
        self,
        *unnamed: Any,
        strategy: str = "auto",
        hysteresis: float | None = None,
        wide: bool = False,
        **aggregates: Any,
    ) -> Query:
        """Compute these aggregates for every window: `agg(top=ms.max("price"), n=ms.count())`.

        `strategy` is auto, wid, paned, differential, buffered, adaptive or bins: the answers are the same. With `wide`,
        several ranges are side by side: one row per window end and group, with columns such as `n_1m` and `n_1h`. If a
        range has no rows of the group, counts are 0 and all other aggregates are null.
        """
        if unnamed:
            raise PlanError(
                f"the aggregate {unnamed[0]!s} has no name", hint="Write agg(name=…), as in agg(n=ms.count())."
            )
        for name, call in aggregates.items():
            if not isinstance(call, AggregateCall):
                raise PlanError(
                    f"{name}={call!r} is not an aggregate",
                    hint='Write one such as n=ms.count() or t=ms.sum("x").',
                )
            if self.windows == (WHOLE,) and call.function in ("first", "last"):
                raise PlanError(
                    f"{call} needs a window, whose attribute says which row is {call.function}",
                    hint=_extreme(call),
                )
        if hysteresis is not None and not (isinstance(hysteresis, int | float) and 0 <= hysteresis < 1):
            raise PlanError(f"hysteresis {hysteresis!r} is not in [0, 1)", hint="The default is 0.25.")
        self._check_shown(aggregates)
        schema, settings = self.stream.schema, self.stream.engine.settings
        node = bind_aggregate(
            self.stream.node,
            attribute=self.attribute,
            windows=self.windows,
            groups=self.groups,
            calls=aggregates,
            strategy=strategy,
            parse=lambda text: expression(text, schema, settings),
            options={} if hysteresis is None else {"hysteresis": hysteresis},
            flush=self.flush,
        )
        whole = self.windows == (WHOLE,)
        if wide:
            check_wide(self.windows)
            shown = [self.shown.get(name, name) for name in self.groups]
            long = self.stream._query(_leaving(node, self.shown, whole=False) if self.shown else node)
            return side_by_side(long, self.windows, node.domain, shown, aggregates)
        return self.stream._query(_leaving(node, self.shown, whole=whole) if whole or self.shown else node)

    def _check_shown(self, aggregates: Mapping[str, Any]) -> None:
        taken = {*aggregates, *(name for name in self.groups if name not in self.shown)}
        if self.windows != (WHOLE,):
            taken |= set(WINDOW_COLUMNS)
        for name in self.shown.values():
            if name in taken:
                raise PlanError(
                    f"the group {name!r} has the name of another result column", hint="Choose another name for one."
                )


def _extreme(call: AggregateCall) -> str:
    """What says the same of all rows: the value at the least or the greatest time."""
    function = "min_by" if call.function == "first" else "max_by"
    return f'Say by which column: ms.{function}("{call.arguments[0]}", "ts").'


def _leaving(node: nodes.Aggregate, shown: Mapping[str, str], *, whole: bool) -> nodes.Project:
    """Groups under their own names; what has no window has no window columns."""
    names = [*node.groups, *(one.name for one in node.aggregates)] if whole else node.schema.names
    columns = tuple((shown.get(name, name), Expression.column(name)) for name in names)
    schema = pa.schema([node.schema.field(name).with_name(shown.get(name, name)) for name in names])
    return nodes.Project(input=node, columns=columns, schema=schema, hidden=True)
