"""One SQL statement, executed: a stream is declared, a view named, a query asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from millstream.api.operations.feedback import assumed, demanded, desired
from millstream.api.output import Output
from millstream.api.query import Query
from millstream.api.sql.blame import at, refuse_problems
from millstream.api.sql.catalog import Catalog
from millstream.api.sql.declare import declare, said
from millstream.api.sql.lower import lower
from millstream.api.sql.lower_side import side_output, whole_side
from millstream.core.errors import SqlError, nearest
from millstream.core.problem import Problem
from millstream.sql.grammar.read_statement import read
from millstream.sql.grammar.statements import (
    CreateStream,
    CreateTable,
    CreateView,
    FromSide,
    Insert,
    SendFeedback,
    Statement,
)

if TYPE_CHECKING:
    from millstream.api.engine import Engine


def execute(engine: Engine, text: str, *, name: str | None = None) -> Query:
    """The query of a text that is one statement.

    >>> import millstream as ms
    >>> engine = ms.Engine(host="local")
    >>> _ = engine.stream("bids", [{"ts": 1, "price": 5}, {"ts": 2, "price": 7}])
    >>> top = engine.sql("SELECT max(price) AS top FROM bids [RANGE 10, WATTR ts]", name="top")
    >>> engine.start(ms.available_now(), end_of_stream=True).await_termination()
    True
    >>> top.table().to_pylist()
    [{'window_id': 0, 'window_start': 0, 'window_end': 10, 'top': 7}]
    """
    if not isinstance(text, str) or not text.strip():
        raise SqlError([Problem("there is no statement", str(text or ""), 0, 1, "Write SELECT … FROM stream.")])
    found = read(text)
    if not found:
        raise SqlError([Problem("there is no statement", text, 0, 1, "Write SELECT … FROM stream.")])
    if len(found) > 1:
        raise found[1].piece.error(
            "a second statement, and one is expected", "Several statements are a script: ms.Script(text)."
        )
    with engine.changes():  # a query that joins a run has its sinks from the beginning
        return perform(engine, found[0], name=name)


def perform(engine: Engine, statement: Statement, *, name: str | None = None) -> Query:
    """Do what a statement says; the query, view or stream that it made, which runs if it has a name or a sink."""
    try:
        match statement:
            case CreateStream():
                query = declare(engine, statement)
            case CreateTable():
                hint = 'Use engine.table("items", "path"), or a script: ms.Script(text).'
                raise statement.piece.error("CREATE TABLE asks nothing, and a query is expected", hint)
            case CreateView():
                with Catalog(engine).unless_wrong():
                    query = _view(engine, statement)
            case SendFeedback():
                return _send(engine, statement)
            case Insert() if statement.format is not None and (side := whole_side(statement.query)) is not None:
                return into_side(engine, statement, side)
            case Insert():
                with Catalog(engine).unless_wrong():
                    asked = lower(engine, statement.query)
                return _into(asked, statement, name)
    except RecursionError:
        raise statement.piece.error(
            "this statement nests too deeply", "Compute a part of it in a sub-query or a view."
        ) from None
    return query if name is None else query.named(name)


def _send(engine: Engine, statement: SendFeedback) -> Query:
    """The query that feedback was sent to."""
    name, problems = statement.query.text, list[Problem]()
    query = engine._queries.get(name)
    if query is None:
        known = nearest(name, engine._queries) if engine._queries else "There is none."
        raise statement.query.piece.error(f'there is no query "{name}"', known)
    say = {"assumed": assumed, "desired": desired, "demanded": demanded}[statement.intent]
    with at(statement.condition, problems):
        query.feedback(say(str(statement.condition), ttl=statement.epochs))
    refuse_problems(problems)
    return query


def _view(engine: Engine, statement: CreateView) -> Query:
    name, text = statement.name.text, said(statement.piece)
    if name in engine._views and engine._statements.get(name) == text:
        return engine._views[name]
    query = lower(engine, statement.query)
    problems: list[Problem] = []
    with at(statement.name.piece, problems):
        Catalog(engine).add_view(name, query)
    refuse_problems(problems)
    engine._statements[name] = text
    return query


def _into(found: Query, statement: Insert, name: str | None) -> Query:
    """The query with the sink that INSERT names; a plain SELECT has none yet."""
    # A view may be asked for several times, and each is a query of its own.
    query = Query(found.engine, found.node)
    path = "" if statement.path is None else statement.path.text
    where = statement.path or statement.format
    problems: list[Problem] = []
    with at(statement.piece if where is None else where.piece, problems):
        if name is not None:
            query = query.named(name)
        kind = None if statement.format is None else statement.format.text
        if kind == "memory" and path and name is None:
            query = query.named(path)
        _sink(query, kind, path, statement)
    refuse_problems(problems)
    return query


def _sink(output: Output, kind: str | None, path: str, statement: Insert) -> None:
    """Have an output written to the sink of a statement."""
    match kind:
        case "parquet":
            output.to_parquet(path, **_folder_options(statement))
        case "csv":
            output.to_csv(path, **_folder_options(statement))
        case "json":
            output.to_json(path, **_folder_options(statement))
        case "delta":
            output.to_delta(path, **_folder_options(statement))
        case "iceberg":
            output.to_iceberg(path, **_iceberg_options(statement))
        case "postgres":
            output.to_postgres(**_postgres_options(statement, path))
        case "console":
            output.to_console()
        case "memory":
            output.to_memory()
        case _:
            pass


def _folder_options(statement: Insert) -> dict[str, Any]:
    """How a folder is written, in the words of the fluent API."""
    return _options(statement, ("mode", "partition_by"))


def _iceberg_options(statement: Insert) -> dict[str, Any]:
    """How an Iceberg table is written; options that begin with `catalog.` are properties of its catalog."""
    out = _options(statement, ("mode", "partition_by", "catalog"), "catalog.")
    properties = {name.removeprefix("catalog."): out.pop(name) for name in list(out) if name.startswith("catalog.")}
    return out | ({"catalog": properties} if properties else {})


def _postgres_options(statement: Insert, table: str) -> dict[str, Any]:
    """How a table of PostgreSQL is written."""
    out = _options(statement, ("mode", "key", "address"))
    if "address" not in out:
        raise statement.piece.error(
            f"{table!r} is in no database",
            "Say where: INSERT INTO postgres 'table' OPTIONS (address 'postgresql://…').",
        )
    return {"table": table, **out}


def _options(statement: Insert, known: Sequence[str], prefix: str | None = None) -> dict[str, Any]:
    """The options of a statement, as arguments of the fluent API."""
    out: dict[str, Any] = {"mode": "replace"} if statement.replaces else {}
    for name, value in statement.options:
        option = name.text.lower()
        if option in ("partition_by", "key") and option in known:
            out[option] = [column.strip() for column in value.split(",")]
        elif option in known:
            out[option] = value.lower() if option == "mode" else value
        elif prefix is not None and option.startswith(prefix):
            out[prefix + name.text[len(prefix) :]] = value
        else:
            raise name.piece.error(f'there is no option "{name.text}"', nearest(name.text, known))
    return out


def into_side(engine: Engine, statement: Insert, side: FromSide) -> Query:
    """The query whose late or rejected rows go to the sink that INSERT names."""
    path = "" if statement.path is None else statement.path.text
    where = statement.path or statement.format
    problems: list[Problem] = []
    with at(side.piece, problems):
        output = side_output(engine, side)
        with at(side.piece if where is None else where.piece, problems):
            _sink(output, None if statement.format is None else statement.format.text, path, statement)
        refuse_problems(problems)
        return output.query
    refuse_problems(problems)
    raise AssertionError
