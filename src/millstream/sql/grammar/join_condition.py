"""The conditions of a join, taken apart: columns that must be equal, limits on the time between rows, and the rest.

`a.k = b.k AND b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 minutes AND a.v < b.v` has the key k, two limits on ts, and one
condition more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from sqlglot import exp

from millstream.core.errors import SqlError
from millstream.core.problem import Problem
from millstream.sql.grammar.text import Piece
from millstream.sql.statement_expressions import Names, bind, calls, parse, place, refused, write

Tree = exp.Expr
"""A condition over the columns of a pair."""
_TURNED = {exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE}


@dataclass(frozen=True, slots=True)
class DistanceLimit:
    """`right − left` is at least, or at most, the sum of some lengths."""

    left: str
    right: str
    least: bool
    strict: bool
    terms: tuple[tuple[int, str | int | Decimal], ...]
    """Lengths, each with its sign."""
    tree: exp.Expr
    """The condition that it is."""


@dataclass(slots=True)
class Conditions:
    """What must hold of a pair, in three parts."""

    keys: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    limits: list[DistanceLimit] = field(default_factory=list[DistanceLimit])
    rest: list[Tree] = field(default_factory=list[Tree])


def conjunction(parts: list[Tree]) -> str | None:
    """All parts as one condition."""
    return " AND ".join(write(exp.paren(one) if isinstance(one, exp.Or) else one) for one in parts) or None


def columns_of(tree: Tree) -> list[str]:
    """The columns of a pair that a condition reads."""
    return [one.name for one in tree.find_all(exp.Column)]


def renamed(tree: Tree, names: Mapping[str, tuple[str, ...]]) -> str:
    """A condition as text, with other names for its columns: a column, or a stream and its column."""
    shown = tree.copy()
    for one in list(shown.find_all(exp.Column)):
        parts = [exp.to_identifier(part) for part in reversed(names.get(one.name, (one.name,)))]
        new = exp.column(*parts)
        if one is shown:
            return write(new)
        one.replace(new)
    return write(shown)


def conjuncts(piece: Piece, names: Names, problems: list[Problem], where: str) -> list[Tree]:
    """The parts of a condition that must all hold, over the columns of a pair."""
    try:
        tree = parse(piece, names.words)
    except SqlError as error:
        problems += error.problems
        return []
    if bad := refused(tree, piece):
        problems += bad
        return []
    problems += [
        place(one, piece).problem(f"{where} cannot have the aggregate {one.name.lower()}", "Take it out.")
        for one in calls(tree)
    ]
    return list(_flat(bind(tree, names, piece, problems)))


def taken_apart(parts: Iterable[Tree], side_of: Callable[[str], int | None]) -> Conditions:
    """Sort conditions out; `side_of` says of a column of the pair which side it is from (0 is left)."""
    out = Conditions()
    for part in parts:
        match part:
            case exp.EQ() if (pair := _key(part, side_of)) is not None:
                out.keys.append(pair)
            case exp.Between():
                low = exp.GTE(this=part.this, expression=part.args["low"])
                high = exp.LTE(this=part.this, expression=part.args["high"])
                limits = [one for one in (_limit(low, side_of), _limit(high, side_of)) if one is not None]
                out.limits += limits
                if len(limits) < 2:
                    out.rest.append(part)
            case exp.LT() | exp.GT() | exp.LTE() | exp.GTE() if (limit := _limit(part, side_of)) is not None:
                out.limits.append(limit)
            case _:
                out.rest.append(part)
    return out


def _flat(tree: exp.Expr) -> Iterable[Tree]:
    match tree:
        case exp.And():
            yield from _flat(tree.left)
            yield from _flat(tree.right)
        case exp.Paren() if isinstance(tree.this, exp.And | exp.Paren):
            yield from _flat(tree.this)
        case _:
            yield tree


def _key(part: exp.EQ, side_of: Callable[[str], int | None]) -> tuple[str, str] | None:
    left, right = part.left, part.right
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    match side_of(left.name), side_of(right.name):
        case 0, 1:
            return left.name, right.name
        case 1, 0:
            return right.name, left.name
        case _:
            return None


def _limit(part: exp.Binary, side_of: Callable[[str], int | None]) -> DistanceLimit | None:
    """A comparison as a limit on `right − left`, if it is one."""
    found = _linear(exp.Sub(this=part.left, expression=part.right))
    if found is None:
        return None
    columns, terms = found
    sides = {side_of(name): (name, sign) for name, sign in columns}
    if len(columns) != 2 or set(sides) != {0, 1} or sides[0][1] + sides[1][1] != 0:
        return None
    kind: type[exp.Expr] = type(part)
    if sides[1][1] < 0:  # left − right: the same, turned round
        kind, terms = _TURNED[kind], [(-sign, value) for sign, value in terms]
    return DistanceLimit(
        sides[0][0],
        sides[1][0],
        kind in (exp.GT, exp.GTE),
        kind in (exp.LT, exp.GT),
        tuple((-sign, value) for sign, value in terms),
        part,
    )


_Linear = tuple[list[tuple[str, int]], list[tuple[int, str | int | Decimal]]]


def _linear(tree: exp.Expr, sign: int = 1) -> _Linear | None:
    """Columns and lengths with their signs, if the tree is a sum of such."""
    match tree:
        case exp.Paren() | exp.Neg():
            return _linear(tree.this, -sign if isinstance(tree, exp.Neg) else sign)
        case exp.Add() | exp.Sub():
            left = _linear(tree.left, sign)
            right = _linear(tree.right, -sign if isinstance(tree, exp.Sub) else sign)
            if left is None or right is None:
                return None
            return [*left[0], *right[0]], [*left[1], *right[1]]
        case exp.Column():
            return [(tree.name, sign)], []
        case exp.Interval():
            unit = tree.args.get("unit")
            text = tree.this.name if isinstance(tree.this, exp.Literal) else write(tree.this)
            return [], [(sign, text if unit is None else f"{text} {unit.name}")]
        case exp.Literal() if not tree.is_string and tree.name.isdecimal():
            return [], [(sign, int(tree.name))]
        case exp.Literal() if not tree.is_string and re.fullmatch(r"\d*\.\d+", tree.name):
            return [], [(sign, Decimal(tree.name))]
        case _:
            return None
