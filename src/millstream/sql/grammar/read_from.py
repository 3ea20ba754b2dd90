"""FROM: streams by name, sub-queries, unions of streams, table functions, and joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from sqlglot import TokenType

from millstream.core.errors import sql_error
from millstream.sql.foreign import refuse_system_time
from millstream.sql.grammar.cursor import RESERVED, Cursor, is_name
from millstream.sql.grammar.lengths import length
from millstream.sql.grammar.statements import (
    Delay,
    From,
    FromJoin,
    FromName,
    FromQuery,
    FromSide,
    FromUnion,
    Joined,
    Name,
    Query,
    Window,
)
from millstream.sql.grammar.window_clause import window_clause
from millstream.sql.grammar.window_function import TABLE_FUNCTIONS, TableFunction

JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI", "ASOF")
CLAUSES = ("WHERE", "GROUP BY", "HAVING", "QUALIFY", "ORDER BY", "LIMIT", "UNION", "INTERSECT", "EXCEPT", "MINUS")
_SIDES = ("LATE", "REJECTED", "PARTIAL")
_NOT_ALIAS = (
    *RESERVED,
    *JOINS,
    "MINUS",
    "MATCH_CONDITION",
    "FOR",
    "FETCH",
    "WATERMARK",
    "OUTER",
    "GROUP",
    "TABLESAMPLE",
    "PIVOT",
    "LATERAL",
    "WINDOW",
    "QUALIFY",
)

ReadQuery = Callable[[Cursor], Query]


def read_from(cursor: Cursor, read_query: ReadQuery) -> From:
    """All items of FROM; two or more are a join."""
    return _From(cursor, read_query).read()


def starts_query(cursor: Cursor, ahead: int = 0) -> bool:
    """Is a SELECT next, perhaps in parentheses?"""
    while (token := cursor.peek(ahead)) is not None and token.token_type is TokenType.L_PAREN:
        ahead += 1
    return cursor.word(ahead) in ("SELECT", "WITH")


class _From:
    def __init__(self, cursor: Cursor, read_query: ReadQuery) -> None:
        self.cursor = cursor
        self.read_query = read_query

    def read(self) -> From:
        cursor, start = self.cursor, self.cursor.at
        inputs = [self._item()]
        joins: list[Joined] = []
        while True:
            begin = cursor.at
            if cursor.accept_kind(TokenType.COMMA):
                inputs.append(self._item())
                joins.append(Joined(piece=cursor.piece(begin)))
            elif cursor.word() in JOINS:
                how, as_of = self._how()
                cursor.expect("JOIN")
                inputs.append(self._item())
                joins.append(self._joined(begin, how, as_of=as_of))
            else:
                break
        if len(inputs) == 1:
            return inputs[0]
        # In `FROM A, B [RANGE TUMBLING 5 minutes, WATTR ts]` the clause is the join's as much as B's.
        return FromJoin(piece=cursor.piece(start), inputs=tuple(inputs), joins=tuple(joins))

    def _how(self) -> tuple[str, bool]:
        """The words before JOIN: which rows leave, and whether each has one partner at most, the latest."""
        cursor, start = self.cursor, self.cursor.at
        words: list[str] = []
        while cursor.word() in (*JOINS, "OUTER") and cursor.word() != "JOIN":
            words.append(cursor.word())
            cursor.at += 1
        if words and words[0] == "NATURAL":
            raise sql_error(
                [cursor.piece(start).problem(f"not yet: {words[0]} JOIN", "Say which columns with ON.", not_yet=True)]
            )
        kinds = [word.lower() for word in words if word in ("LEFT", "RIGHT", "FULL", "SEMI", "ANTI")]
        return kinds[-1] if kinds else "inner", "ASOF" in words

    def _joined(self, begin: int, how: str, *, as_of: bool) -> Joined:
        cursor = self.cursor
        condition, match, using = None, None, ()
        if as_of and cursor.accept("MATCH_CONDITION"):
            cursor.expect_kind(TokenType.L_PAREN, "(")
            match = cursor.until()
            if match is None:
                cursor.fail("a comparison of times")
            cursor.expect_kind(TokenType.R_PAREN, ")")
            how = "left"  # whoever writes it so means left rows without a partner to leave too
        if cursor.accept("ON"):
            condition = cursor.until(*CLAUSES, *JOINS, commas=True)
            if condition is None:
                cursor.fail("a condition")
        elif cursor.accept("USING"):
            using = self._columns()
        return Joined(piece=cursor.piece(begin), how=how, condition=condition, using=using, as_of=as_of, match=match)

    def _columns(self) -> tuple[Name, ...]:
        cursor = self.cursor
        cursor.expect_kind(TokenType.L_PAREN, "(")
        names = [cursor.name("a column")]
        while cursor.accept_kind(TokenType.COMMA):
            names.append(cursor.name("a column"))
        cursor.expect_kind(TokenType.R_PAREN, ")")
        return tuple(names)

    def _item(self) -> From:
        """`A`, or `A UNION B UNION C`, with a name."""
        cursor, start = self.cursor, self.cursor.at
        inputs = [self._single()]
        while cursor.word() == "UNION" and not self._query_follows():
            cursor.at += 1
            cursor.accept("ALL")
            inputs.append(self._single())
        if len(inputs) == 1:
            return inputs[0]
        # `A UNION B AS M [RANGE …]`: name and window are the union's.
        *before, last = inputs
        for one in inputs:
            if one.window is not None and (one is not last or not str(one.window.piece).startswith("[")):
                raise one.window.piece.error(
                    "a union has one window, written after its last stream",
                    "Write FROM a UNION b [RANGE 1 minute, WATTR ts].",
                )
        bare = replace(last, alias=None, window=None)
        return FromUnion(piece=cursor.piece(start), inputs=(*before, bare), alias=last.alias, window=last.window)

    def _query_follows(self) -> bool:
        ahead = 2 if self.cursor.word(1) in ("ALL", "DISTINCT") else 1
        return starts_query(self.cursor, ahead)

    def _single(self) -> From:
        cursor, start = self.cursor, self.cursor.at
        if cursor.word() == "TABLE" and cursor.word(1) == "(":
            cursor.at += 2
            found = self._table_function()
            cursor.expect_kind(TokenType.R_PAREN, ")")
        elif cursor.word() in TABLE_FUNCTIONS and cursor.word(1) == "(":
            found = self._table_function()
        elif cursor.word() in _SIDES and cursor.word(1) == "(":
            output = cursor.word().lower()
            cursor.at += 2
            name = cursor.name("the name of a query")
            cursor.expect_kind(TokenType.R_PAREN, ")")
            found = FromSide(piece=cursor.piece(start), output=output, name=name)
        elif cursor.accept_kind(TokenType.L_PAREN):
            if starts_query(cursor):
                found = FromQuery(piece=cursor.piece(start), query=self.read_query(cursor))
            else:
                found = self.read()
            cursor.expect_kind(TokenType.R_PAREN, ")")
            found = replace(found, piece=cursor.piece(start))
        else:
            token = cursor.peek()
            if token is None or not is_name(token):
                cursor.fail("the name of a stream or a sub-query")
            name = cursor.name("the name of a stream")
            if cursor.word() == "(":
                raise name.piece.error(
                    f"there is no table function {name.text}", f"Use {', '.join(TABLE_FUNCTIONS)}, or name a stream."
                )
            found = FromName(piece=name.piece, name=name)
        return self._described(found)

    def _described(self, found: From) -> From:
        """With the window, the promise and the name that follow, in any order."""
        while True:
            refuse_system_time(self.cursor)
            if (window := self._window()) is not None:
                if found.window is not None:
                    raise window.piece.error("a second window", "Give a stream one window.")
                found = replace(found, window=window)
            elif self.cursor.word() == "WATERMARK":
                delay = self._delay()
                if not isinstance(found, FromName):
                    raise delay.piece.error("only a stream by its name can have a WATERMARK", "Move it to the stream.")
                found = replace(found, delay=delay)
            elif found.alias is None and (alias := self._alias()) is not None:
                found = replace(found, alias=alias)
            else:
                return found

    def _window(self) -> Window | None:
        clause = self.cursor.clause()
        return None if clause is None else window_clause(clause)

    def _alias(self) -> Name | None:
        cursor = self.cursor
        if cursor.accept("AS"):
            return cursor.name("a name")
        token = cursor.peek()
        if token is None or not is_name(token) or cursor.word() in _NOT_ALIAS:
            return None
        return cursor.name("a name")

    def _delay(self) -> Delay:
        cursor, start = self.cursor, self.cursor.at
        cursor.expect("WATERMARK")
        attribute = cursor.name("a column")
        cursor.expect("DELAY", "OF")
        first = cursor.at
        cursor.accept("INTERVAL")
        while (token := cursor.peek()) is not None and (
            token.token_type in (TokenType.NUMBER, TokenType.STRING) or _is_unit(cursor)
        ):
            cursor.at += 1
        if cursor.at == first:
            cursor.fail("an interval")
        return Delay(piece=cursor.piece(start), attribute=attribute, delay=length(cursor.piece(first), "DELAY OF"))

    def _table_function(self) -> From:
        cursor, start = self.cursor, self.cursor.at
        name = cursor.word()
        if name not in TABLE_FUNCTIONS:
            cursor.fail(" or ".join(TABLE_FUNCTIONS))
        cursor.at += 1
        cursor.expect_kind(TokenType.L_PAREN, "(")
        if cursor.word(1) == "=>":
            if cursor.word() != "DATA":
                cursor.fail("DATA")
            cursor.at += 2
        table: From
        if cursor.accept_kind(TokenType.L_PAREN):
            query = self.read_query(cursor)
            cursor.expect_kind(TokenType.R_PAREN, ")")
            table = FromQuery(piece=query.piece, query=query)
        else:
            cursor.expect("TABLE")
            named = cursor.name("the name of a stream")
            table = FromName(piece=named.piece, name=named)
        window = TableFunction(cursor, name, start).read_rest()
        return replace(table, window=window)


def _is_unit(cursor: Cursor) -> bool:
    """A word such as SECONDS right after a number."""
    before = cursor.tokens[cursor.at - 1]
    return before.token_type in (TokenType.NUMBER, TokenType.STRING) and cursor.word() not in (
        *_NOT_ALIAS,
        *CLAUSES,
        "AS",
        ",",
        ")",
        "",
    )
