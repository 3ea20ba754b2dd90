"""Errors of the fluent API, put where they belong in the statement."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from millstream.core.errors import MillstreamError, SqlError, sql_error
from millstream.core.problem import Problem
from millstream.sql.grammar.text import Piece
from millstream.sql.hints import in_sql

_MISSING = re.compile(r'there is no function "(\w+)"')


@contextmanager
def at(piece: Piece, problems: list[Problem]) -> Iterator[None]:
    """Whatever is wrong in here is wrong with this piece."""
    try:
        yield
    except SqlError as error:
        problems += error.problems
    except MillstreamError as error:
        problems.append(blame(piece, error))


def blame(piece: Piece, error: MillstreamError) -> Problem:
    """The error as a problem of a piece; an unknown function is pointed at."""
    missing = _MISSING.search(error.fact)
    if missing is None:
        return piece.problem(error.fact, in_sql(error.hint))
    name = missing[1]
    found = re.search(rf"\b{re.escape(name)}\b", str(piece), re.IGNORECASE)
    where = piece if found is None else piece.part(found.start(), found.end())
    return where.problem(f'there is no function "{name}"', error.hint)


def refuse_problems(problems: list[Problem]) -> None:
    """Stop here if there are problems; if all of them are things we cannot do yet, say that."""
    if problems:
        raise sql_error(problems)
