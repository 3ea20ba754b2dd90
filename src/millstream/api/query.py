"""A query: a stream of results with a name, and its outputs: results, late rows, rejected rows, partial results."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from millstream.api.operations.feedback import Said, Sent, promised, send
from millstream.api.output import Output
from millstream.api.side import SideOutput
from millstream.api.stream import Stream
from millstream.core.contract.scheme import Scheme
from millstream.core.errors import PlanError
from millstream.kernels.ticks import edge_value
from millstream.plan import nodes
from millstream.runtime.outputs.side import flagged_schema, late_schema, rejected_schema

if TYPE_CHECKING:
    from millstream.api.engine import Engine


class Query(Output, Stream):
    """Results of a plan. A query runs if it has a name or a sink. It can also be read as a stream."""

    def __init__(self, engine: Engine, node: nodes.Node) -> None:
        """The results of `node`."""
        Stream.__init__(self, engine, node)
        Output.__init__(self, "this query")
        self.name: str | None = None
        streams = nodes.sources(node)
        self.late = SideOutput("late", late_schema(streams), self)
        """Rows that a punctuation of an earlier epoch had ruled out, with that punctuation."""
        self.rejected = SideOutput("rejected", rejected_schema(streams), self)
        """Rows that could not be used, with the reason."""
        self.partial = SideOutput("partial", flagged_schema(node.schema), self)
        """Results that were demanded before they were complete, with `is_final` false."""

    @property
    def sides(self) -> tuple[SideOutput, ...]:
        """The outputs beside the results."""
        return self.late, self.rejected, self.partial

    def named(self, name: str) -> Query:
        """Name the query, and register it with the engine.

        If the same query is already registered under this name, return that one.
        """
        return self.engine.register(self, name)

    def check_not_started(self, what: str) -> None:
        """Refuse a new sink after the start of the query: it would get only a part of the rows."""
        if self.name is not None and self.name in self.engine.host.queries:
            raise PlanError(
                f"query {self.name!r} has started, so nothing can be added to {what}",
                hint="Add the sinks before .named(…), or both inside of `with engine.changes():`.",
            )

    def _schema(self) -> pa.Schema:
        return self.node.schema

    @property
    def complete_from(self) -> Any:
        """The first value of its windowing attribute from which the answers of a query that came later are complete.

        Of the windows that begin earlier some do not leave, and none is wrong. Of a join, results leave whose latest
        row has this time or a later one. None: it has all rows from the beginning, or nobody can know.
        """
        found = [] if self.name is None else self.engine.host.complete_from(self.name)
        known = [(since, node) for node, since in found if since is not None]
        if not known:
            return None
        since, node = max(known, key=lambda one: one[0])
        times = node.times() if isinstance(node, nodes.Join) else None
        kind = node.schema.field("window_start") if times is None else node.inputs[0].schema.field(times[0])
        return edge_value(since, kind.type)

    def feedback(self, said: Said) -> Sent:
        """Tell the query's operators what its reader ignores, from the next epoch on; see docs/guide/feedback.md.

        >>> import millstream as ms
        >>> engine = ms.Engine(host="local")
        >>> rows = [{"ts": 1, "road": 5}, {"ts": 2, "road": 84}]
        >>> query = engine.stream("cars", rows, progress=ms.ordered("ts")).where("ts > 0").named("q")
        >>> handle = query.feedback(ms.assumed(road=84, ttl=10))
        >>> engine.start(ms.available_now()).await_termination()
        True
        >>> query.table().to_pylist(), handle.in_force
        ([{'ts': 1, 'road': 5}], True)
        """
        return send(self, said)

    @cached_property
    def promised(self) -> frozenset[Scheme]:
        """What punctuation of its results there may be, by the contracts of its plan."""
        return promised(self.node)

    def replace(self, other: Query) -> Query:
        """Have another query run under this name, from the next epoch on; sinks stay, unless the other has its own."""
        return self.engine.replace(self, other)

    def _add(self, sink: object) -> Self:
        made = super()._add(sink)  # type: ignore[arg-type]  # any sink
        if self.name is None:
            self.engine.register(self, None)
        return made
