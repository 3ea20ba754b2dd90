"""`INSERT INTO parquet 'late' SELECT * FROM LATE(q)`: what a query has beside its results, in statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.api.query import Query
from millstream.api.side import SideOutput
from millstream.api.sql.catalog import Catalog
from millstream.api.stream import Stream
from millstream.core.errors import nearest
from millstream.sql.grammar import statements as sql

if TYPE_CHECKING:
    from millstream.api.engine import Engine


def whole_side(query: sql.Query) -> sql.FromSide | None:
    """The side output that a query is, if it is all of one and nothing else: `SELECT * FROM LATE(q)`."""
    if not isinstance(query, sql.SelectQuery) or not isinstance(query.source, sql.FromSide) or query.ctes:
        return None
    more = (query.where, query.having, query.qualify, query.window, query.limit, query.source.window)
    plain = not query.groups and not query.order and not query.distinct and all(one is None for one in more)
    return query.source if plain and [str(item).strip() for item in query.items] == ["*"] else None


def side_output(engine: Engine, source: sql.FromSide) -> SideOutput:
    """A side output of the query, view or stream that is named."""
    catalog, name = Catalog(engine), source.name.text
    found = catalog.spelled(name)
    if found is None or found in catalog.tables:
        known = [one for one in catalog.names if one not in catalog.tables]
        hint = nearest(name, known) if known else "There is none: begin with CREATE STREAM."
        raise source.name.piece.error(f'there is no query, view or stream "{name}"', hint)
    query = catalog.queries.get(found)
    if query is None:  # a view or a stream only has a name: something must read it, for rows to be late
        stream = catalog.views.get(found) or catalog.stream(found)
        assert stream is not None
        query = Query(engine, stream.node).discard().named(engine.free_name(f"{source.output}_{found}"))
    query.check_not_started(f"the {source.output} output of {found!r}")
    return next(one for one in query.sides if one.word == source.output)


def side_stream(engine: Engine, source: sql.FromSide) -> Stream:
    """The rows as a stream, to ask anything of."""
    return side_output(engine, source).stream()
