"""The window clause: `[RANGE 10 minutes, SLIDE 1 minute, WATTR ts, PATTR k]`, its parameters in any order."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sqlglot import TokenType

from millstream.core.errors import SqlError, nearest
from millstream.core.flush import Flush
from millstream.core.problem import Problem
from millstream.sql.grammar.flush import flush
from millstream.sql.grammar.lengths import length, shown
from millstream.sql.grammar.statements import ByRows, ByTuple, Growing, Length, Name, Sessions, Sliding, Window
from millstream.sql.grammar.text import WINDOW_WORDS, Piece, tokenize

_SAME = {"WA": "WATTR", "PA": "PATTR"}
_KNOWN = ("RANGE", "SLIDE", "WATTR", "PATTR", "RATTR", "SATTR", "START", "GAP", "FLUSH")
_ROW_NUMBER = ("row-num", "seq-num", "row_num", "row_number")
_QUOTED = re.compile(r"`((?:[^`]|``)*)`")
_RANK = re.compile(r"rank\s*\(\s*(.+?)\s*\)", re.IGNORECASE)
_LENGTH = re.compile(r"[\d'\"]|interval\b", re.IGNORECASE)
_EXAMPLE = "Write [RANGE 10 minutes, SLIDE 1 minute, WATTR ts]."


def window_clause(clause: Piece) -> Window:
    """The window that the text between two brackets means; all that is wrong with it at once."""
    given = _Given(clause)
    for part in _parts(clause):
        try:
            given.take(part)
        except SqlError as error:
            given.problems += error.problems
    if given.problems:
        raise SqlError(given.problems)
    return given.window()


@dataclass
class _Given:
    """The parameters so far."""

    clause: Piece
    values: dict[str, Piece] = field(default_factory=dict[str, Piece])
    lengths: dict[str, Length] = field(default_factory=dict[str, Length])
    partition: list[Name] = field(default_factory=list[Name])
    more: list[Length] = field(default_factory=list[Length])
    """Ranges after the first."""
    grows: bool = False
    last: str = ""
    problems: list[Problem] = field(default_factory=list[Problem])

    def take(self, part: Piece) -> None:
        """One parameter."""
        text = str(part)
        word = re.match(r"\w+", text)
        name = _SAME.get(word[0].upper(), word[0].upper()) if word else ""
        if name not in _KNOWN:
            if self.last == "PATTR":
                self.partition.append(_name(part))
                return
            if self.last == "RANGE" and _LENGTH.match(text):
                self.more.append(length(part, "RANGE"))
                return
            place = part if word is None else part.part(0, word.end())
            raise place.error(f"there is no window parameter {shown(text)}", nearest(name, _KNOWN))
        assert word is not None
        if name in self.values:
            raise part.part(0, word.end()).error(f"{name} is given twice", "Give each parameter once.")
        value = _stripped(part, word.end())
        if value is None:
            self.values[name] = part
            raise part.error(f"{name} has no value", _EXAMPLE)
        self.values[name] = value
        self.last = name
        self._read(name, value)

    def _read(self, name: str, value: Piece) -> None:
        match name:
            case "RANGE" if str(value).upper() == "ALL":
                self.grows = True
            case "RANGE" if (tumbling := re.match(r"tumbling\b", str(value), re.IGNORECASE)) is not None:
                rest = _stripped(value, tumbling.end())
                if rest is None:
                    raise value.error("RANGE TUMBLING has no length", "Write RANGE TUMBLING 5 minutes.")
                self.lengths["RANGE"] = length(rest, "RANGE")
                self.values["TUMBLING"] = value
            case "RANGE" | "SLIDE" | "GAP":
                self.lengths[name] = length(value, name)
            case "PATTR":
                self.partition.append(_name(value))
            case _:
                pass

    def window(self) -> Window:
        """The kind of window that the parameters make."""
        if self.more and ("TUMBLING" in self.values or any(one.rows for one in (*self.more, *self.lengths.values()))):
            raise self.more[0].piece.error(
                "only ranges of an attribute may be several", "Ask another query for the other window."
            )
        if "GAP" in self.values:
            return self._sessions()
        slide = self.lengths.get("SLIDE")
        if self.grows:
            if slide is None:
                raise self._wrong("RANGE ALL needs a SLIDE", "Say how often to report: SLIDE 1 minute.")
            self._only("RANGE ALL", "RANGE", "SLIDE", "WATTR", "PATTR", "START", "FLUSH")
            return Growing(
                piece=self._place(),
                attribute=self._attribute(),
                slide=slide,
                start=self._start(),
                partition=self._keys(),
                flush=self._flush(),
            )
        size = self.lengths.get("RANGE")
        if size is None:
            raise self._wrong("the window has no RANGE", _EXAMPLE)
        if "TUMBLING" in self.values and slide is not None:
            raise slide.piece.error("a tumbling window has no SLIDE", "Leave out TUMBLING, or SLIDE.")
        if size.rows:
            return self._by_rows(size, slide)
        if (slide is not None and slide.rows) or "SATTR" in self.values:
            return self._by_tuple(size, slide)
        self._only("a sliding window", "RANGE", "SLIDE", "WATTR", "PATTR", "START", "TUMBLING", "FLUSH")
        return Sliding(
            piece=self._place(),
            attribute=self._attribute(),
            range=size,
            more=tuple(self.more),
            slide=slide,
            start=self._start(),
            partition=self._keys(),
            tumbling="TUMBLING" in self.values,
            flush=self._flush(),
        )

    def _by_rows(self, size: Length, slide: Length | None) -> ByRows:
        self._only("a window of rows", "RANGE", "SLIDE", "WATTR", "PATTR", "TUMBLING")
        if slide is not None and not slide.rows:
            raise slide.piece.error(
                "RANGE is a number of rows, and SLIDE is not", "Give both in rows: RANGE 1000 rows, SLIDE 10 rows."
            )
        named = self.values.get("WATTR")
        by_arrival = named is None or str(named).lower() in _ROW_NUMBER
        return ByRows(
            piece=self._place(),
            attribute=None if by_arrival or named is None else _name(named),
            range=size,
            slide=slide,
            partition=self._keys(),
        )

    def _by_tuple(self, size: Length, slide: Length | None) -> ByTuple:
        self._only("slide-by-tuple", "RANGE", "SLIDE", "RATTR", "SATTR", "WATTR", "PATTR")
        if slide is None or not slide.rows:
            raise self._wrong("SATTR needs a SLIDE of rows", "Write SLIDE 1 row, SATTR row-num.")
        attribute = self._attribute()
        order = self.values.get("SATTR")
        ranked = None if order is None else _RANK.fullmatch(str(order))
        if ranked is not None and unquoted(ranked[1]).lower() != attribute.text.lower() and order is not None:
            raise order.error(f"only rank({attribute.text}) is possible", "Rank by the attribute of RANGE itself.")
        if order is not None and ranked is None and str(order).lower() not in _ROW_NUMBER:
            raise order.error(
                f"SATTR is {shown(str(order))}",
                f"Use row-num, or rank({attribute.text}) for the attribute's own order.",
            )
        return ByTuple(
            piece=self._place(),
            attribute=attribute,
            range=size,
            every=slide,
            rank=ranked is not None,
            partition=self._keys(),
        )

    def _sessions(self) -> Sessions:
        self._only("a session window", "GAP", "WATTR", "PATTR")
        return Sessions(
            piece=self._place(), attribute=self._attribute(), gap=self.lengths["GAP"], partition=self._keys()
        )

    def _attribute(self) -> Name:
        named = self.values.get("WATTR") or self.values.get("RATTR")
        if named is None:
            raise self._wrong("the window has no WATTR", "Name the attribute it is on: WATTR ts.")
        return _name(named)

    def _start(self) -> int | str | None:
        piece = self.values.get("START")
        if piece is None:
            return None
        text = re.sub(r"^(timestamp(_ntz|_ltz)?|date)\b", "", str(piece), flags=re.IGNORECASE).strip().strip("'\"")
        return int(text) if re.fullmatch(r"-?\d+", text) else text

    def _flush(self) -> Flush | None:
        piece = self.values.get("FLUSH")
        return None if piece is None else flush(piece)

    def _keys(self) -> tuple[Name, ...]:
        return tuple(self.partition)

    def _only(self, kind: str, *allowed: str) -> None:
        for name, piece in self.values.items():
            if name not in allowed:
                raise piece.error(f"{kind} has no {name}", f"It takes {', '.join(allowed)}.")

    def _place(self) -> Piece:
        whole = self.clause.whole
        return Piece(whole, whole, self.clause.start - 1, self.clause.end + 1)

    def _wrong(self, fact: str, hint: str) -> SqlError:
        return self._place().error(fact, hint)


def _parts(clause: Piece) -> list[Piece]:
    """The parameters: cut at commas, and before the word of the next one, for the commas may be left out."""
    out: list[Piece] = []
    depth = begin = words = 0
    for token in tokenize(str(clause)):
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        comma = token.token_type is TokenType.COMMA
        if depth == 0 and (comma or (words > 1 and token.text.upper() in WINDOW_WORDS)):
            out.append(clause.part(begin, token.start))
            begin, words = (token.end + 1, 0) if comma else (token.start, 1)
        else:
            words += 1
    out.append(clause.part(begin, clause.end - clause.start))
    trimmed = [_stripped(part, 0) for part in out]
    return [part for part in trimmed if part is not None]


def _stripped(piece: Piece, skip: int) -> Piece | None:
    """The piece without its first `skip` characters and the blanks around it; None if nothing is left."""
    text = str(piece)
    rest = text[skip:]
    if not rest.strip():
        return None
    begin = skip + len(rest) - len(rest.lstrip())
    return piece.part(begin, len(text.rstrip()))


def _name(piece: Piece) -> Name:
    return Name(text=unquoted(str(piece).strip("()").strip()), piece=piece)


def unquoted(text: str) -> str:
    """A name without its backticks; one that is doubled is itself.

    >>> print(unquoted("`a``b`"), unquoted("s.`x y`"), unquoted("ts"))
    a`b s.x y ts
    """
    return _QUOTED.sub(lambda found: found[1].replace("``", "`"), text)
