"""What a statement can name: the streams, the views and the queries of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.api.stream import Stream
from millstream.core.errors import PlanError
from millstream.plan import nodes
from millstream.sql.expressions import spelled

if TYPE_CHECKING:
    from millstream.api.engine import Engine
    from millstream.api.query import Query
    from millstream.api.table import Table


@dataclass(frozen=True, slots=True)
class Catalog:
    """The names of one engine."""

    engine: Engine

    @property
    def streams(self) -> dict[str, Stream]:
        """Sources, by name."""
        return {name: Stream(self.engine, node) for name, node in self.engine._streams.items()}

    @property
    def views(self) -> dict[str, Query]:
        """Queries that only have a name to be read by."""
        return self.engine._views

    @property
    def queries(self) -> dict[str, Query]:
        """Queries that run."""
        return self.engine._queries

    @property
    def tables(self) -> dict[str, Table]:
        """Tables beside the streams."""
        return self.engine._tables

    @property
    def names(self) -> list[str]:
        """Everything that FROM may name."""
        return list(dict.fromkeys([*self.views, *self.streams, *self.queries, *self.tables]))

    def spelled(self, name: str) -> str | None:
        """What this name means, in any capitals: a stream, a view or a table before a query that runs."""
        declared = [*self.views, *self.engine._streams, *self.tables]
        return spelled(name, declared) or spelled(name, list(self.queries))

    def add_view(self, name: str, query: Query) -> None:
        """A query to be read by this name."""
        if spelled(name, [*self.views, *self.engine._streams, *self.tables]) is not None:
            raise PlanError(f'there is a stream, table or view "{name}" already', hint="Choose another name.")
        self.views[name] = query

    def redeclare(self, node: nodes.Source) -> None:
        """A stream again, with a promise that it did not make before."""
        self.engine._streams[node.name] = node

    @contextmanager
    def unless_wrong(self) -> Iterator[None]:
        """Streams that are declared again in here are so only if nothing is wrong."""
        before = dict(self.engine._streams)
        try:
            yield
        except BaseException:
            self.engine._streams = before
            raise
