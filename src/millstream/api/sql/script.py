"""A script: several statements that share one engine. What `millstream run FILE.sql` runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api.output import Output
from millstream.api.sql.blame import refuse_problems
from millstream.api.sql.declare import declare_table
from millstream.api.sql.execute import into_side, perform
from millstream.api.sql.lower_side import whole_side
from millstream.core.errors import MillstreamError, SqlError
from millstream.core.problem import Problem
from millstream.sql.grammar.read_statement import read_one
from millstream.sql.grammar.statements import CreateStream, CreateTable, CreateView, Insert, SendFeedback, Statement
from millstream.sql.grammar.text import statements
from millstream.state.paths import identity, local_path

if TYPE_CHECKING:
    from millstream.api.engine import Engine
    from millstream.api.query import Query
    from millstream.api.table import Table


@dataclass(slots=True)
class Done:
    """A statement and what became of it: the query, view, stream or table it made, or its problems."""

    line: int
    kind: str
    name: str = ""
    query: Query | None = None
    table: Table | None = None
    problems: tuple[Problem, ...] = ()

    @property
    def schema(self) -> pa.Schema | None:
        """The columns of what was made."""
        made = self.query or self.table
        if self.query is not None:
            made = next((one for one in self.query.sides if one.word == self.kind), made)
        return None if made is None else made.schema

    @property
    def runs(self) -> bool:
        """Is this a query that runs, and not only a name?"""
        return self.kind == "query" and self.query is not None


@dataclass
class Script:
    """Statements as text, to be executed on an engine.

    >>> import millstream as ms
    >>> script = ms.Script('''
    ...     CREATE STREAM ticks FROM rate OPTIONS (rowsPerSecond 10, rows 30, start '2026-01-01')
    ...         PROGRESS ORDERED ON timestamp;
    ...     INSERT INTO memory 'counts' SELECT count(*) AS n FROM ticks [RANGE 1 second, WATTR timestamp];
    ... ''')
    >>> engine = ms.Engine(host="local")
    >>> counts = script.bind(engine)[0]
    >>> engine.start(ms.available_now(), end_of_stream=True).await_termination()
    True
    >>> counts.table()["n"].to_pylist()
    [10, 10, 10]
    """

    text: str
    done: list[Done] = field(default_factory=list[Done])

    @classmethod
    def load(cls, path: str | Path) -> Script:
        """The script in a file."""
        return cls(Path(path).read_text(encoding="utf-8"))

    def bind(self, engine: Engine, *, show: Callable[[Any], object] | None = None) -> list[Query]:
        """Execute every statement; returns the queries that run, in order, or raises all problems of all statements.

        `show` gets the query of each plain SELECT; without it, the rows are kept in memory.
        """
        problems = [one for done in self.check(engine, show=show) for one in done.problems]
        refuse_problems(problems)
        return [done.query for done in self.done if done.runs and done.query is not None]

    def check(self, engine: Engine, *, show: Callable[[Any], object] | None = None) -> list[Done]:
        """Execute the statements that are right, and report the outcome of each."""
        self.done = []
        failed: dict[str, int] = {}
        folders: dict[Path, int] = {}
        found = statements(self.text)
        if not found:
            raise SqlError([Problem("there is no statement", self.text, 0, 1, "Write SELECT … FROM stream.")])
        for text in found:
            line = text.whole.count("\n", 0, text.tokens[0].start) + 1
            done = Done(line, _guess(text.tokens[0].text))
            self.done.append(done)
            try:
                statement = read_one(text)
                done.kind, done.name = _kind(statement)
                if isinstance(statement, Insert):
                    _claim(statement, folders, line)
                if isinstance(statement, Insert) and (side := whole_side(statement.query)) is not None:
                    done.kind, done.query = side.output, into_side(engine, statement, side)
                    done.name = side.name.text
                    if statement.format is None:
                        (show or _kept)(next(one for one in done.query.sides if one.word == side.output))
                elif isinstance(statement, Insert):
                    done.name = engine.free_name("" if statement.path is None else Path(statement.path.text).stem)
                    done.query = perform(engine, statement, name=done.name)
                    if statement.format is None:
                        (show or _kept)(done.query)
                elif isinstance(statement, CreateTable):
                    done.table = declare_table(engine, statement)
                else:
                    done.query = perform(engine, statement)
            except SqlError as error:
                done.problems = tuple(_follows(one, failed) for one in error.problems)
                if text.tokens[0].text.upper() == "CREATE" and len(text.tokens) > 2:
                    failed[text.tokens[2].text.strip("`").lower()] = line
        return self.done


def _claim(statement: Insert, folders: dict[Path, int], line: int) -> None:
    """Note the folder that a statement writes to; one that another statement writes to, or lies in, is refused."""
    if statement.path is None or statement.format is None or statement.format.text not in ("parquet", "csv", "json"):
        return
    try:
        mine = identity(local_path(statement.path.text, "a folder of results"))
    except MillstreamError:
        return  # the sink itself says what is wrong with it
    for folder, other in folders.items():
        if mine == folder or mine in folder.parents or folder in mine.parents:
            same = "is" if mine == folder else "lies in, or holds,"
            fact = f'"{statement.path.text}" {same} the folder that the statement in line {other} writes to'
            raise statement.path.piece.error(fact, "Give each query a folder of its own.")
    folders[mine] = line


def _follows(problem: Problem, failed: Mapping[str, int]) -> Problem:
    """A name that is missing because its own statement has a problem: say so."""
    line = failed.get(problem.text[problem.start : problem.end].strip("`").lower())
    if line is None or not problem.fact.startswith("there is no stream"):
        return problem
    return replace(
        problem, hint=f"The statement in line {line} would make it, and has a problem of its own: mend that first."
    )


def _kept(query: Output) -> object:
    return query.to_memory()


def _kind(statement: Statement) -> tuple[str, str]:
    match statement:
        case CreateStream():
            return "stream", statement.name.text
        case CreateTable():
            return "table", statement.name.text
        case CreateView():
            return "view", statement.name.text
        case SendFeedback():
            return "feedback", statement.query.text
        case Insert():
            return "query", ""


def _guess(word: str) -> str:
    return "query" if word.upper() in ("SELECT", "WITH", "INSERT") else "statement"
