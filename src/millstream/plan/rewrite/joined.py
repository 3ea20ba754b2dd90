"""Joins as they look from the rows that they go back to, through conditions and computed columns."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from millstream.core.expression import Expression
from millstream.plan.nodes import Join, Node, near_of
from millstream.plan.nodes.base import meaning
from millstream.plan.rewrite.asked import looked_through


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinInput:
    """One input of a join as it looks from the rows that it goes back to."""

    rows: Node
    columns: dict[str, Expression]
    """By column of the input: what it is of those rows."""
    condition: Expression | None

    def name(self, column: str) -> str:
        """What a column is called in a store: its own name there, or one that says what is computed."""
        return stored_name(self.columns[column])


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedJoin:
    """A join as a reader of the rows of both sides."""

    node: Join
    sides: tuple[JoinInput, JoinInput]

    def keys(self) -> tuple[tuple[str, str], ...]:
        """The columns that must be equal, as a store has them; in an order that does not depend on the join."""
        left, right = self.sides
        return tuple(sorted((left.name(one), right.name(other)) for one, other in self.node.keys))

    def times(self) -> tuple[str, str] | None:
        """The attributes that must be near, as a store has them."""
        found = self.node.times()
        return None if found is None else (self.sides[0].name(found[0]), self.sides[1].name(found[1]))

    def meets(self, *, distributed: bool) -> Hashable:
        """What joins must have in common to meet their rows in one store."""
        return tuple(id(side.rows) for side in self.sides), self.keys(), self.times(), self._how(distributed)

    def what(self, *, distributed: bool) -> str:
        """The same but for rows, keys and attributes, as text; equal in every run."""
        return repr(self._how(distributed))

    def _how(self, distributed: bool) -> tuple[Any, ...]:  # noqa: FBT001 - both callers name it
        near = near_of(self.node)
        # Rows that meet by time alone are laid out by the reach, for the side whose rows leave without a partner.
        by_time = distributed and not self.node.keys
        return (
            self.node.domain,
            self.node.nulls_equal,
            None if near is None else near.size,
            near.reach if near is not None and (not self.bounded or by_time) else None,
            self.node.home() if by_time else -1,
        )

    @property
    def bounded(self) -> bool:
        """Is it known from when it is complete if it comes later? Its partners must be near at both ends."""
        near = near_of(self.node)
        return near is not None and near.reach.low is not None and near.reach.high is not None

    def in_order(self) -> bool:
        """Are its keys in the order of a store's? That decides in which partition its rows are."""
        left, right = self.sides
        return self.keys() == tuple((left.name(one), right.name(other)) for one, other in self.node.keys)


def as_joined(node: Join) -> AskedJoin | None:
    """The join as a reader of the rows that it goes back to; None if it must be computed by itself."""
    sides: list[JoinInput] = []
    for below in node.inputs:
        rows, columns, condition = looked_through(below)
        side = JoinInput(rows=rows, columns=columns, condition=condition)
        # A promise speaks of a column by one name.
        if len({side.name(one) for one in columns}) < len(columns):
            return None
        sides.append(side)
    made = AskedJoin(node=node, sides=(sides[0], sides[1]))
    return made if len(set(made.keys())) == len(node.keys) else None


def stored_name(one: Expression) -> str:
    """The name of an expression in a store: that of the column that it is, or one made of what it computes.

    >>> stored_name(Expression.column("price"))
    'price'
    """
    if one.plain is not None:
        return one.plain
    return f"__ms_{hashlib.sha1(repr(meaning(one)).encode()).hexdigest()[:12]}"
