"""FLUSH in a window clause: `SLOW 1000 ROWS WITHIN 2 WINDOWS`, or `LAZY WITHIN 2 WINDOWS`."""

from __future__ import annotations

import re

from millstream.core.errors import WindowError
from millstream.core.flush import Flush
from millstream.sql.grammar.lengths import shown
from millstream.sql.grammar.text import Piece

_FORM = re.compile(
    r"(?:SLOW\s+(?P<rows>\d+)\s+ROWS?|(?P<lazy>LAZY))(?:\s+WITHIN\s+(?P<windows>\d+)\s+WINDOWS?)?", re.IGNORECASE
)
_EXAMPLE = "Write FLUSH SLOW 1000 ROWS WITHIN 2 WINDOWS, or FLUSH LAZY WITHIN 2 WINDOWS."
_USUAL = 2


def flush(piece: Piece) -> Flush:
    """What follows the word FLUSH; without WITHIN a row may be two windows late."""
    found = _FORM.fullmatch(str(piece))
    if found is None:
        raise piece.error(f"FLUSH is {shown(str(piece))}", _EXAMPLE)
    rows = None if found["lazy"] else int(found["rows"])
    try:
        return Flush(rows=rows, windows=int(found["windows"] or _USUAL))
    except WindowError as error:
        raise piece.error(error.fact, _EXAMPLE) from error
