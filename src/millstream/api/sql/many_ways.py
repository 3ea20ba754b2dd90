"""Chains of joins as one: where it costs less, a chain of inner joins with bounds on time is a join of many streams."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.api.operations.many import key_classes
from millstream.api.query import Query
from millstream.api.sql.blame import at, refuse_problems
from millstream.core.errors import PlanError
from millstream.core.expression import Expression
from millstream.core.problem import Problem
from millstream.core.promise.spans import Spans
from millstream.plan import nodes
from millstream.plan.many_cost import as_chain, as_one
from millstream.sql.grammar import statements as sql
from millstream.sql.grammar.text import Piece

Origin = tuple[int, str]
"""A stream of the chain, and one of its columns."""


@dataclass(slots=True)
class _Chain:
    """What a chain of joins says of its streams."""

    streams: list[nodes.Node]
    times: dict[int, str]
    limits: dict[tuple[int, int], int]
    equal: list[tuple[Origin, Origin]]
    columns: dict[str, Origin]
    """By column of what leaves: where it is from."""
    conditions: list[tuple[Expression, dict[str, Origin]]]


def as_one_join(
    query: Query, items: Sequence[tuple[str, sql.Window | None]], piece: Piece, problems: list[Problem]
) -> Query:
    """The joins of two that were made as one of all streams, where that costs less; `items` have names and windows."""
    node, names, windows = query.node, [name for name, _ in items], [window for _, window in items]
    lasting: list[int | None] | None = None
    if isinstance(node, nodes.Join) and node.domain is not None and any(isinstance(w, sql.Sliding) for w in windows):
        domain = node.domain
        lasting = [domain.span(w.range.value, what="RANGE") if isinstance(w, sql.Sliding) else None for w in windows]
    made: nodes.Node = node
    with at(piece, problems):
        made = as_many(node, names, lasting)
    refuse_problems(problems)
    if made is node:
        return query
    out = Query(query.engine, made)
    out.engine.placed(made, piece)
    return out


def as_many(root: nodes.Node, names: Sequence[str], windows: Sequence[int | None] | None = None) -> nodes.Node:
    """The same as one join of many streams, if that is possible and costs less; else as it is.

    With `windows`, a row of a stream is in its window while the latest row is less than that after it: then the chain's
    own limits, which tie each stream to the first, say too little.
    """
    chain = _flattened(root)
    if chain is None or len(chain.streams) < 3 or not isinstance(root, nodes.Join):
        return root
    streams = range(len(chain.streams))
    limits = chain.limits
    if windows is not None:
        limits = {(i, j): w - 1 for i, w in enumerate(windows) if w is not None for j in streams if i != j}
    spans = Spans.closed([chain.times[i] for i in streams], limits)
    if not spans.possible or (windows is None and any(spans.lasting(i) is None for i in streams)):
        return root
    try:
        keys = key_classes(dict(zip(names, chain.streams, strict=True)), chain.equal)
    except PlanError:  # two columns of one stream would have to be equal: joins of two say that as it is
        return root
    ties = [frozenset(stream for stream, _ in key) for key in keys]
    one, other = as_one(len(names), ties), as_chain(len(names), ties)
    if windows is None and one.total > other.total:
        return root
    return nodes.ManyJoin(
        inputs=tuple(chain.streams),
        names=tuple(names),
        how="inner",
        keys=tuple(keys),
        apart=spans,
        rows=None,
        condition=_condition(chain),
        columns=tuple(nodes.JoinColumn(name=n, side=s, column=c) for n, (s, c) in chain.columns.items()),
        schema=root.schema,
        domain=root.domain,
        reason=f"expected {one}; {other} in a chain of joins of two",
    )


def _condition(chain: _Chain) -> Expression | None:
    """All conditions, over the columns that leave."""
    name_of = {origin: Expression.column(name) for name, origin in chain.columns.items()}
    out: Expression | None = None
    for one, columns in chain.conditions:
        named = one.substituted({name: name_of[columns[name]] for name in one.columns})
        assert named is not None  # only names change
        out = named if out is None else out.and_also(named)
    return out


def _flattened(node: nodes.Node) -> _Chain | None:
    """A chain of inner joins with bounds on time, as one; None if it is something else."""
    if not isinstance(node, nodes.Join):
        return _Chain([node], {}, {}, [], {name: (0, name) for name in node.schema.names}, [])
    plain = node.how == "inner" and isinstance(node.time, nodes.Band) and not node.nulls_equal
    left = _flattened(node.inputs[0]) if plain else None
    near = nodes.near_of(node)
    if left is None or near is None or isinstance(node.inputs[1], nodes.Join):
        return None
    here = len(left.streams)
    stream, attribute = left.columns[near.names[0]]
    times = {**left.times, here: near.names[1]}
    if times.setdefault(stream, attribute) != attribute:
        return None
    limits = dict(left.limits)
    if near.reach.high is not None:
        limits[stream, here] = near.reach.high
    if near.reach.low is not None:
        limits[here, stream] = -near.reach.low
    columns = {one.name: left.columns[one.column] if one.side == 0 else (here, one.column) for one in node.columns}
    equal = [*left.equal, *((left.columns[mine], (here, other)) for mine, other in node.keys)]
    conditions = list(left.conditions)
    if node.condition is not None:
        conditions.append((node.condition, columns))
    return _Chain([*left.streams, node.inputs[1]], times, limits, equal, columns, conditions)
