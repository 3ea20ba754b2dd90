"""Aggregates as they look from the rows that they go back to, through conditions and computed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from millstream.core.expression import Expression
from millstream.core.window import Landmark, Sliding
from millstream.plan.nodes import Aggregate, Node, Project, Select
from millstream.plan.nodes.base import meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedAggregate:
    """An aggregate as it looks from the rows that it goes back to: all it reads is an expression over their columns."""

    node: Aggregate
    rows: Node
    columns: dict[str, Expression]
    """By column of the aggregate's input."""
    condition: Expression | None
    """What a row must satisfy to reach it."""

    @property
    def windows(self) -> tuple[Sliding | Landmark, ...]:
        """Those of the aggregate."""
        return tuple(one for one in self.node.windows if isinstance(one, Sliding | Landmark))


def as_asked(node: Aggregate) -> AskedAggregate | None:
    """The aggregate as a reader of the rows that it goes back to; None if it must be computed by itself."""
    if node.flush is not None or node.options or node.strategy not in ("auto", "paned"):
        return None
    kinds = {type(window) for window in node.windows}
    if kinds not in ({Sliding}, {Landmark}):
        return None
    below, columns, condition = looked_through(node.input)
    # Groups and the attribute are what punctuation speaks of: they must have the names that they have below.
    named = all(columns[name].plain in (name, None) for name in node.groups)
    if columns[node.attribute].plain != node.attribute or not named:
        return None
    if condition is not None and not below.never_null(node.attribute):
        return None
    return AskedAggregate(node=node, rows=below, columns=columns, condition=condition)


def looked_through(below: Node) -> tuple[Node, dict[str, Expression], Expression | None]:
    """The rows that a node goes back to, its columns as expressions over them, and what a row must satisfy."""
    columns = {name: Expression.column(name) for name in below.schema.names}
    condition: Expression | None = None
    while isinstance(below, Project | Select):
        if isinstance(below, Project):
            lower = _below(below, columns, condition)
            if lower is None:
                break
            columns, condition = lower
        elif below.condition.total and below.spare is None:
            condition = below.condition if condition is None else below.condition.and_also(condition)
        else:
            break
        below = below.reads()[0]
    return below, columns, condition


def _below(
    node: Project, columns: Mapping[str, Expression], condition: Expression | None
) -> tuple[dict[str, Expression], Expression | None] | None:
    """What is read of a projection, as expressions over its input; None if some might fail."""
    if not all(one.plain is not None or one.total for _, one in node.columns):
        return None
    by = dict(node.columns)
    moved = {name: one.substituted(by) for name, one in columns.items()}
    lower = None if condition is None else condition.substituted(by)
    if condition is not None and lower is None:
        return None
    known = {name: one for name, one in moved.items() if one is not None}
    return (known, lower) if len(known) == len(moved) else None


def condition_of(one: AskedAggregate) -> object:
    """What its condition means, however it was spelled."""
    return None if one.condition is None else meaning(one.condition)


def part_text(one: AskedAggregate) -> str:
    """What a part keeps for it: groups, condition and kind of window. The same in every run."""
    groups = (f"{name} = {one.columns[name].spark}" for name in sorted(one.node.groups))
    grows = [repr(window) for window in one.windows if isinstance(window, Landmark)]
    return "\n".join([*groups, "" if one.condition is None else f"where {one.condition.spark}", *grows])


def place(known: Sequence[Expression], one: Expression | None) -> int | None:
    """Where a condition stands among others, by what it means."""
    if one is None:
        return None
    return next((i for i, other in enumerate(known) if meaning(other) == meaning(one)), None)
