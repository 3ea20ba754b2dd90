"""CREATE STREAM and CREATE TABLE: columns, where the rows come from, and what a stream promises about their order."""

from __future__ import annotations

from sqlglot import TokenType

from millstream.core.errors import nearest
from millstream.sql.grammar.cursor import Cursor, is_name
from millstream.sql.grammar.lengths import length
from millstream.sql.grammar.statements import (
    Column,
    CreateStream,
    CreateTable,
    Length,
    Name,
    Ordered,
    Progress,
    Stepped,
    Supplied,
    Timed,
    Within,
)
from millstream.sql.grammar.text import Piece, statements

SOURCES = ("parquet", "csv", "json", "rate", "kafka")
_FILES = ("parquet", "csv", "json")
_AFTER_ATTRIBUTE = ("WITHIN", "EVERY", "TIMER", "PER", "OPTIONS")
_AFTER_LENGTH = ("STEP", "PER", "LULL", "IDLE", "OPTIONS")


def read_stream(cursor: Cursor, start: int) -> CreateStream:
    """After `CREATE STREAM`."""
    name = cursor.name("the name of the stream")
    columns = _columns(cursor)
    cursor.expect("FROM")
    place = cursor.here()
    format = cursor.name("a source: parquet, csv, json, rate or kafka")  # noqa: A001 - Spark's word
    if format.text.lower() not in SOURCES:
        raise place.error(f'there is no source "{format.text}"', nearest(format.text, SOURCES))
    format = Name(text=format.text.lower(), piece=format.piece)  # noqa: A001
    token = cursor.peek()
    path = None
    if token is not None and token.token_type is TokenType.STRING:
        path = cursor.quoted("a path")
    elif format.text in _FILES:
        cursor.fail("a path in quotes", f"Write FROM {format.text} 'folder'.")
    options = read_options(cursor)
    progress = _progress(cursor)
    return CreateStream(
        piece=cursor.piece(start),
        name=name,
        columns=columns,
        format=format,
        path=path,
        options=options or read_options(cursor),
        progress=progress,
    )


def read_table(cursor: Cursor, start: int) -> CreateTable:
    """After `CREATE TABLE`."""
    name = cursor.name("the name of the table")
    columns = _columns(cursor)
    cursor.expect("FROM")
    place = cursor.here()
    format = cursor.name("files: parquet, csv or json")  # noqa: A001 - Spark's word
    if format.text.lower() not in _FILES:
        raise place.error(f'a table is not read from "{format.text}"', nearest(format.text, _FILES))
    format = Name(text=format.text.lower(), piece=format.piece)  # noqa: A001
    path = cursor.quoted("a path in quotes")
    options = read_options(cursor)
    if cursor.word() == "PROGRESS":
        raise cursor.here().error("a table stands still and makes no progress", "Leave PROGRESS out.")
    return CreateTable(piece=cursor.piece(start), name=name, columns=columns, format=format, path=path, options=options)


def read_columns(text: str) -> tuple[Column, ...]:
    """The columns that a text declares, with nothing around them.

    >>> [(one.name.text, str(one.kind)) for one in read_columns("ts TIMESTAMP, tags ARRAY<STRING>")]
    [('ts', 'TIMESTAMP'), ('tags', 'ARRAY<STRING>')]
    """
    whole = f"({text})"
    found = statements(whole)
    if len(found) != 1:
        raise Piece(whole, whole, 0, len(whole)).error("these are no columns", "Write ts TIMESTAMP, k STRING.")
    cursor = Cursor(found[0])
    columns = _columns(cursor)
    cursor.finish()
    return columns


def _columns(cursor: Cursor) -> tuple[Column, ...]:
    if not cursor.accept_kind(TokenType.L_PAREN):
        return ()
    out: list[Column] = []
    while True:
        name = cursor.name("the name of a column")
        if any(name.text.lower() == one.name.text.lower() for one in out):
            raise name.piece.error(f'the column "{name.text}" is declared twice', "Choose another name.")
        first = cursor.at
        depth = 0
        while (token := cursor.peek()) is not None:
            kind = token.token_type
            if depth == 0 and kind in (TokenType.COMMA, TokenType.R_PAREN):
                break
            depth += (kind in (TokenType.L_PAREN, TokenType.LT)) - (kind in (TokenType.R_PAREN, TokenType.GT))
            cursor.at += 1
        if cursor.at == first:
            cursor.fail(f"the type of {name.text}", f"Write a type, as in {name.text} BIGINT.")
        out.append(Column(name=name, kind=cursor.piece(first)))
        if not cursor.accept_kind(TokenType.COMMA):
            cursor.expect_kind(TokenType.R_PAREN, "a comma or )")
            return tuple(out)


