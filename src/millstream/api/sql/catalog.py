"""What a statement can name: the streams, the views and the queries of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.api.stream import Stream
from millstream.core.errors import PlanError
from millstream.plan import nodes
from millstream.sql.statement_expressions import spelled

if TYPE_CHECKING:
    from millstream.api.engine import Engine
    from millstream.api.query import Query
    from millstream.api.table import Table


@dataclass(frozen=True, slots=True)
class Catalog:
    """The names of one engine."""

    engine: Engine

    def stream(self, name: str) -> Stream | None:
        """The source of this name."""
        node = self.engine._streams.get(name)
        return None if node is None else Stream(self.engine, node)

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
        return list(dict.fromkeys([*self.views, *self.engine._streams, *self.queries, *self.tables]))

    def spelled(self, name: str) -> str | None:
        """What this name means, in any capitals: a stream, a view or a table before a query that runs."""
        declared = (self.views, self.engine._streams, self.tables)
        if any(name in one for one in declared):  # as a rule, and there may be thousands
            return name
        found = spelled(name, [known for one in declared for known in one])
        return found or (name if name in self.queries else spelled(name, list(self.queries)))

    def add_view(self, name: str, query: Query) -> None:
        """A query to be read by this name."""
        if spelled(name, [*self.views, *self.engine._streams, *self.tables]) is not None:
            raise PlanError(f'there is a stream, table or view "{name}" already', hint="Choose another name.")
        self.views[name] = query

    def redeclare(self, node: nodes.Source) -> None:
        """A stream again, with a promise that it did not make before."""
        self.before.setdefault(node.name, self.engine._streams[node.name])
        self.engine._streams[node.name] = node

    @contextmanager
    def unless_wrong(self) -> Iterator[None]:
        """Streams that are declared again in here are so only if nothing is wrong."""
        self.before.clear()
        try:
            yield
        except BaseException:
            self.engine._streams |= self.before
            raise

    @property
    def before(self) -> dict[str, nodes.Source]:
        """The streams that the statement under way has declared again, as they were."""
        return self.engine._redeclared
