"""Queries as statements describe them, built with the fluent API: the same plan as if it had been typed in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from millstream.api.operations.windowed import Windowed
from millstream.api.query import Query
from millstream.api.sql.blame import at, refuse_problems
from millstream.api.sql.catalog import Catalog
from millstream.api.sql.delay import promised
from millstream.api.sql.lower_join import Item, JoinedStream, joined
from millstream.api.sql.lower_side import side_stream
from millstream.api.sql.lower_window import named, ticking, windowed
from millstream.api.sql.spoken import Words, spoken, told, words_of
from millstream.api.stream import Stream
from millstream.api.table import Table
from millstream.core.errors import MillstreamError, SqlError, nearest, sql_error
from millstream.core.problem import Problem
from millstream.core.quote import apart
from millstream.plan import nodes
from millstream.sql.grammar import statements as sql
from millstream.sql.grammar.text import Piece
from millstream.sql.grouping import WINDOW_COLUMNS, Grouping, grouping, has_aggregates
from millstream.sql.numbering import NUMBER, Numbering, numbered
from millstream.sql.projection import OutputColumn, projection
from millstream.sql.statement_expressions import Names, quoted, scalar, spelled

if TYPE_CHECKING:
    from millstream.api.engine import Engine

Local = Mapping[str, Stream | None]
"""The queries of WITH, by name; None for one that is wrong."""
_ITSELF = "this query is wrong itself"


def lower(engine: Engine, query: sql.Query, local: Local | None = None) -> Query:
    """The query that a description means, or all that is wrong with it."""
    if not query.ctes:
        return _lowered(engine, query, local or {})
    known, problems = dict(local or {}), list[Problem]()
    for name, one in query.ctes:
        made = None
        with at(one.piece, problems):
            made = lower(engine, one, known)
        known[name.text] = made
    if not problems:
        return _lowered(engine, query, known)
    with at(query.piece, problems):
        _lowered(engine, query, known)
    raise sql_error([one for one in problems if one.fact != _ITSELF] or problems)


def _lowered(engine: Engine, query: sql.Query, known: Local) -> Query:
    match query:
        case sql.SetUnion() | sql.SetCompare():
            return _of_two(engine, query, known)
        case sql.SelectQuery():
            return _Lowering(engine, known).select(query)


def _paced(left: Query, right: Query, pace: sql.PaceClause) -> Query:
    problems: list[Problem] = []
    with at(pace.piece, problems):
        headroom = None if pace.headroom is None else pace.headroom.value
        return left.pace(right, on=pace.column.text, within=pace.within.value, headroom=headroom)
    refuse_problems(problems)
    raise AssertionError


def _of_two(engine: Engine, query: sql.SetUnion | sql.SetCompare, local: Local) -> Query:
    problems: list[Problem] = []
    sides: list[Query] = []
    for side in (query.left, query.right):
        with at(side.piece, problems):
            sides.append(lower(engine, side, local))
    refuse_problems(problems)
    left, right = sides
    what = query.kind.upper() if isinstance(query, sql.SetCompare) else "union"
    names, others = left.schema.names, right.schema.names
    if len(names) != len(others):
        raise query.right.piece.error(
            f"this side of the {what} has {len(others)} columns, and the first has {len(names)}",
            "Select the same columns on both sides.",
        )
    if names != others:
        right = right.select(*(f"{quoted(b)} AS {quoted(a)}" for a, b in zip(names, others, strict=True)))
    with at(query.right.piece, problems):
        if isinstance(query, sql.SetCompare):
            made = left.difference(right) if query.kind == "except" else left.intersect(right)
            for node in (made.node, *nodes.inputs(made.node)):
                engine.placed(node, query.piece)
            return made
        if query.pace is not None:
            return _paced(left, right, query.pace)
        both = left.union(right)
        if not query.distinct:
            return both
        apart = both.distinct()
        engine.placed(apart.node, query.piece)
        return apart
    refuse_problems(problems)
    raise AssertionError


class _Lowering:
    """One SELECT, clause by clause, in the order in which they mean something."""

    def __init__(self, engine: Engine, local: Local) -> None:
        self.engine = engine
        self.local = local
        self.problems: list[Problem] = []
        self.words: Words = {}

    def select(self, select: sql.SelectQuery) -> Query:
        stream, names, condition = self._input(select)
        if condition is not None and select.where is not None and not self.problems:
            with at(select.where, self.problems):
                stream = stream.where(condition)
        window = self._window(select)
        if window is not None or has_aggregates(select, names):
            if select.qualify is not None:
                hint = "Aggregate in a sub-query: SELECT * FROM (SELECT … GROUP BY …) QUALIFY …."
                raise select.qualify.error("QUALIFY and aggregates do not go together", hint)
            try:
                made = self._aggregate(select, stream, names, window)
            except SqlError as error:
                raise sql_error(told(error.problems, self.words)) from None
        else:
            made = self._project(select, stream, names)
        refuse_problems(self.problems)
        if not select.distinct:
            return made
        apart = made.distinct()
        self.engine.placed(apart.node, select.piece)
        return apart

    # --- FROM ---

    def _input(self, select: sql.SelectQuery) -> tuple[Stream, Names, str | None]:
        """What FROM means, the names of its columns, and the condition that is left of WHERE."""
        if isinstance(select.source, sql.FromJoin) and select.source.alias is None:
            made = self._join(select.source, select.where)
            return made.stream, made.names, made.where
        stream, relations = self._from(select.source)
        refuse_problems(self.problems)
        names = Names(tuple(stream.schema.names), relations)
        if select.where is None:
            return stream, names, None
        return stream, names, scalar(select.where, names, self.problems, "WHERE")

    def _from(self, source: sql.From) -> tuple[Stream, tuple[str, ...]]:
        """The stream that FROM means, and the names that its columns may be qualified with."""
        alias = () if source.alias is None else (source.alias.text,)
        match source:
            case sql.FromName():
                return self._named(source), (*alias, source.name.text)
            case sql.FromSide():
                return side_stream(self.engine, source), alias
            case sql.FromQuery():
                return lower(self.engine, source.query, self.local), alias
            case sql.FromUnion():
                parts: list[tuple[Stream, tuple[str, ...]]] = []
                for one in source.inputs:
                    with at(one.piece, self.problems):
                        parts.append(self._from(one))
                refuse_problems(self.problems)
                first, *others = (stream for stream, _ in parts)
                with at(source.piece, self.problems):
                    first = first.union(*others)
                return first, (*alias, *(name for _, names in parts for name in names))
            case sql.FromJoin():  # in parentheses, so that its streams are one
                return self._join(source, None).stream, alias

    def _named(self, source: sql.FromName) -> Stream:
        name, catalog = source.name.text, Catalog(self.engine)
        found = self._meant(name)
        if found is not None and self._table(found) is not None:
            hint = f"Join it with a stream: FROM stream JOIN {found} ON …."
            raise source.name.piece.error(f'"{found}" is a table, and a query reads a stream', hint)
        if found is None:
            known = [*self.local, *catalog.names]
            hint = nearest(name, dict.fromkeys(known)) if known else "There is none: begin with CREATE STREAM."
            raise source.name.piece.error(f'there is no stream "{name}"', hint)
        if found in self.local and self.local[found] is None:
            raise source.name.piece.error(_ITSELF)
        made, stream = self.local.get(found) or catalog.views.get(found), catalog.stream(found)
        if made is None and stream is not None:
            return stream if source.delay is None else promised(catalog, stream, source.delay)
        made = made or catalog.queries[found]
        if source.delay is not None:
            raise source.delay.piece.error(f"{found} is no stream but a query", "Promise it where its stream is read.")
        return made

    def _join(self, source: sql.FromJoin, where: Piece | None) -> JoinedStream:
        items: list[Item] = []
        for one in source.inputs:
            with at(one.piece, self.problems):
                items.append(self._item(one))
        refuse_problems(self.problems)
        return joined(source, items, where, self.problems)

    def _item(self, source: sql.From) -> Item:
        """An item of a join: a stream, or a table beside it."""
        if isinstance(source, sql.FromName) and (table := self._table(source.name.text)) is not None:
            alias = () if source.alias is None else (source.alias.text,)
            return Item(table, (*alias, source.name.text), source)
        return Item(*self._from(source), source)

    def _table(self, name: str) -> Table | None:
        """The table of this name, if no query of WITH hides it."""
        found = self._meant(name)
        return None if found is None or found in self.local else Catalog(self.engine).tables.get(found)

    def _meant(self, name: str) -> str | None:
        """What FROM names, in any capitals: a query of WITH before a stream, view or table, and that before a query."""
        return spelled(name, list(self.local)) or Catalog(self.engine).spelled(name)

    def _window(self, select: sql.SelectQuery) -> sql.Window | None:
        """The window of the query, wherever it was written."""
        of_from, of_select = self._window_of(select.source), select.window
        if of_from is not None and of_select is not None:
            raise of_select.piece.error("a second window", "The stream in FROM has one already: leave one out.")
        return of_select or of_from

    def _window_of(self, source: sql.From) -> sql.Window | None:
        """The window after FROM: of a stream that has only tables beside it, it is the query's too."""
        if not isinstance(source, sql.FromJoin) or source.window is not None:
            return source.window
        first, *others = source.inputs
        beside = all(isinstance(one, sql.FromName) and self._table(one.name.text) is not None for one in others)
        return first.window if beside else None

    # --- the select list ---

    def _project(self, select: sql.SelectQuery, stream: Stream, names: Names) -> Query:
        numbers = numbered(select, names, self.problems)
        outputs = projection(select, names, self.problems, numbers.given)
        order = select.order
        if select.limit is not None:
            self.problems.append(
                select.limit.piece.problem("LIMIT has no window to count in", "Leave it out, or aggregate by windows.")
            )
        if len(order) > 1 or (order and order[0].descending):
            hint = "Order by the attribute that makes progress alone, without DESC."
            self.problems.append(order[-1].piece.problem("a stream is ordered by one attribute, upwards", hint))
        refuse_problems(self.problems)
        made = stream if numbers.numbering is None else self._numbered(stream, numbers.numbering)
        if [one.name for one in outputs] != list(names.columns) or any(o.text != quoted(o.name) for o in outputs):
            made = self._computed(made, outputs)
        for one in order[:1]:
            made = self._sorted(made, str(one.piece).strip("`"), one.piece)
        return _as_query(made)

    def _numbered(self, stream: Stream, asked: Numbering) -> Stream:
        """The rows with their numbers, no more of them than are asked for."""
        by = [f"{name} DESC" if down else f"{name} ASC" for name, down in asked.order]
        with at(asked.piece, self.problems):
            stream = stream.top(asked.limit, per=asked.keys, by=by, number=NUMBER)
            self.engine.placed(stream.node, asked.piece)
        refuse_problems(self.problems)
        return stream

    def _aggregate(self, select: sql.SelectQuery, stream: Stream, names: Names, window: sql.Window | None) -> Query:
        made = grouping(select, names, window=window, progressing=stream.node.progressing(), problems=self.problems)
        if self.problems and window is not None:
            named(window, names, self.problems)
        refuse_problems(self.problems)
        self.words = words_of(made)
        if made.computed:
            every = [OutputColumn(name, quoted(name), select.piece) for name in names.columns]
            stream = self._computed(stream, [*every, *made.computed])
            refuse_problems(self.problems)
        if window is not None:
            cut = windowed(stream, window, names, self.problems)
        else:
            cut = stream.group_by() if made.tick is None else ticking(stream, made.tick)
        refuse_problems(self.problems)
        assert cut is not None
        result = self._called(cut.group_by(*made.groups), made)
        aggregate = next(one for one in reversed(list(nodes.walk(result.node))) if isinstance(one, nodes.Aggregate))
        self.engine.placed(aggregate, select.piece if window is None else window.piece)
        if made.having is not None and select.having is not None:
            with at(select.having, self.problems):
                result = result.where(made.having)
                result = Query(self.engine, spoken(result.node, self.words))
        refuse_problems(self.problems)
        if select.limit is not None:
            if window is None and made.tick is None:
                raise select.limit.piece.error("LIMIT has no window to count in", "Give the query a window.")
            top = self._top(made, result, select.limit.rows)
            self.engine.placed(
                next(one for one in nodes.walk(top.node) if isinstance(one, nodes.Top)), select.limit.piece
            )
            return top
        if made.outputs is not None:
            result = _as_query(self._computed(result, made.outputs))
        return self._ordered(select, made, result)

    def _called(self, cut: Windowed, made: Grouping) -> Query:
        try:
            calls: dict[str, Any] = {one.name: one.call for one in made.calls}
            return cut.agg(**calls)
        except MillstreamError:
            # One by one, to say which.
            for one in made.calls:
                with at(one.piece, self.problems):
                    alone: dict[str, Any] = {one.name: one.call}
                    cut.agg(**alone)
            refuse_problems(self.problems)
            raise

    def _computed(self, stream: Stream, outputs: Sequence[OutputColumn]) -> Stream:
        texts = [f"{one.text} AS {quoted(one.name)}" for one in outputs]
        try:
            made = stream.select(*texts)
            return Query(self.engine, spoken(made.node, self.words))
        except MillstreamError:
            for one, text in zip(outputs, texts, strict=True):
                with at(one.piece, self.problems):
                    stream.select(text)
            refuse_problems(self.problems)
            raise

    def _top(self, made: Grouping, result: Query, limit: int) -> Query:
        """The first rows of each window. The window's columns go along until then, if they are not asked for."""
        if made.outputs is None:
            return _top(result, WINDOW_COLUMNS, made.order, limit)
        names = [one.name for one in made.outputs]
        # Those that are asked for are the window's own: what they promise goes on under their names.
        asked = {one.text.strip('"`'): one.name for one in reversed(made.outputs)}
        hidden = {name: asked.get(name, apart(f"__{name}", names)) for name in WINDOW_COLUMNS}
        along = [OutputColumn(new, name, made.outputs[0].piece) for name, new in hidden.items() if new not in names]
        order = tuple((name if name in names else hidden[name], down) for name, down in made.order)
        wide = _as_query(self._computed(result, [*along, *made.outputs]))
        return _top(wide, tuple(hidden.values()), order, limit).select(*map(quoted, names))

    def _ordered(self, select: sql.SelectQuery, made: Grouping, result: Query) -> Query:
        if not made.order:
            return result
        (name, descending), piece = made.order[0], select.order[0].piece
        if len(made.order) > 1 or descending:
            raise piece.error(
                "without LIMIT, results are ordered by one window column, upwards",
                "Order by window_end, or say LIMIT n for the first n of each window.",
            )
        return _as_query(self._sorted(result, name, piece))

    def _sorted(self, stream: Stream, name: str, piece: Piece) -> Stream:
        found = spelled(name.rpartition(".")[2], stream.schema.names)
        if found is None or found not in stream.node.progressing():
            self.problems.append(_unordered(stream, name, piece, selected=found is not None))
            return stream
        with at(piece, self.problems):
            made = stream.sort(found)
            self.engine.placed(made.node, piece)
            return made
        return stream


def _unordered(stream: Stream, name: str, piece: Piece, *, selected: bool) -> Problem:
    """Why rows cannot leave in the order of a column."""
    known, sources = stream.node.progressing(), nodes.sources(stream.node)
    there = {one.progress.attribute for one in sources if one.progress is not None and one.progress.attribute}
    if not selected and name.rpartition(".")[2] in there:
        return piece.problem(f"{name} is not in the select list, so rows cannot leave in its order", "Add it there.")
    hint = f"Order by {' or '.join(known)}."
    if not known:
        add = f"Add {' or '.join(sorted(there))} to the select list, and order by it."
        hint = add if there else "Declare PROGRESS ON a column of the stream, and order by it."
    return piece.problem(f"{name} makes no progress, so rows could never leave in its order", hint)


def _top(query: Query, window: tuple[str, ...], order: tuple[tuple[str, bool], ...], limit: int) -> Query:
    return Query(query.engine, nodes.Top(input=query.node, keys=window, order=order, limit=limit, windows=True))


def _as_query(stream: Stream) -> Query:
    return stream if isinstance(stream, Query) else Query(stream.engine, stream.node)
