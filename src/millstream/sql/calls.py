"""Aggregate calls: from `count(DISTINCT x) FILTER (WHERE …)` to the call that the engine computes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from millstream.core.aggregate import AggregateCall
from millstream.core.problem import Problem
from millstream.sql.dialect import AGGREGATES, PARAMETERS, SYNONYMS
from millstream.sql.grammar.text import Piece
from millstream.sql.statement_expressions import Names, bind, calls, place, write

_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate that a query computes: the name of its column, what it is, where it was asked for."""

    name: str
    call: AggregateCall
    piece: Piece


def is_call(node: exp.Expr) -> bool:
    """Is this an aggregate, with or without FILTER and the like around it?"""
    while isinstance(node, _WRAPPERS):
        node = node.this
    return isinstance(node, exp.Anonymous) and node.name.lower() in AGGREGATES


def aggregate(node: exp.Expr, names: Names, piece: Piece, problems: list[Problem]) -> AggregateCall | None:
    """The call that a tree means; None if something is wrong with it, which is then among the problems."""
    reader = _Reader(names, piece, problems)
    before = len(problems)
    call = reader.read(node)
    return call if len(problems) == before else None


def default_name(call: AggregateCall, own: Mapping[str, str] | None = None) -> str:
    """The name of a column that was given none; `own` has other names for columns that are arguments.

    >>> default_name(AggregateCall("max", ("price",))), default_name(AggregateCall("count"))
    ('max_price', 'count')
    """
    arguments = [(own or {}).get(one, one) for one in call.arguments]
    words = [call.function, *arguments, *map(str, call.options.values())]
    return re.sub(r"[\W_]+", "_", "_".join(words)).strip("_")


class _Reader:
    def __init__(self, names: Names, piece: Piece, problems: list[Problem]) -> None:
        self.names = names
        self.piece = piece
        self.problems = problems

    def read(self, node: exp.Expr) -> AggregateCall:
        condition: str | None = None
        order: exp.Expr | None = None
        while isinstance(node, _WRAPPERS):
            match node:
                case exp.Filter():
                    condition = self._text(node.expression.this)
                case exp.WithinGroup():
                    order = node.expression
                case exp.RespectNulls():
                    self._wrong(node, "nulls are passed over, never respected", "Leave RESPECT NULLS out.")
                case _:
                    pass
            node = node.this
        written = node.name.lower()
        function = SYNONYMS.get(written, written)
        arguments = list(node.expressions)
        if written == "percentile_cont":
            return AggregateCall(function, (self._ordered(node, order),), condition, self._options(node, function, 0))
        if order is not None:
            self._wrong(node, f"{written} has no WITHIN GROUP", "Only percentile_cont has.")
        distinct = arguments[0] if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct) else None
        if distinct is not None:
            return self._distinct(node, written, distinct, condition)
        if written == "count_if" and len(arguments) == 1:
            met = self._text(arguments[0])
            return AggregateCall("count", (), met if condition is None else f"({met}) AND ({condition})")
        if function == "count" and len(arguments) <= 1 and all(_is_constant(one) for one in arguments):
            return AggregateCall("count", (), condition)
        known = PARAMETERS.get(function, ())
        positional = arguments[: len(arguments) if not known else 1]
        texts = tuple(self._text(one) for one in positional)
        return AggregateCall(function, texts, condition, self._options(node, function, 1) if known else {})

    def _distinct(self, node: exp.Expr, written: str, distinct: exp.Distinct, condition: str | None) -> AggregateCall:
        columns = distinct.expressions
        if written != "count":
            self._wrong(
                node, f"{written}(DISTINCT …) is not there", "Only count has DISTINCT; approx_distinct is near it."
            )
        elif len(columns) != 1:
            self._wrong(
                node, f"count(DISTINCT …) of {len(columns)} expressions", "Give one, such as concat_ws('|', a, b)."
            )
        return AggregateCall("count_distinct", tuple(self._text(one) for one in columns), condition)

    def _ordered(self, node: exp.Expr, order: exp.Expr | None) -> str:
        items = [] if order is None else order.expressions
        if len(items) != 1 or items[0].args.get("desc"):
            self._wrong(
                node,
                "percentile_cont needs one ascending order",
                "Write percentile_cont(0.5) WITHIN GROUP (ORDER BY x).",
            )
            return ""
        return self._text(items[0].this)

    def _options(self, node: exp.Expr, function: str, first: int) -> dict[str, float]:
        """The numbers among the arguments, by their names."""
        given = node.expressions[first:]
        written, known = node.name.lower(), PARAMETERS[function]
        most = len(known) if written == function else min(len(known), 1)
        if function == "approx_distinct" and written != function:
            most = 0
        if len(given) > most:
            wanted = ", ".join(known[:most]) or "nothing else"
            self._wrong(node, f"{written} takes an expression, then {wanted}", "Leave the rest out.")
            return {}
        out: dict[str, float] = {}
        for name, one in zip(known, given, strict=False):
            text = one.sql()
            if not re.fullmatch(r"-?\d+(\.\d+)?([eE]-?\d+)?", text):
                self._wrong(one, f"{name} of {written} is no number", "Write it as a number, such as 0.95.")
                continue
            out[name] = int(text) if re.fullmatch(r"-?\d+", text) else float(text)
        return out

    def _text(self, tree: exp.Expr) -> str:
        for inner in calls(tree):
            self._wrong(inner, f"an aggregate inside an aggregate: {inner.name.lower()}", "Use a sub-query in FROM.")
        if isinstance(tree, exp.Star):
            self._wrong(tree, "only count takes *", "Name a column.")
            return ""
        return write(bind(tree.copy(), self.names, self.piece, self.problems))

    def _wrong(self, node: exp.Expr, fact: str, hint: str) -> None:
        self.problems.append(place(node, self.piece).problem(fact, hint))


def _is_constant(tree: exp.Expr) -> bool:
    """`count(*)` and `count(1)` both count rows."""
    return isinstance(tree, exp.Star) or (isinstance(tree, exp.Literal) and not tree.is_string)
