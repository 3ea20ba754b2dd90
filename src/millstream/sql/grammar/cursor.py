"""A place in a statement: what the next word is, what was expected instead, and which window clause stands here."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Never

from sqlglot import Token, TokenType

from millstream.core.errors import SqlError
from millstream.core.problem import Problem
from millstream.sql.grammar.statements import Name
from millstream.sql.grammar.text import Piece, Text

DEEPEST = 60
"""How deep parentheses and sub-queries may nest."""

_OPEN = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_SHUT = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_CLAUSES = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "UNION")
_QUOTED = (TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING)


class Cursor:
    """Reads one statement from left to right; `problems` are those that did not stop the reading."""

    def __init__(self, text: Text) -> None:
        """At the first word."""
        self.text = text
        self.tokens = text.tokens
        self.at = 0
        self.depth = 0
        self.problems: list[Problem] = []
        self._clauses = list(text.clauses)
        self._check_depth()

    # --- looking ---

    def peek(self, ahead: int = 0) -> Token | None:
        """The token ahead, if there is one."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else None

    def word(self, ahead: int = 0) -> str:
        """The word ahead in capitals; empty at the end, and for text in quotes."""
        return word_of(self.peek(ahead))

    def piece(self, start: int, end: int | None = None) -> Piece:
        """The stretch of text from token `start` up to token `end` (default: here)."""
        stop = self.at if end is None else end
        if stop <= start:
            return self.here()
        return self.text.piece(self.tokens[start].start, self.tokens[stop - 1].end + 1)

    def here(self) -> Piece:
        """The next token; at the end, the place after the last."""
        token = self.peek()
        if token is not None:
            return self.text.piece(token.start, token.end + 1)
        end = self.tokens[-1].end + 1
        return self.text.piece(end, end + 1)

    # --- taking ---

    def accept(self, *words: str) -> bool:
        """Take these words if they are next."""
        if any(self.word(i) != one for i, one in enumerate(words)):
            return False
        self.at += len(words)
        return True

    def accept_kind(self, kind: TokenType) -> bool:
        """Take a token of this kind if it is next."""
        token = self.peek()
        if token is None or token.token_type is not kind:
            return False
        self.at += 1
        return True

    def expect(self, *words: str) -> None:
        """Take these words, or say that they are missing."""
        if not self.accept(*words):
            self.fail(" ".join(words))

    def expect_kind(self, kind: TokenType, shown: str) -> None:
        """Take a token of this kind, or say that it is missing."""
        if not self.accept_kind(kind):
            self.fail(shown)

    def name(self, what: str) -> Name:
        """A name: a word, `quoted` or with hyphens, perhaps with dots."""
        start = self.at
        parts = [self._simple_name(what)]
        while self.accept_kind(TokenType.DOT):
            parts.append(self._simple_name(what))
        return Name(text=".".join(parts), piece=self.piece(start))

    def _simple_name(self, what: str) -> str:
        token = self.peek()
        if token is None or not is_name(token):
            self.fail(what)
        self.at += 1
        text, last = token.text, token
        while token.token_type is not TokenType.IDENTIFIER:
            dash, rest = self.peek(), self.peek(1)
            if dash is None or rest is None or dash.token_type is not TokenType.DASH:
                break
            if dash.start != last.end + 1 or rest.start != dash.end + 1 or not rest.text[:1].isalnum():
                break
            text, last = f"{text}-{rest.text}", rest
            self.at += 2
        return text

    def quoted(self, what: str) -> Name:
        """A text in quotes."""
        start, token = self.at, self.peek()
        if token is None or token.token_type not in _QUOTED:
            self.fail(what)
        self.at += 1
        return Name(text=token.text, piece=self.piece(start))

    def clause(self) -> Piece | None:
        """The window clause that stands between the token before and the next one, if any."""
        low = self.tokens[self.at - 1].end if self.at else -1
        token = self.peek()
        high = len(self.text.whole) if token is None else token.start
        for i, clause in enumerate(self._clauses):
            if low < clause.start <= high:
                return self._clauses.pop(i)
        return None

    def clauses_since(self, start: int) -> list[Piece]:
        """The window clauses that stand after token `start` and before the next one."""
        token = self.peek()
        low, high = self.tokens[start].start, len(self.text.whole) if token is None else token.start
        found = [clause for clause in self._clauses if low < clause.start <= high]
        self._clauses = [clause for clause in self._clauses if clause not in found]
        return found

    def until(self, *stops: str, commas: bool = False) -> Piece | None:
        """An expression: everything up to one of these words, or a comma, or the parenthesis that shuts."""
        start, depth = self.at, 0
        while (token := self.peek()) is not None:
            kind = token.token_type
            if depth == 0 and (
                kind in _SHUT
                or (commas and kind is TokenType.COMMA)
                or (self.word() in stops and not self._distinct())
                or self.at_pace()
            ):
                break
            depth += (kind in _OPEN) - (kind in _SHUT)
            self.at += 1
        return self.piece(start) if self.at > start else None

    def at_pace(self) -> bool:
        """Does WITH PACE begin here?"""
        return self.word() == "WITH" and self.word(1) == "PACE"

    def _distinct(self) -> bool:
        """Is this the FROM of IS [NOT] DISTINCT FROM?"""
        if self.word() != "FROM" or self.at < 2 or word_of(self.tokens[self.at - 1]) != "DISTINCT":
            return False
        return word_of(self.tokens[self.at - 2]) in ("IS", "NOT")

    # --- failing ---

    def fail(self, expected: str, hint: str | None = None) -> Never:
        """The next word is not what it should be."""
        place = self.here()
        token = self.peek()
        found = "the statement ends here" if token is None else f"found {shown(token)}"
        fact = f"{found}, but {expected} is expected"
        guess = alike(self.word(), expected) or (self.at and typo(self.tokens[self.at - 1 : self.at])) or None
        raise SqlError([*self.problems, place.problem(fact, guess or hint)])

    def finish(self) -> None:
        """Nothing may be left: neither words nor window clauses."""
        if self.peek() is not None:
            self.fail("the end of the statement or ;")
        for clause in self._clauses:
            place = self.text.piece(clause.start - 1, clause.end + 1)
            self.problems.append(
                place.problem(
                    "a window clause is not possible here",
                    "It belongs after an aggregate, after a stream in FROM, or after GROUP BY.",
                )
            )
        if self.problems:
            raise SqlError(self.problems)

    def _check_depth(self) -> None:
        """Parentheses come in pairs, and not too many inside each other."""
        opened: list[int] = []
        cases = 0
        for at, token in enumerate(self.tokens):
            if token.token_type in _SHUT:
                if not opened:
                    raise self.piece(at, at + 1).error(f"this {token.text} closes nothing", "Take it out.")
                opened.pop()
            elif token.token_type in _OPEN:
                opened.append(at)
            cases += (token.token_type is TokenType.CASE) - (cases > 0 and token.token_type is TokenType.END)
            if len(opened) + cases > DEEPEST:
                raise self.piece(at, at + 1).error(
                    f"this nests deeper than {DEEPEST} levels", "Cut it with WITH or CREATE VIEW."
                )
        if opened:
            token = self.tokens[opened[-1]]
            raise self.piece(opened[-1], opened[-1] + 1).error(f"this {token.text} is not closed", "Close it.")


