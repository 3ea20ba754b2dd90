"""Expressions of a statement: read by sqlglot, their columns bound, written again as text for the fluent API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from millstream.core.errors import SqlError, nearest
from millstream.core.problem import Problem
from millstream.kernels.expressions.function_registry import unknown
from millstream.sql.dialect import AGGREGATES, DIALECT, KEYWORDS, OTHER_AGGREGATES
from millstream.sql.function_names import FUNCTIONS
from millstream.sql.grammar.cursor import shown, typo
from millstream.sql.grammar.text import Piece
from millstream.sql.hints import in_sql

_OTHERS = ("struct", "window", "session_window")
"""What is written as a call and is none."""
_PLAIN = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Names:
    """What a name may mean: the columns of the input, and the names it goes by."""

    columns: tuple[str, ...]
    relations: tuple[str, ...] = ()
    qualified: Mapping[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """Of a join, by stream and column: the column of the pair. A column that several streams have needs its stream."""
    merged: Mapping[str, str] = field(default_factory=dict[str, str])
    """Columns that need no stream, in small letters, and the columns of the pair that they are: those that USING made
    one, and those that no other stream has which leaves."""
    own: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of a join, by the column of the pair: its name in its own stream."""
    hidden: frozenset[str] = frozenset()
    """Columns of the pair that `*` leaves out: USING has each of them under another stream's name already."""

    @property
    def words(self) -> tuple[str, ...]:
        """Every name that may have hyphens."""
        return (*self.columns, *self.relations)

    def column(self, name: str) -> str | None:
        """The column that a name means, as the stream spells it."""
        return spelled(name, self.columns) or self.merged.get(name.lower())

    def meant(self, name: str, relation: str = "") -> str | None:
        """The column that a name with a qualifier means; the qualifier is known to be one."""
        if not relation or not self.qualified:
            return self.column(name)
        stream = spelled(relation, self.relations)
        mine = {column: pair for (one, column), pair in self.qualified.items() if one == stream}
        found = spelled(name, list(mine))
        return None if found is None else mine[found]

    def streams_of(self, name: str) -> list[str]:
        """The streams of a join that have a column of this name, each by the first name it goes by."""
        found: dict[str, str] = {}
        for (one, column), pair in self.qualified.items():
            if column.lower() == name.lower() and pair in self.columns:
                found.setdefault(pair, one)
        return list(found.values())

    def called(self, name: str, relation: str = "") -> str | None:
        """What a column that is asked for by this name is called when it leaves: as in its own stream."""
        found = self.meant(name, relation)
        return None if found is None else self.own.get(found, found)

    def guess(self, name: str, relation: str = "") -> str:
        """A hint which column was meant, in the words that a statement would use."""
        stream = spelled(relation, self.relations) if relation and self.qualified else None
        if stream is not None:
            return nearest(name, [column for one, column in self.qualified if one == stream])
        if not self.columns:
            return "There is none."
        words = [self._written(pair) for pair in self.columns if pair not in self.hidden]
        close = [one for one in words if one.rpartition(".")[2].lower() == name.lower()]
        return nearest(close[0] if close else name, words)

    def _written(self, pair: str) -> str:
        """A column of a pair as a statement names it: with its stream if several have such a column."""
        own = self.own.get(pair, pair)
        if own == pair or self.merged.get(own.lower()) == pair:
            return own
        return next((f"{one}.{column}" for (one, column), other in self.qualified.items() if other == pair), pair)


def spelled(name: str, known: Sequence[str]) -> str | None:
    """A known name, exactly or, if that is unique, in other capitals."""
    if name in known:
        return name
    alike = [one for one in known if one.lower() == name.lower()]
    return alike[0] if len(alike) == 1 else None


def check_syntax(piece: Piece) -> None:
    """Read a piece only to see whether it can be read."""
    parse(piece, ())


