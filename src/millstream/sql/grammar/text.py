"""Statement text with its places kept: window clauses are blanked out, so that offsets stay what they were.

`SELECT count(*)[RANGE 1 minute, WATTR ts] FROM bids` is read as `SELECT count(*)` and blanks and `FROM bids`,
with the clause set apart. Everything that is read later is a `Piece`: a stretch of the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from millstream.core.errors import SqlError
from millstream.core.problem import Problem
from millstream.sql.dialect import words

WINDOW_WORDS = ("RANGE", "SLIDE", "WATTR", "WA", "PATTR", "PA", "RATTR", "SATTR", "GAP", "START", "FLUSH")
_OPEN = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
_SHUT = set(_OPEN.values())
_LONGEST = 400
"""No number that means anything here has as many digits, and Python reads none of some thousand."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text: as the user wrote it, and as it is read, with window clauses blanked."""

    whole: str = field(repr=False)
    read: str = field(repr=False)
    start: int
    end: int

    def __str__(self) -> str:
        """As it is read."""
        return self.read[self.start : self.end]

    def problem(self, fact: str, hint: str | None = None, *, not_yet: bool = False) -> Problem:
        """Something is wrong here."""
        return Problem(fact, self.whole, self.start, self.end, hint, not_yet)

    def error(self, fact: str, hint: str | None = None) -> SqlError:
        """The same as an error, when nothing more can be read."""
        return SqlError([self.problem(fact, hint)])

    def part(self, start: int, end: int) -> Piece:
        """A stretch of this piece, by offsets into it."""
        return Piece(self.whole, self.read, self.start + start, self.start + end)

    def tokens(self) -> list[Token]:
        """Its words, at offsets into the whole text."""
        return [_moved(token, self.start) for token in words(str(self))]


@dataclass(frozen=True, slots=True)
class Text:
    """One statement: its tokens, and the window clauses that were set apart."""

    whole: str = field(repr=False)
    read: str = field(repr=False)
    tokens: Sequence[Token] = field(repr=False)
    clauses: tuple[Piece, ...]
    """What is between the brackets."""

    def piece(self, start: int, end: int) -> Piece:
        """A stretch of the text."""
        return Piece(self.whole, self.read, start, end)


def statements(text: str) -> list[Text]:
    """The statements of a file, cut at its semicolons.

    >>> [len(one.tokens) for one in statements("SELECT a[RANGE 1, WA t] FROM b; -- done")]
    [4]
    """
    tokens = tokenize(text)
    for token in tokens:
        if token.token_type is TokenType.NUMBER and len(token.text) > _LONGEST:
            fact = f"a number of {len(token.text)} digits"
            raise Piece(text, text, token.start, token.end + 1).error(
                fact, "Write a smaller one, or one with an exponent, as in 1e40."
            )
    clauses, kept = _set_apart(text, tokens)
    read = list(text)
    for clause in clauses:
        read[clause.start - 1 : clause.end + 1] = " " * (clause.end - clause.start + 2)
    masked = "".join(read)
    out: list[Text] = []
    begin, low = 0, -1
    for at, token in [*enumerate(kept), (len(kept), None)]:
        if token is not None and token.token_type is not TokenType.SEMICOLON:
            continue
        mine = kept[begin:at]
        begin = at + 1
        high = len(text) if token is None else token.start
        inside = tuple(Piece(text, text, c.start, c.end) for c in clauses if low < c.start <= high)
        low = high
        if mine:
            out.append(Text(text, masked, mine, inside))
        elif inside:
            raise Piece(text, text, inside[0].start - 1, inside[0].end + 1).error(
                "a window clause by itself", "It belongs after an aggregate, a stream or GROUP BY."
            )
    return out


def tokenize(text: str) -> list[Token]:
    """The words of a text; a quote or comment that does not end is a problem with a place."""
    try:
        return words(text)
    except (SqlglotError, RecursionError, ValueError) as error:
        start = _unfinished(text)
        raise SqlError(
            [
                Problem("this quote or comment does not end", text, start, len(text), "Close it where it should end.")
                if start is not None
                else Problem("this text cannot be read", text, 0, len(text), str(error).splitlines()[0])
            ]
        ) from None


def _set_apart(text: str, tokens: Sequence[Token]) -> tuple[list[Piece], list[Token]]:
    """The insides of the brackets that are window clauses, and the tokens without them."""
    clauses: list[Piece] = []
    kept: list[Token] = []
    at = 0
    while at < len(tokens):
        if not _opens_clause(tokens, at):
            kept.append(tokens[at])
            at += 1
            continue
        shut = _closing(tokens, at)
        if shut is None:
            raise Piece(text, text, tokens[at].start, tokens[-1].end + 1).error(
                "this window clause does not end", "Close it with ]."
            )
        clauses.append(Piece(text, text, tokens[at].end + 1, tokens[shut].start))
        at = shut + 1
    return clauses, kept


def _opens_clause(tokens: Sequence[Token], at: int) -> bool:
    if tokens[at].token_type is not TokenType.L_BRACKET or at + 2 >= len(tokens):
        return False
    # In `prices[range]` the word is a column.
    return tokens[at + 1].text.upper() in WINDOW_WORDS and tokens[at + 2].token_type is not TokenType.R_BRACKET


def _closing(tokens: Sequence[Token], at: int) -> int | None:
    depth = 0
    for i in range(at, len(tokens)):
        kind = tokens[i].token_type
        if kind is TokenType.SEMICOLON:
            return None
        depth += (kind in _OPEN) - (kind in _SHUT)
        if depth == 0:
            return i if kind is TokenType.R_BRACKET else None
    return None


def _unfinished(text: str) -> int | None:
    """Where a quote or a comment begins that does not end."""
    at = 0
    while at < len(text):
        if text.startswith("--", at):
            at = text.find("\n", at)
            if at < 0:
                return None
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                return at
            at = end + 2
        elif text[at] in "'\"`":
            end = at + 1
            while end < len(text) and text[end] != text[at]:
                end += 2 if text[end] == "\\" else 1
            if end >= len(text):
                return at
            at = end + 1
        else:
            at += 1
    return None


def _moved(token: Token, by: int) -> Token:
    return Token(token.token_type, token.text, token.line, token.col, token.start + by, token.end + by, token.comments)
