"""`WITH PACE ON max(a.ts, b.ts) 1 MINUTE [HEADROOM 10 SECONDS]`: how far behind the rows of a union may be."""

from __future__ import annotations

from sqlglot import TokenType

from millstream.sql.grammar.cursor import Cursor
from millstream.sql.grammar.lengths import length
from millstream.sql.grammar.statements import Length, Name, PaceClause


def read_pace(cursor: Cursor) -> PaceClause | None:
    """The clause, if it stands here."""
    start = cursor.at
    if not cursor.accept("WITH", "PACE"):
        return None
    cursor.expect("ON")
    names = _greatest(cursor) if cursor.word() in ("MAX", "GREATEST") else [cursor.name("a column")]
    columns = {name.text.rpartition(".")[2]: name for name in names}
    if len(columns) > 1:
        raise cursor.piece(start).error(
            f"PACE is on one column of all streams, and this names {' and '.join(columns)}",
            "Give the columns one name: SELECT arrived AS ts … WITH PACE ON max(a.ts, b.ts) 1 MINUTE.",
        )
    ((column, name),) = columns.items()
    within = _length(cursor, "the distance", "HEADROOM")
    headroom = _length(cursor, "the headroom") if cursor.accept("HEADROOM") else None
    piece = cursor.piece(start)
    return PaceClause(piece=piece, column=Name(text=column, piece=name.piece), within=within, headroom=headroom)


def _greatest(cursor: Cursor) -> list[Name]:
    cursor.at += 1
    cursor.expect_kind(TokenType.L_PAREN, "(")
    names = [cursor.name("a column")]
    while cursor.accept_kind(TokenType.COMMA):
        names.append(cursor.name("a column"))
    cursor.expect_kind(TokenType.R_PAREN, ")")
    return names


def _length(cursor: Cursor, what: str, *stops: str) -> Length:
    piece = cursor.until(*stops)
    return length(piece, what) if piece is not None else cursor.fail("a length, as in 1 MINUTE")
