"""Statements: CREATE STREAM, CREATE TABLE, CREATE VIEW, INSERT INTO, FEEDBACK and queries; a file is several."""

from __future__ import annotations

from sqlglot import TokenType

from millstream.core.errors import SqlError, nearest, sql_error
from millstream.core.problem import Problem
from millstream.sql.grammar.cursor import Cursor, alike
from millstream.sql.grammar.read_query import read_query
from millstream.sql.grammar.read_stream import read_options, read_stream, read_table
from millstream.sql.grammar.statements import CreateView, Insert, Name, SendFeedback, Statement
from millstream.sql.grammar.text import Text, statements

SINKS = ("parquet", "csv", "json", "delta", "iceberg", "postgres", "console", "memory")
_WITHOUT_PATH = ("console", "memory")
_FIRST = ("SELECT", "WITH", "CREATE", "INSERT", "FEEDBACK")
_INTENTS = ("ASSUMED", "DESIRED", "DEMANDED")
_FOREIGN = ("DROP", "DELETE", "UPDATE", "ALTER", "TRUNCATE", "MERGE", "GRANT", "SET", "USE", "COPY", "PRAGMA", "ATTACH")


def read(text: str) -> list[Statement]:
    """Every statement of a text, or all problems of all of them.

    >>> [type(one).__name__ for one in read("CREATE VIEW v AS SELECT a FROM s; SELECT a FROM v")]
    ['CreateView', 'Insert']
    """
    out: list[Statement] = []
    problems: list[Problem] = []
    for one in statements(text):
        try:
            out.append(read_one(one))
        except SqlError as error:
            problems += error.problems
    if problems:
        raise sql_error(problems)
    return out


def read_one(text: Text) -> Statement:
    """One statement, with nothing after it."""
    try:
        cursor = Cursor(text)
        found = _statement(cursor)
        cursor.finish()
    except RecursionError:
        raise text.piece(text.tokens[0].start, text.tokens[-1].end + 1).error(
            "this statement nests too deeply", "Cut it with WITH or CREATE VIEW."
        ) from None
    return found


def _statement(cursor: Cursor) -> Statement:
    start = cursor.at
    word = cursor.word()
    if cursor.accept("CREATE"):
        if cursor.accept("STREAM"):
            return read_stream(cursor, start)
        if cursor.accept("TABLE"):
            return read_table(cursor, start)
        if cursor.accept("VIEW"):
            return _view(cursor, start)
        cursor.fail("STREAM, TABLE or VIEW")
    if cursor.accept("INSERT"):
        return _insert(cursor, start)
    if word == "FEEDBACK":
        return _feedback(cursor, start)
    if word in ("SELECT", "WITH", "("):
        query = read_query(cursor)
        return Insert(piece=cursor.piece(start), format=None, path=None, query=query)
    if word in _FOREIGN:
        raise cursor.here().error(
            f"{word} is not a statement here", "A stream is only read: CREATE STREAM, CREATE VIEW, INSERT INTO, SELECT."
        )
    return cursor.fail("SELECT, WITH, CREATE STREAM, CREATE VIEW or INSERT INTO", alike(word, _FIRST))


def _view(cursor: Cursor, start: int) -> CreateView:
    name = cursor.name("a name")
    cursor.expect("AS")
    query = read_query(cursor)
    return CreateView(piece=cursor.piece(start), name=name, query=query)


def _feedback(cursor: Cursor, start: int) -> SendFeedback:
    cursor.expect("FEEDBACK")
    intent = cursor.word()
    if not any(cursor.accept(one) for one in _INTENTS):
        cursor.fail("ASSUMED, DESIRED or DEMANDED", alike(intent, _INTENTS))
    cursor.expect("ON")
    query = cursor.name("the name of a query")
    cursor.expect("WHERE")
    condition = cursor.until("FOR") or cursor.fail("a condition", "Write WHERE segment < 4.")
    epochs = None
    if cursor.accept("FOR"):
        place, token = cursor.here(), cursor.peek()
        cursor.expect_kind(TokenType.NUMBER, "a number of epochs")
        if token is None or not token.text.isdigit() or int(token.text) < 1:
            raise place.error(f"{place} is no number of epochs", "Write FOR 100 EPOCHS.")
        epochs = int(token.text)
        if not cursor.accept("EPOCH"):
            cursor.expect("EPOCHS")
    piece = cursor.piece(start)
    return SendFeedback(piece=piece, intent=intent.lower(), query=query, condition=condition, epochs=epochs)


def _insert(cursor: Cursor, start: int) -> Insert:
    replaces = cursor.accept("OVERWRITE")
    if not replaces:
        cursor.expect("INTO")
    place = cursor.here()
    format = cursor.name("a sink: parquet, csv, json, console or memory")  # noqa: A001 - Spark's word
    if format.text.lower() not in SINKS:
        raise place.error(f'there is no sink "{format.text}"', nearest(format.text, SINKS))
    format = Name(text=format.text.lower(), piece=format.piece)  # noqa: A001
    token = cursor.peek()
    path = None
    if token is not None and token.token_type is TokenType.STRING:
        path = cursor.quoted("a path")
    elif format.text not in _WITHOUT_PATH:
        cursor.fail("a path in quotes", f"Write INSERT INTO {format.text} 'folder' SELECT …")
    options = read_options(cursor)
    query = read_query(cursor)
    piece = cursor.piece(start)
    if (replaces or options) and format.text in _WITHOUT_PATH:
        word = "OPTIONS" if options else "OVERWRITE"
        raise place.error(f"{word} is for folders, and {format.text} is none", "Write INSERT INTO parquet 'folder' ….")
    return Insert(piece=piece, format=format, path=path, query=query, options=options, replaces=bool(replaces))
