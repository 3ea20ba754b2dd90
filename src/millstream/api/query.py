"""A query: a stream of results with a name, and three outputs: results, late rows, rejected rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import pyarrow as pa

from millstream.api.output import Output
from millstream.api.stream import Stream
from millstream.plan import nodes
from millstream.runtime.side import late_schema, rejected_schema

if TYPE_CHECKING:
    from millstream.api.engine import Engine


class SideOutput(Output):
    """Late or rejected rows of a query."""

    def __init__(self, what: str, schema: pa.Schema) -> None:
        """Rows of this schema."""
        super().__init__(what)
        self.schema = schema

    def _schema(self) -> pa.Schema:
        return self.schema


class Query(Output, Stream):
    """Results of a plan. It runs once it has a name or a sink; it can also be read as a stream."""

    def __init__(self, engine: Engine, node: nodes.Node) -> None:
        """The results of `node`."""
        Stream.__init__(self, engine, node)
        Output.__init__(self, "this query")
        self.name: str | None = None
        streams = nodes.sources(node)
        self.late = SideOutput("the late output", late_schema(streams))
        """Rows that a punctuation of an earlier epoch had ruled out, with that punctuation."""
        self.rejected = SideOutput("the rejected output", rejected_schema(streams))
        """Rows that could not be used, with the reason."""

    def named(self, name: str) -> Query:
        """Give the query its name, and have the engine run it.

        If there is a query of that name already that asks the same, it is that one.
        """
        return self.engine.register(self, name)

    def _schema(self) -> pa.Schema:
        return self.node.schema

    def _add(self, sink: object) -> Self:
        if self.name is None:
            self.engine.register(self, None)
        return super()._add(sink)  # type: ignore[arg-type]  # any sink
