"""CREATE STREAM and CREATE TABLE: types, sources and promises of a statement as the engine takes them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api import declared_progress as promise
from millstream.api.query import Query
from millstream.api.rate import Rate
from millstream.api.schema import arrow_type
from millstream.api.sql.blame import at, refuse_problems
from millstream.api.sql.catalog import Catalog
from millstream.api.table import Table
from millstream.core.errors import SourceError, nearest
from millstream.core.problem import Problem
from millstream.runtime.batch import APART
from millstream.runtime.sources import files
from millstream.sql.grammar import statements as sql
from millstream.sql.grammar.text import Piece
from millstream.sql.statement_expressions import spelled
from millstream.sql.types import read_type

if TYPE_CHECKING:
    from millstream.api.engine import Engine

_FILE_OPTIONS = {
    "epoch_files": int,
    "epoch_rows": int,
    "pattern": str,
    "order_by": str,
    "maxFilesPerTrigger": int,
}
_RATE_OPTIONS = {"rowsPerSecond": int, "rows": int, "start": str}
_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"


def declare(engine: Engine, statement: sql.CreateStream) -> Query:
    """Add the stream to the engine; as a query, so that it can be named and read."""
    problems: list[Problem] = []
    name = statement.name
    text = said(statement.piece)
    if engine._statements.get(name.text) == text:
        return Query(engine, engine._streams[name.text])
    if Catalog(engine).spelled(name.text) is not None:
        problems.append(name.piece.problem(f'there is a stream or query "{name.text}" already', "Choose another name."))
    fields: list[pa.Field] = []
    for column in statement.columns:
        with at(column.kind, problems):
            fields.append(pa.field(column.name.text, arrow_type(read_type(column.kind))))
    options = _options(statement, problems)
    refuse_problems(problems)
    schema = pa.schema(fields) if fields else None
    source: Any = None
    known: list[str] = []
    with at(statement.format.piece if statement.path is None else statement.path.piece, problems):
        source = _source(engine, statement, schema, options)
        known = [name for name in source.schema.names if name not in APART]
    refuse_problems(problems)
    made: Any = None
    if statement.progress is not None:
        progress = _respelled(statement.progress, known, problems)
        refuse_problems(problems)
        with at(statement.progress.piece, problems):
            made = _promise(progress)
    refuse_problems(problems)
    with at((statement.progress or statement.name).piece, problems):
        stream = engine.stream(statement.name.text, source, progress=made)
    refuse_problems(problems)
    engine._statements[name.text] = text
    return Query(engine, stream.node)


def said(piece: Piece) -> str:
    """A statement as it compares with another: blanks and line ends do not count."""
    return " ".join(piece.whole[piece.start : piece.end].split())


def declare_table(engine: Engine, statement: sql.CreateTable) -> Table:
    """Add the table to the engine, with what is in its files now."""
    problems: list[Problem] = []
    fields: list[pa.Field] = []
    for column in statement.columns:
        with at(column.kind, problems):
            fields.append(pa.field(column.name.text, arrow_type(read_type(column.kind))))
    known = {"pattern": str}
    problems += [
        name.piece.problem(f'there is no option "{name.text}"', nearest(name.text, known))
        for name, _ in statement.options
        if name.text.lower() not in known
    ]
    refuse_problems(problems)
    schema = pa.schema(fields) if fields else None
    pattern = next((value for name, value in statement.options if name.text.lower() == "pattern"), "*")
    path, kind = statement.path.text, statement.format.text
    if Catalog(engine).spelled(statement.name.text) is not None:
        fact = f'there is a stream, table or query "{statement.name.text}" already'
        raise statement.name.piece.error(fact, "Choose another name.")
    with at(statement.path.piece, problems):
        # Read anew each time: files that came since are part of the table.
        return engine.table(statement.name.text, lambda: files(path, kind, schema=schema, pattern=pattern))
    refuse_problems(problems)
    raise AssertionError


def _options(statement: sql.CreateStream, problems: list[Problem]) -> dict[str, Any]:
    if statement.format.text == "kafka":
        return {name.text: value for name, value in statement.options}
    known = _RATE_OPTIONS if statement.format.text == "rate" else _FILE_OPTIONS
    out: dict[str, Any] = {}
    for name, value in statement.options:
        option = spelled(name.text, list(known)) or name.text
        kind = known.get(option)
        if kind is None:
            problems.append(name.piece.problem(f'there is no option "{name.text}"', nearest(name.text, known)))
        elif kind is int and not value.isdecimal():
            problems.append(name.piece.problem(f"{name.text} is {value}, which is no number", "Give a whole number."))
        else:
            out["epoch_files" if option == "maxFilesPerTrigger" else option] = kind(value)
    return out


def _source(engine: Engine, statement: sql.CreateStream, schema: pa.Schema | None, options: dict[str, Any]) -> Any:
    path = "" if statement.path is None else statement.path.text
    match statement.format.text:
        case "kafka":
            if schema is not None:
                raise SourceError(
                    "kafka has the columns key, value, topic, partition, offset, timestamp and timestampType",
                    hint="Leave the columns out, and take value apart in a query.",
                )
            return _kafka(engine.spark, {"subscribe": path, **options} if path else options)
        case "rate":
            if schema is not None:
                raise SourceError("rate has the columns timestamp and value", hint="Leave the columns out.")
            if engine.spark is not None and set(options) <= {"rowsPerSecond"}:
                return _scan().rate_frame(engine.spark, options.get("rowsPerSecond", 1))
            return Rate(options.get("rowsPerSecond", 1), options.get("rows"), options.get("start"))
        case name if engine.spark is not None and options.keys().isdisjoint({"epoch_rows", "order_by"}):
            return _scan().file_frame(engine.spark, path, name, schema, **options)
        case name:  # only this process can cut a file
            return files(path, name, schema=schema, **options)


def _scan() -> Any:
    from millstream.spark import scan  # noqa: PLC0415 - the local host runs without pyspark

    return scan


def _kafka(spark: Any, options: dict[str, Any]) -> Any:
    if spark is None:
        raise SourceError(
            "kafka is read through Spark, and this engine has none",
            hint=f"Run on Spark, started with --packages {_CONNECTOR}:<version of Spark>.",
        )
    return _scan().kafka_frame(spark, options)


def _respelled(progress: sql.Progress, known: list[str], problems: list[Problem]) -> sql.Progress:
    """The promise with its columns as the source spells them."""

    def meant(name: sql.Name) -> sql.Name:
        found = spelled(name.text, known)
        if found is None:
            problems.append(name.piece.problem(f'there is no column "{name.text}"', nearest(name.text, known)))
        return replace(name, text=found or name.text)

    per = tuple(map(meant, progress.per))
    if not isinstance(progress, sql.Supplied):
        return replace(progress, attribute=meant(progress.attribute), per=per)
    attribute, mark = (None if one is None else meant(one) for one in (progress.attribute, progress.mark))
    return replace(progress, attribute=attribute, mark=mark, per=per)


def _promise(progress: sql.Progress) -> Any:
    match progress:
        case sql.Ordered():
            made = promise.ordered(progress.attribute.text)
        case sql.Within() if progress.length.rows:
            if progress.idle is not None:
                raise progress.idle.piece.error("WITHIN n ROWS has no IDLE", "Give a length of time: WITHIN 5 seconds.")
            made = promise.bounded_disorder(progress.attribute.text, rows=int(progress.length.value))
        case sql.Within():
            idle = None if progress.idle is None else progress.idle.value
            made = promise.bounded_disorder(progress.attribute.text, progress.length.value, idle=idle)
        case sql.Stepped():
            made = promise.step(progress.attribute.text, progress.every.value)
        case sql.Timed():
            lull = None if progress.lull is None else progress.lull.value
            made = promise.timer(progress.attribute.text, progress.every.value, lull=lull)
        case sql.Supplied():
            attribute = None if progress.attribute is None else progress.attribute.text
            mark = None if progress.mark is None else progress.mark.text
            keys = [one.text for one in progress.per]
            return (
                promise.supplied(attribute, per=keys) if mark is None else promise.embedded(mark, attribute, per=keys)
            )
    keys = [one.text for one in progress.per]
    return promise.per_group(keys, made) if keys else made
