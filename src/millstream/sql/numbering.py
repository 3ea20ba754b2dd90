"""ROW_NUMBER() OVER (PARTITION BY … ORDER BY …): rows numbered within groups, and QUALIFY, which limits them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.core.errors import SqlError
from millstream.core.problem import Problem
from millstream.core.quote import shown
from millstream.sql.grammar.statements import SelectQuery
from millstream.sql.grammar.text import Piece
from millstream.sql.projection import OutputColumn, unaliased
from millstream.sql.statement_expressions import Names, bind, parse, place, spelled

NUMBER = "__ms_number"
"""The column that rows are numbered in, until the select list names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbering:
    """Rows of each combination of `keys`, numbered in order of some columns; `limit` if no more are asked for."""

    piece: Piece
    keys: tuple[str, ...]
    order: tuple[tuple[str, bool], ...]
    """Columns, and whether descending."""
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class NumberedSelect:
    """What a SELECT says of numbers: how rows are numbered, and which items of the select list are the number."""

    numbering: Numbering | None
    given: dict[int, OutputColumn]
    """By place in the select list."""


def numbered(select: SelectQuery, names: Names, problems: list[Problem]) -> NumberedSelect:
    """The numbering that a SELECT without aggregates asks for, if any."""
    found: Numbering | None = None
    given: dict[int, OutputColumn] = {}
    for i, piece in enumerate(select.items):
        tree = _tree(piece, names)
        alias, inner = (None, None) if tree is None else unaliased(tree)
        if isinstance(inner, exp.Window) and isinstance(inner.this, exp.RowNumber):
            if alias is None:
                problems.append(piece.problem("this column has no name", "Give it one: … AS name."))
            one = _numbering(inner, names, piece, problems)
            found = _same(found, one, problems)
            given[i] = OutputColumn(alias or "", NUMBER, piece)
    if select.qualify is not None:
        found = _qualified(select.qualify, names, found, given, problems)
    return NumberedSelect(found, given)


def _qualified(
    piece: Piece, names: Names, found: Numbering | None, given: dict[int, OutputColumn], problems: list[Problem]
) -> Numbering | None:
    """The numbering with the limit that QUALIFY sets."""
    tree = _tree(piece, names)
    left, limit = (None, None) if tree is None else _bounded(tree)
    one = None
    if isinstance(left, exp.Window) and isinstance(left.this, exp.RowNumber):
        one = _same(found, _numbering(left, names, piece, problems), problems)
    elif isinstance(left, exp.Column) and spelled(left.name, [output.name for output in given.values()]) is not None:
        one = found
    if one is None or limit is None:
        key = _sample(names, [])
        over = f"PARTITION BY {key} ORDER BY {_sample(names, [key.strip('`')])} DESC"
        hint = f"Write QUALIFY ROW_NUMBER() OVER ({over}) <= 3."
        problems.append(piece.problem("QUALIFY says how many rows of each group leave, and nothing else", hint))
        return found
    return replace(one, limit=limit)


def _bounded(tree: exp.Expr) -> tuple[exp.Expr | None, int | None]:
    """What is bounded from above, and the bound."""
    if not isinstance(tree, exp.LTE | exp.LT | exp.EQ) or not isinstance(tree.expression, exp.Literal):
        return None, None
    text = str(tree.expression.this)
    if tree.expression.is_string or not text.isdecimal():
        return tree.this, None
    limit = int(text) - isinstance(tree, exp.LT)
    # The third row alone is not to be had from the first three without looking at them again.
    return tree.this, limit if limit >= 1 and (not isinstance(tree, exp.EQ) or limit == 1) else None


def _numbering(tree: exp.Window, names: Names, piece: Piece, problems: list[Problem]) -> Numbering:
    keys = [_column(one, names, piece, problems) for one in tree.args.get("partition_by") or ()]
    order: list[tuple[str, bool]] = []
    ordering = tree.args.get("order")
    for one in () if ordering is None else ordering.expressions:
        inner, down = (one.this, bool(one.args.get("desc"))) if isinstance(one, exp.Ordered) else (one, False)
        order.append((_column(inner, names, piece, problems), down))
    where = place(tree, piece)
    if not keys:
        by = _sample(names, [name for name, _ in order])
        hint = f"Say of which rows it is the number: PARTITION BY {by}."
        problems.append(where.problem("ROW_NUMBER has no PARTITION BY, and a stream has no last row", hint))
    if not order:
        hint = f"Say which row is the first: ORDER BY {_sample(names, keys)}."
        problems.append(where.problem("ROW_NUMBER has no ORDER BY", hint))
    return Numbering(piece=where, keys=tuple(dict.fromkeys(keys)), order=tuple(order))


def _column(tree: exp.Expr, names: Names, piece: Piece, problems: list[Problem]) -> str:
    bound = bind(tree.copy(), names, piece, problems)
    if isinstance(bound, exp.Column):
        return bound.name
    problems.append(place(tree, piece).problem("OVER takes columns", "Compute it in a sub-query, and name it."))
    return ""


def _sample(names: Names, used: Sequence[str]) -> str:
    """A column for an example: the end of a window, or the first that is not used yet."""
    free = [name for name in names.columns if name not in used]
    return shown("window_end" if "window_end" in free else next(iter(free or names.columns)))


def _same(first: Numbering | None, other: Numbering, problems: list[Problem]) -> Numbering:
    if first is not None and (first.keys, first.order) != (other.keys, other.order):
        problems.append(other.piece.problem("rows are numbered in two ways", "Number them again in a query above."))
    return first or other


def _tree(piece: Piece, names: Names) -> exp.Expr | None:
    """The tree of a piece, or nothing: what cannot be read is told where the select list is."""
    try:
        return parse(piece, names.words)
    except SqlError:
        return None