def word_of(token: Token | None) -> str:
    """The word of a token in capitals; empty for none, and for what is in quotes."""
    if token is None or token.token_type in _QUOTED or token.token_type is TokenType.IDENTIFIER:
        return ""
    return {"GROUP-BY": "GROUP BY", "GROUPBY": "GROUP BY", "∪": "UNION"}.get(token.text.upper(), token.text.upper())


def is_name(token: Token) -> bool:
    """Can this token be a name?"""
    if token.token_type in (TokenType.IDENTIFIER, TokenType.VAR):
        return True
    return token.text.isidentifier() and token.text.upper() not in RESERVED and token.token_type not in _QUOTED


def shown(token: Token) -> str:
    """A token in a message, cut to a readable length."""
    text = token.text if len(token.text) <= 40 else token.text[:39] + "…"
    return f"'{text}'" if token.token_type in _QUOTED else f'"{text}"'


def alike(word: str, expected: str | Iterable[str]) -> str | None:
    """A guess which of the expected words was meant."""
    words = expected.replace(",", " ").split() if isinstance(expected, str) else list(expected)
    known = [one for one in words if one.isupper()]
    close = difflib.get_close_matches(word, known, n=1) if word else []
    return f"Did you mean {close[0]}?" if close and close[0] != word else None


def typo(tokens: Sequence[Token]) -> str | None:
    """A guess that one of these words was meant to begin a clause."""
    for token in tokens:
        if token.token_type is not TokenType.VAR:
            continue
        close = difflib.get_close_matches(token.text.upper(), _CLAUSES, n=1, cutoff=0.75)
        if close:
            return f'Is "{token.text}" meant to be {close[0]}?'
    return None


RESERVED = frozenset(
    {
        "ALL", "AND", "AS", "BETWEEN", "BY", "CASE", "CROSS", "DISTINCT", "ELSE", "END", "EXCEPT", "FROM", "FULL",
        "GROUP", "GROUP BY", "HAVING", "IN", "INNER", "INTERSECT", "INTO", "IS", "JOIN", "LEFT", "LIKE", "LIMIT",
        "NATURAL", "NOT", "NULL", "ON", "OR", "ORDER", "ORDER BY", "RIGHT", "SELECT", "THEN", "UNION", "USING",
        "WHEN", "WHERE", "WITH",
    }
)  # fmt: skip
"""Words that are never a name unless quoted."""

__all__ = ["DEEPEST", "RESERVED", "Cursor", "alike", "is_name", "shown", "typo", "word_of"]