def parse(piece: Piece, columns: Sequence[str]) -> exp.Expr:
    """The tree of an expression. Names with hyphens are one word if there is such a column."""
    tokens = _joined(piece.tokens(), columns)
    try:
        found = DIALECT.parser().parse_into(exp.Expr, tokens, piece.read)
    except RecursionError:
        raise piece.error("this expression nests too deeply", "Compute a part of it in a sub-query.") from None
    except ParseError as error:
        raise SqlError([_problem(piece, tokens, one) for one in error.errors[:1]]) from None
    except SqlglotError as error:
        raise piece.error(f"this cannot be read: {str(error).splitlines()[0]}") from None
    if len(found) != 1 or found[0] is None:
        raise piece.error("this is no expression", "Write a column or a value.")
    return found[0]


def write(tree: exp.Expr) -> str:
    """The expression as text that the fluent API takes."""
    return tree.sql(dialect=DIALECT, normalize_functions="lower", comments=False)


def column(name: str) -> exp.Column:
    """A column, quoted only where its name needs it."""
    plain = _PLAIN.fullmatch(name) is not None and name.upper() not in KEYWORDS
    return exp.column(exp.to_identifier(name, quoted=not plain))


def quoted(name: str) -> str:
    """A column as text."""
    return write(column(name))


def place(tree: exp.Expr, piece: Piece) -> Piece:
    """Where a tree stands in the text: from its first to its last part whose place is known."""
    ends = [
        (node.meta["start"], node.meta["end"] + 1)
        for node in tree.walk()
        if node.meta.get("start") is not None and node.meta.get("end") is not None
    ]
    inside = [(low, high) for low, high in ends if piece.start <= low and high <= piece.end]
    if not inside:
        return piece
    start, end = min(low for low, _ in inside), max(high for _, high in inside)
    # A call's last parenthesis has no place of its own.
    while end < piece.end and piece.read.count("(", start, end) > piece.read.count(")", start, end):
        end += 1
    return Piece(piece.whole, piece.read, start, end)


def bind(tree: exp.Expr, names: Names, piece: Piece, problems: list[Problem]) -> exp.Expr:
    """The tree over the stream's own columns; names that are not there become problems."""
    for node in list(tree.find_all(exp.Column)):
        new = bind_column(node, names, piece, problems)
        if node is tree:
            return new
        node.replace(new)
    return tree


def bind_column(node: exp.Column, names: Names, piece: Piece, problems: list[Problem]) -> exp.Expr:
    """One column, its qualifier checked and dropped."""
    if isinstance(node.this, exp.Star):
        problems.append(piece.problem("* is not possible inside an expression", "Name the columns."))
        return node
    if node.table and spelled(node.table, names.relations) is None:
        # `a.b` may be a field of the struct a.
        outer = names.column(node.table)
        if outer is not None:
            return exp.Dot(this=column(outer), expression=exp.to_identifier(node.name))
        where = place(node.args["table"], piece)
        problems.append(
            where.problem(f'there is no stream "{node.table}" in FROM', _known(node.table, names.relations))
        )
        return node
    found = names.meant(node.name, node.table)
    if found is None:
        where = place(node.this, piece)
        several = [] if node.table else names.streams_of(node.name)
        if several:
            choices = " or ".join(f"{one}.{node.name}" for one in several)
            problems.append(where.problem(f'several streams have a column "{node.name}"', f"Say which: {choices}."))
            return node
        problems.append(where.problem(f'there is no column "{node.name}"', names.guess(node.name, node.table)))
        return node
    return column(found)


def scalar(piece: Piece, names: Names, problems: list[Problem], where: str) -> str:
    """An expression over one row, as text; `where` names the clause that it stands in."""
    try:
        tree = parse(piece, names.words)
    except SqlError as error:
        problems += error.problems
        return ""
    if bad := refused(tree, piece):
        problems += bad
        return ""
    for node in calls(tree):
        problems.append(
            place(node, piece).problem(
                f"{where} cannot have the aggregate {node.name.lower()}",
                "Conditions on aggregates go in HAVING." if where == "WHERE" else "Take it out.",
            )
        )
    return write(bind(tree, names, piece, problems))


def calls(tree: exp.Expr) -> list[exp.Anonymous]:
    """The aggregates in a tree."""
    return [node for node in tree.find_all(exp.Anonymous) if node.name.lower() in AGGREGATES]


