"""The field's windows: the table functions TUMBLE, HOP, CUMULATE and SESSION, and Spark's `window(…)`."""

from __future__ import annotations

from sqlglot import TokenType

from millstream.core.errors import SqlError, nearest
from millstream.sql.foreign import shifted
from millstream.sql.grammar.cursor import Cursor
from millstream.sql.grammar.lengths import length
from millstream.sql.grammar.statements import Cumulating, Length, Name, Sessions, Sliding, Window
from millstream.sql.grammar.text import Piece

TABLE_FUNCTIONS = {
    "TUMBLE": ("SIZE",),
    "HOP": ("SLIDE", "SIZE"),
    "CUMULATE": ("STEP", "SIZE"),
    "SESSION": ("GAP",),
}
"""Their lengths in order, as in Flink: HOP takes the slide first."""


class TableFunction:
    """The arguments of a table function as they are read: `TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE`."""

    def __init__(self, cursor: Cursor, name: str, start: int) -> None:
        """After the name, at the parenthesis; `start` is the token where the function begins."""
        self.cursor = cursor
        self.name = name
        self.start = start
        self.attribute: Name | None = None
        self.partition: list[Name] = []
        self.lengths: dict[str, Length] = {}

    def read_rest(self) -> Window:
        """All arguments after the table, up to the parenthesis that shuts."""
        cursor, wanted = self.cursor, list(TABLE_FUNCTIONS[self.name])
        if cursor.accept("PARTITION BY"):
            self.partition.append(cursor.name("a column"))
            while cursor.word() == "," and cursor.word(1) not in ("DESCRIPTOR", "TIMECOL"):
                cursor.at += 1
                self.partition.append(cursor.name("a column"))
        while cursor.accept_kind(TokenType.COMMA):
            self._argument(wanted)
        cursor.expect_kind(TokenType.R_PAREN, "a comma or )")
        whole = cursor.piece(self.start)
        if self.attribute is None:
            raise whole.error(f"{self.name} has no time attribute", "Name it second: DESCRIPTOR(ts).")
        if missing := [one for one in wanted if one not in self.lengths]:
            raise whole.error(f"{self.name} has no {', '.join(missing)}", _usage(self.name))
        return self._window(whole, self.attribute)

    def _argument(self, wanted: list[str]) -> None:
        cursor = self.cursor
        named = ""
        if cursor.word(1) == "=>":
            named = cursor.word()
            place = cursor.here()
            cursor.at += 2
            if named == "OFFSET" and self.name in ("TUMBLE", "HOP"):
                self._offset(cursor)
            if named not in ("TIMECOL", *wanted):
                raise place.error(f"{self.name} has no argument {named}", nearest(named, ("TIMECOL", *wanted)))
        if cursor.accept("DESCRIPTOR"):
            cursor.expect_kind(TokenType.L_PAREN, "(")
            self.attribute = cursor.name("a column")
            cursor.expect_kind(TokenType.R_PAREN, ")")
            return
        piece = cursor.until(commas=True)
        if piece is None:
            cursor.fail("an interval")
        free = [one for one in wanted if one not in self.lengths]
        if not free and self.name in ("TUMBLE", "HOP"):
            raise self._shifted(length(piece, "the offset"))
        if not free:
            raise piece.error(f"{self.name} has an argument too many", _usage(self.name))
        name = named or free[0]
        self.lengths[name] = length(piece, name)

    def _offset(self, cursor: Cursor) -> None:
        piece = cursor.until(commas=True)
        if piece is None:
            cursor.fail("an interval")
        raise self._shifted(length(piece, "the offset"))

    def _shifted(self, offset: Length) -> SqlError:
        """Windows that begin at an offset, which are written in another way here."""
        size, attribute = self.lengths.get("SIZE"), self.attribute
        hint = "Use [RANGE …, START …] with a start before the first row."
        if size is not None and attribute is not None:
            hint = shifted(attribute.text, size, self.lengths.get("SLIDE"), offset)
        return offset.piece.error(f"{self.name} has no offset", hint)

    def _window(self, piece: Piece, attribute: Name) -> Window:
        keys = tuple(self.partition)
        match self.name:
            case "SESSION":
                return Sessions(piece=piece, attribute=attribute, gap=self.lengths["GAP"], partition=keys)
            case "CUMULATE":
                step, size = self.lengths["STEP"], self.lengths["SIZE"]
                return Cumulating(piece=piece, attribute=attribute, step=step, size=size, partition=keys)
            case _:
                slide = self.lengths.get("SLIDE")
                return Sliding(
                    piece=piece,
                    attribute=attribute,
                    range=self.lengths["SIZE"],
                    slide=slide,
                    partition=keys,
                    from_start=True,
                )


def grouped_window(cursor: Cursor) -> Window | None:
    """Spark's `window(ts, '10 minutes', '5 minutes')` or `session_window(ts, '5 minutes')`, if it is next."""
    word, start, opening = cursor.word(), cursor.at, cursor.peek(1)
    if word not in ("WINDOW", "SESSION_WINDOW") or opening is None or opening.token_type is not TokenType.L_PAREN:
        return None
    cursor.at += 2
    attribute = cursor.name("a column")
    lengths: list[Length] = []
    while cursor.accept_kind(TokenType.COMMA):
        piece = cursor.until(commas=True)
        if piece is None:
            cursor.fail("a length such as '10 minutes'")
        lengths.append(length(piece, ("the window", "the slide", "the start time")[min(len(lengths), 2)]))
    cursor.expect_kind(TokenType.R_PAREN, "a comma or )")
    whole = cursor.piece(start)
    most = 3 if word == "WINDOW" else 1
    if not 1 <= len(lengths) <= most:
        raise whole.error(
            f"{word.lower()} has {len(lengths)} lengths", "Write window(ts, '10 minutes'[, '5 minutes'])."
        )
    if len(lengths) == 3:
        hint = shifted(attribute.text, lengths[0], lengths[1], lengths[2])
        raise lengths[2].piece.error("windows cannot be shifted by a start time", hint)
    if word == "SESSION_WINDOW":
        return Sessions(piece=whole, attribute=attribute, gap=lengths[0])
    slide = lengths[1] if len(lengths) > 1 else None
    return Sliding(piece=whole, attribute=attribute, range=lengths[0], slide=slide, from_start=True)


def _usage(name: str) -> str:
    return {
        "TUMBLE": "Write TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE).",
        "HOP": "Write HOP(TABLE t, DESCRIPTOR(ts), slide, size).",
        "CUMULATE": "Write CUMULATE(TABLE t, DESCRIPTOR(ts), step, size).",
        "SESSION": "Write SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), gap).",
    }[name]