def read_options(cursor: Cursor) -> tuple[tuple[Name, str], ...]:
    """`OPTIONS (name value, …)`, if it is there."""
    if not cursor.accept("OPTIONS"):
        return ()
    cursor.expect_kind(TokenType.L_PAREN, "(")
    out: list[tuple[Name, str]] = []
    while True:
        token = cursor.peek()
        quoted = token is not None and token.token_type is TokenType.STRING
        name = cursor.quoted("an option") if quoted else cursor.name("an option")
        cursor.accept_kind(TokenType.EQ)
        value = cursor.peek()
        if value is None or value.token_type in (TokenType.COMMA, TokenType.R_PAREN):
            cursor.fail(f"the value of {name.text}")
        cursor.at += 1
        out.append((name, value.text))
        if not cursor.accept_kind(TokenType.COMMA):
            cursor.expect_kind(TokenType.R_PAREN, "a comma or )")
            return tuple(out)


def _progress(cursor: Cursor) -> Progress | None:
    start = cursor.at
    if not cursor.accept("PROGRESS"):
        return None
    if cursor.accept("ORDERED"):
        cursor.expect("ON")
        attribute = _attribute(cursor)
        return Ordered(attribute=attribute, per=_per(cursor), piece=cursor.piece(start))
    if cursor.accept("SUPPLIED"):
        return Supplied(attribute=_on(cursor), per=_per(cursor), piece=cursor.piece(start))
    if cursor.accept("MARKED"):
        cursor.expect("BY")
        mark = cursor.name("a column")
        return Supplied(mark=mark, attribute=_on(cursor), per=_per(cursor), piece=cursor.piece(start))
    if not cursor.accept("ON"):
        cursor.fail("ON, ORDERED, SUPPLIED or MARKED")
    attribute = _attribute(cursor, "WITHIN", "EVERY", "TIMER")
    if cursor.accept("WITHIN"):
        span = _length(cursor, "WITHIN")
        idle = _length(cursor, "IDLE") if cursor.accept("IDLE") else None
        return Within(attribute=attribute, length=span, idle=idle, per=_per(cursor), piece=cursor.piece(start))
    if cursor.accept("TIMER"):
        cursor.accept("EVERY")
        every = _length(cursor, "EVERY")
        lull = _length(cursor, "LULL") if cursor.accept("LULL") else None
        return Timed(attribute=attribute, every=every, lull=lull, per=_per(cursor), piece=cursor.piece(start))
    if cursor.accept("EVERY"):
        every = _length(cursor, "EVERY")
        cursor.expect("STEP")
        return Stepped(attribute=attribute, every=every, per=_per(cursor), piece=cursor.piece(start))
    return cursor.fail(
        "WITHIN, EVERY or TIMER", "Write ON ts WITHIN 5 seconds, ON ts EVERY 1 second STEP, or ORDERED ON ts."
    )


def _on(cursor: Cursor) -> Name | None:
    return _attribute(cursor) if cursor.accept("ON") else None


def _attribute(cursor: Cursor, *after: str) -> Name:
    """The column that makes progress. Words after it, with `after` one of these next, are the rest of its name."""
    start = cursor.at
    name = cursor.name("a column")
    end, words = cursor.at, [name.text]
    while (token := cursor.peek()) is not None and is_name(token) and cursor.word() not in _AFTER_ATTRIBUTE:
        words.append(token.text)
        cursor.at += 1
    if len(words) == 1 or (after and cursor.word() not in after):
        cursor.at = end
        return name
    whole = " ".join(words)
    fact = f'"{whole}" is {len(words)} words, and the name of a column is expected'
    raise cursor.piece(start).error(fact, f"A name of several words stands in backticks: `{whole}`.")


def _per(cursor: Cursor) -> tuple[Name, ...]:
    if not cursor.accept("PER"):
        return ()
    out = [cursor.name("a column")]
    while cursor.accept_kind(TokenType.COMMA):
        out.append(cursor.name("a column"))
    return tuple(out)


def _length(cursor: Cursor, what: str) -> Length:
    piece = cursor.until(*_AFTER_LENGTH, commas=True)
    if piece is None:
        cursor.fail(f"a length after {what}")
    return length(piece, what)
