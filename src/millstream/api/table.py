"""A table beside the streams: a name, its columns, and where its rows are read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.core.errors import PlanError
from millstream.plan import nodes
from millstream.runtime.tables import conforming, read_whole

if TYPE_CHECKING:
    from millstream.api.engine import Engine


class Table:
    """Rows that do not change until `engine.refresh` reads them again."""

    def __init__(self, engine: Engine, node: nodes.Table, source: Any, schema: pa.Schema | None) -> None:
        """A table of an engine, read from `source`."""
        self.engine = engine
        self.node = node
        self.source = source
        self._given = schema

    @property
    def name(self) -> str:
        """Its name in statements."""
        return self.node.name

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        return self.node.schema

    def read(self) -> pa.Table:
        """The current rows, with the columns of the first read."""
        return conforming(self.name, rows_of(self.engine, self.source, self._given), self.schema)


def rows_of(engine: Engine, source: Any, schema: pa.Schema | None) -> pa.Table:
    """All rows of a source; on Spark it can be a data frame that is not a stream."""
    if hasattr(source, "mapInArrow") and hasattr(source, "isStreaming"):
        if source.isStreaming:
            raise PlanError(
                "a table is read whole, and this data frame is a stream",
                hint="Read it with spark.read, or join it as a stream: engine.stream(…) and join or join_as_of.",
            )
        return engine.host.frame_table(source)
    return read_whole(source, schema)
