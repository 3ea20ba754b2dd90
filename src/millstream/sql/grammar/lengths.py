"""Lengths: `10 minutes`, `INTERVAL '1' MINUTE`, `1000 rows`, `60`."""

from __future__ import annotations

import re

from millstream.core.domain import nanoseconds
from millstream.core.errors import WindowError, nearest
from millstream.sql.grammar.statements import Length
from millstream.sql.grammar.text import Piece

_ROWS = re.compile(r"(\d+)\s*(rows?|tuples?)", re.IGNORECASE)
_INTERVAL = re.compile(r"interval\b", re.IGNORECASE)
_UNIT = re.compile(r"[A-Za-z]+")
_UNITS = ("seconds", "minutes", "hours", "days", "weeks", "milliseconds", "microseconds", "rows")


def length(piece: Piece, what: str) -> Length:
    """What a stretch of text means as a length; `what` names it in a problem.

    >>> text = "INTERVAL '1' MINUTE"
    >>> length(Piece(text, text, 0, len(text)), "range").value
    '1 MINUTE'
    """
    text = " ".join(str(piece).split())
    plain = _INTERVAL.sub("", text, count=1).replace("'", " ").replace('"', " ")
    plain = " ".join(plain.split())
    if found := _ROWS.fullmatch(plain):
        return Length(value=int(found[1]), piece=piece, rows=True)
    if plain.isdecimal():
        return Length(value=int(plain), piece=piece)
    if re.fullmatch(r"\d+\.\d+", plain):
        return Length(value=plain, piece=piece)
    try:
        nanoseconds(plain)
    except WindowError:
        raise piece.error(f"{what} is no length: {shown(text)}", _hint(plain)) from None
    return Length(value=plain, piece=piece)


def shown(text: str) -> str:
    """A text in a message, cut to a readable length."""
    return text if len(text) <= 40 else text[:39] + "…"


def _hint(text: str) -> str:
    unit = _UNIT.search(text)
    number = re.match(r"\d", text)
    if unit is not None and number:
        return nearest(unit[0], _UNITS)
    return "Write a number and a unit, as in 10 minutes, INTERVAL '1' MINUTE or 1000 rows."
