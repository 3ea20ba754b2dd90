"""Clauses of SQL that are not there: each is named for what it is, with what to write instead."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlglot import TokenType

from millstream.core.domain import nanoseconds
from millstream.core.errors import WindowError, sql_error
from millstream.sql.grammar.cursor import Cursor, word_of
from millstream.sql.grammar.statements import Length
from millstream.sql.grammar.text import Piece

_SETS = ("CUBE", "ROLLUP", "GROUPING SETS", "GROUPING")
_UNITE = (
    "Write one query for each grouping, with CAST(NULL AS type) AS k for a column k that it leaves out, and UNION ALL "
    "between them."
)


def refuse_grouping_sets(cursor: Cursor) -> None:
    """Stop at `CUBE (…)`, `ROLLUP (…)`, `GROUPING SETS (…)` and `… WITH ROLLUP`."""
    word, after = cursor.word(), cursor.word(1)
    if word in _SETS and (after == "(" or word.startswith("GROUPING")):
        name = "GROUPING SETS" if word == "GROUPING" else word
        raise sql_error([cursor.here().problem(f"not yet: GROUP BY {name}", _UNITE, not_yet=True)])


def refuse_with(cursor: Cursor, start: int) -> None:
    """The same, where it stands after the groups."""
    for at in range(start, cursor.at - 1):
        word, after = word_of(cursor.tokens[at]), word_of(cursor.tokens[at + 1])
        if word == "WITH" and after in _SETS:
            raise sql_error([cursor.piece(at, at + 2).problem(f"not yet: WITH {after}", _UNITE, not_yet=True)])


def refuse_sub_queries(piece: Piece) -> None:
    """Stop at a query inside an expression, before anything inside it is misread."""
    tokens = piece.tokens()
    for at, token in enumerate(tokens[:-1]):
        if token.token_type is not TokenType.L_PAREN or word_of(tokens[at + 1]) not in ("SELECT", "WITH"):
            continue
        before = [word_of(one) for one in tokens[max(0, at - 2) : at]]
        where = piece.part(tokens[at + 1].start - piece.start, tokens[-1].end + 1 - piece.start)
        raise sql_error([where.problem("not yet: a sub-query inside an expression", _instead(before), not_yet=True)])


def _instead(before: list[str]) -> str:
    match before:
        case [*_, "NOT", "EXISTS"]:
            return "Write it as a join: FROM a LEFT ANTI JOIN b ON …, with a bound on the time between both."
        case [*_, "EXISTS"]:
            return "Write it as a join: FROM a LEFT SEMI JOIN b ON …, with a bound on the time between both."
        case [*_, "NOT", "IN"]:
            return "Write it as a join: FROM a LEFT ANTI JOIN b ON …; unlike NOT IN it does not mind nulls in b."
        case [*_, "IN"]:
            return "Write it as a join: FROM a LEFT SEMI JOIN b ON a.k = b.k, with a bound on the time between both."
        case _:
            return "Join it in FROM."


def refuse_system_time(cursor: Cursor) -> None:
    """Stop at `FOR SYSTEM_TIME AS OF …`."""
    if cursor.word() == "FOR" and cursor.word(1) in ("SYSTEM_TIME", "SYSTEM_VERSION", "VERSION", "TIMESTAMP"):
        raise sql_error(
            [
                cursor.piece(cursor.at, cursor.at + 2).problem(
                    f"not yet: FOR {cursor.word(1)}",
                    "JOIN with a table reads the table as it is in the epoch of the row. For the version at the "
                    "row's own time, make the changes a stream: ASOF JOIN changes c ON a.k = c.k AND a.ts >= c.ts.",
                    not_yet=True,
                )
            ]
        )


def shifted(attribute: str, size: Length, slide: Length | None, offset: Length) -> str:
    """The window clause that means windows shifted by an offset: counted from a start before every row."""
    try:
        start = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=nanoseconds(str(offset.value)) // 1000)
    except WindowError:
        return "Use [RANGE …, START …] with a start before the first row."
    moved = "" if slide is None else f"SLIDE {slide.value}, "
    at = f"{start:%Y-%m-%d %H:%M:%S.%f}".rstrip("0").rstrip(".")
    return f"Write [RANGE {size.value}, {moved}WATTR {attribute}, START TIMESTAMP '{at}']."