def refused(tree: exp.Expr, piece: Piece) -> list[Problem]:
    """What may not be in an expression at all."""
    out: list[Problem] = []
    for node in tree.find_all(exp.Query, exp.Window, exp.Anonymous, exp.Placeholder, exp.Parameter):
        where = place(node, piece)
        match node:
            case exp.Query() if node.find_ancestor(exp.Query) is not None:
                continue  # the outer one is told
            case exp.Query():
                out.append(where.problem("not yet: a sub-query inside an expression", "Join it in FROM.", not_yet=True))
            case exp.Window():
                hint = "Only ROW_NUMBER has OVER; a window is a clause of FROM: docs/sql.md says how it is written."
                if isinstance(node.this, exp.RowNumber):
                    hint = "ROW_NUMBER() OVER (…) AS n is a column by itself, of a query without aggregates."
                out.append(where.problem("not yet: OVER", hint, not_yet=True))
            case exp.Placeholder() | exp.Parameter():
                out.append(where.problem("a parameter has no value here", "Write the value itself."))
            case exp.Anonymous() if node.name.lower() in OTHER_AGGREGATES:
                hint = "docs/sql.md lists the aggregates that are there."
                out.append(where.problem(f"not yet: the aggregate {node.name.lower()}", hint, not_yet=True))
            case exp.Anonymous() if node.name.lower() not in (*FUNCTIONS, *_OTHERS):
                out.append(_not_there(node, piece))
            case _:
                pass
    return out


def _not_there(node: exp.Anonymous, piece: Piece) -> Problem:
    """A function that is not there, with its own name as the place."""
    error = unknown(node.name.lower())
    found = re.search(rf"\b{re.escape(node.name)}\b", str(piece), re.IGNORECASE)
    where = piece if found is None else piece.part(found.start(), found.end())
    return where.problem(error.fact, in_sql(error.hint))


def _joined(tokens: list[Token], columns: Sequence[str]) -> list[Token]:
    """`bid-price` as one word, if it is a column."""
    if not any("-" in name for name in columns):
        return tokens
    out: list[Token] = []
    at = 0
    while at < len(tokens):
        end = at
        while end + 2 < len(tokens) and _tight(tokens[end : end + 3]):
            end += 2
        while end > at and spelled(_text(tokens[at : end + 1]), columns) is None:
            end -= 2
        first, last = tokens[at], tokens[end]
        name = first.text if end == at else _text(tokens[at : end + 1])
        kind = first.token_type if end == at else TokenType.VAR
        out.append(Token(kind, name, first.line, first.col, first.start, last.end, first.comments))
        at = end + 1
    return out


def _text(tokens: Sequence[Token]) -> str:
    return "".join(token.text for token in tokens)


def _tight(tokens: Sequence[Token]) -> bool:
    left, dash, right = tokens
    words = left.text.isidentifier() and right.text[:1].isalnum() and dash.token_type is TokenType.DASH
    return words and left.end + 1 == dash.start and dash.end + 1 == right.start


def _known(name: str, known: Sequence[str]) -> str:
    return nearest(name, known) if known else "There is none."


def _problem(piece: Piece, tokens: Sequence[Token], error: dict[str, object]) -> Problem:
    """What sqlglot says, at the token it means, in our words."""
    said = str(error.get("description", ""))
    line, col = error.get("line"), error.get("col")
    at = next((i for i, t in enumerate(tokens) if (t.line, t.col) == (line, col)), len(tokens) - 1)
    token = tokens[at]
    where = Piece(piece.whole, piece.read, token.start, token.end + 1)
    last = at == len(tokens) - 1
    if said.startswith("Expecting"):
        wanted = said.removeprefix("Expecting").strip()
        return where.problem(f"{wanted} is missing {'after' if last else 'before'} {shown(token)}", typo(tokens))
    if said.startswith("Required keyword"):
        return where.problem(f"something is missing after {shown(token)}", typo(tokens))
    if said.startswith(("The number of provided arguments", "Required argument")):
        return where.problem("the function has the wrong number of arguments")
    return where.problem(f"{shown(token)} is not expected here", typo(tokens))
