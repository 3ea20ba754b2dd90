"""Queries: WITH, SELECT and its clauses, UNION. Expressions are only set apart here; `expressions.py` reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from sqlglot import TokenType

from millstream.core.errors import SqlError
from millstream.sql.foreign import refuse_grouping_sets, refuse_sub_queries, refuse_with
from millstream.sql.grammar.cursor import Cursor, typo
from millstream.sql.grammar.read_from import CLAUSES, read_from, starts_query
from millstream.sql.grammar.read_pace import read_pace
from millstream.sql.grammar.statements import Limit, Name, OrderItem, Query, SelectQuery, SetCompare, SetUnion, Window
from millstream.sql.grammar.text import Piece
from millstream.sql.grammar.window_clause import window_clause
from millstream.sql.grammar.window_function import grouped_window
from millstream.sql.statement_expressions import check_syntax

_DESCENDING = re.compile(r"\s+(asc|desc)?(\s*nulls\s+(first|last))?\s*$", re.IGNORECASE)
_REFUSED = ("FETCH", "WINDOW", "OFFSET", "CLUSTER BY", "DISTRIBUTE BY", "SORT BY", "LATERAL", "PIVOT", "TABLESAMPLE")


def read_query(cursor: Cursor) -> Query:
    """One query, with its WITH clause and all its unions."""
    ctes = _ctes(cursor)
    start = cursor.at
    found = _intersected(cursor)
    while cursor.word() in ("UNION", "EXCEPT", "MINUS"):
        if not cursor.accept("UNION"):
            _sets_only(cursor)
            right = _intersected(cursor)
            found = SetCompare(piece=cursor.piece(start), left=found, right=right, kind="except")
            continue
        distinct = not cursor.accept("ALL")
        cursor.accept("DISTINCT")
        right, pace = _intersected(cursor), read_pace(cursor)
        if pace is not None and distinct:
            raise pace.piece.error("PACE is for UNION ALL", "Write UNION ALL, and SELECT DISTINCT around it.")
        found = SetUnion(piece=cursor.piece(start), left=found, right=right, distinct=distinct, pace=pace)
    return replace(found, ctes=(*ctes, *found.ctes)) if ctes else found


def _intersected(cursor: Cursor) -> Query:
    """A query, or several with INTERSECT between them, which binds before UNION and EXCEPT."""
    start = cursor.at
    found = _term(cursor)
    while cursor.word() == "INTERSECT":
        _sets_only(cursor)
        right = _term(cursor)
        found = SetCompare(piece=cursor.piece(start), left=found, right=right, kind="intersect")
    return found


def _sets_only(cursor: Cursor) -> None:
    """Take the word of a set operation; one that counts equal rows is refused."""
    word = cursor.word()
    cursor.at += 1
    if cursor.word() == "ALL":
        raise cursor.here().error(
            f"{word} ALL counts how often equal rows come, and here a row leaves once or not at all",
            f"Leave ALL out; or count equal rows in a window on each side, GROUP BY all columns, and {word} those.",
        )
    cursor.accept("DISTINCT")


def _ctes(cursor: Cursor) -> tuple[tuple[Name, Query], ...]:
    if not cursor.accept("WITH"):
        return ()
    out: list[tuple[Name, Query]] = []
    while True:
        if cursor.word() == "RECURSIVE":
            raise cursor.here().error("WITH RECURSIVE has no end on a stream", "Leave RECURSIVE out.")
        name = cursor.name("a name")
        if any(name.text.lower() == known.text.lower() for known, _ in out):
            raise name.piece.error(f'WITH names "{name.text}" twice', "Choose another name.")
        cursor.expect("AS")
        cursor.expect_kind(TokenType.L_PAREN, "(")
        out.append((name, read_query(cursor)))
        cursor.expect_kind(TokenType.R_PAREN, ")")
        if not cursor.accept_kind(TokenType.COMMA):
            return tuple(out)


def _term(cursor: Cursor) -> Query:
    """A SELECT, or a query in parentheses."""
    if cursor.word() == "(" and starts_query(cursor):
        cursor.at += 1
        found = read_query(cursor)
        cursor.expect_kind(TokenType.R_PAREN, ")")
        return found
    return _select(cursor)


def _select(cursor: Cursor) -> SelectQuery:
    start = cursor.at
    cursor.expect("SELECT")
    distinct = cursor.accept("DISTINCT")
    cursor.accept("ALL")
    items, windows = _items(cursor)
    if not cursor.accept("FROM"):
        guess = typo(cursor.tokens[start : cursor.at])
        cursor.fail("a comma or FROM", guess or "A query reads a stream: SELECT … FROM stream.")
    source = read_from(cursor, read_query)
    where = _clause(cursor, "WHERE", "a condition")
    groups, more = _groups(cursor)
    windows += more
    having = _clause(cursor, "HAVING", "a condition")
    qualify = _clause(cursor, "QUALIFY", "a condition")
    order = _order(cursor)
    limit = _limit(cursor)
    if cursor.word() in _REFUSED:
        raise cursor.here().error(f"{cursor.word()} is not possible here", "Leave it out.")
    ends = (")", "UNION", "INTERSECT", "EXCEPT", "MINUS")
    if cursor.peek() is not None and cursor.word() not in ends and not cursor.at_pace():
        cursor.fail(", ".join(_left(where, groups, having, order)) + " or the end of the statement")
    _check(
        cursor, items, groups, *(one for one in (where, having, qualify) if one is not None), *(o.piece for o in order)
    )
    return SelectQuery(
        piece=cursor.piece(start),
        items=items,
        source=source,
        distinct=distinct,
        where=where,
        groups=groups,
        having=having,
        qualify=qualify,
        window=_one(windows),
        order=order,
        limit=limit,
    )


def _items(cursor: Cursor) -> tuple[tuple[Piece, ...], list[Window]]:
    items: list[Piece] = []
    windows: list[Window] = []
    while True:
        first = cursor.at
        piece = cursor.until("FROM", *CLAUSES, commas=True)
        if piece is None:
            cursor.fail("a column or an expression")
        items.append(piece)
        if str(piece).endswith("*") and cursor.word() in ("EXCEPT", "MINUS") and cursor.word(1) == "(":
            raise cursor.here().error("* takes no EXCEPT or REPLACE", "Name the columns.")
        windows += [window_clause(clause) for clause in cursor.clauses_since(first)]
        if not cursor.accept_kind(TokenType.COMMA):
            return tuple(items), windows


def _clause(cursor: Cursor, word: str, what: str) -> Piece | None:
    if not cursor.accept(word):
        return None
    found = cursor.until(*CLAUSES, *_REFUSED)
    if found is None:
        cursor.fail(what)
    return found


def _groups(cursor: Cursor) -> tuple[tuple[Piece, ...], list[Window]]:
    if not cursor.accept("GROUP BY"):
        return (), []
    groups: list[Piece] = []
    windows: list[Window] = []
    while True:
        first = cursor.at
        refuse_grouping_sets(cursor)
        if (found := grouped_window(cursor)) is not None:
            windows.append(found)
        else:
            piece = cursor.until(*CLAUSES, *_REFUSED, commas=True)
            if piece is None:
                cursor.fail("a column")
            refuse_with(cursor, first)
            groups.append(piece)
        windows += [window_clause(clause) for clause in cursor.clauses_since(first)]
        if not cursor.accept_kind(TokenType.COMMA):
            return tuple(groups), windows


def _order(cursor: Cursor) -> tuple[OrderItem, ...]:
    if not cursor.accept("ORDER BY"):
        return ()
    out: list[OrderItem] = []
    while True:
        piece = cursor.until(*CLAUSES, *_REFUSED, commas=True)
        if piece is None:
            cursor.fail("a column")
        found = _DESCENDING.search(str(piece))
        bare = piece if found is None else piece.part(0, found.start())
        descending = found is not None and (found[1] or "").lower() == "desc"
        if found is not None and (found[3] or "").lower() == "first":
            cursor.problems.append(piece.problem("nulls come last, always", "Leave NULLS FIRST out."))
        out.append(OrderItem(piece=bare, descending=descending))
        if not cursor.accept_kind(TokenType.COMMA):
            return tuple(out)


def _limit(cursor: Cursor) -> Limit | None:
    if not cursor.accept("LIMIT"):
        return None
    token = cursor.peek()
    if token is None or token.token_type is not TokenType.NUMBER or not token.text.isdecimal() or int(token.text) < 1:
        cursor.fail("a number of rows")
    piece = cursor.here()
    cursor.at += 1
    return Limit(piece=piece, rows=int(token.text))


def _one(windows: list[Window]) -> Window | None:
    """The window that all clauses mean; two that differ are a problem."""
    for other in windows[1:]:
        if _meaning(other) != _meaning(windows[0]):
            raise other.piece.error(
                "this window differs from the first one of the query", "Ask two queries: one query has one window."
            )
    return windows[0] if windows else None


def _meaning(window: Window) -> str:
    return " ".join(str(window.piece).upper().split())


def _check(cursor: Cursor, *pieces: Iterable[Piece] | Piece) -> None:
    """Read every expression once for its syntax, so that all mistakes are told together."""
    for one in pieces:
        for piece in [one] if isinstance(one, Piece) else one:
            refuse_sub_queries(piece)
            try:
                check_syntax(piece)
            except SqlError as error:
                cursor.problems += error.problems


def _left(*taken: object) -> list[str]:
    """The clauses that may still come."""
    names = ["WHERE", "GROUP BY", "HAVING", "ORDER BY"]
    last = max((i for i, one in enumerate(taken) if one), default=-1)
    return [*names[last + 1 :], "LIMIT"]
