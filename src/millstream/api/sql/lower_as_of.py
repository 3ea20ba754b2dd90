"""ASOF JOIN: equalities and one comparison of times, wherever they were written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.api.operations.as_of import built_as_of
from millstream.api.operations.join import shared_domain
from millstream.api.sql.blame import at, refuse_problems
from millstream.api.table import Table
from millstream.core.domain import Domain
from millstream.plan import nodes
from millstream.sql.grammar.join_condition import DistanceLimit, Tree, columns_of, conjuncts, renamed, taken_apart

if TYPE_CHECKING:
    from millstream.api.sql.lower_join import JoinStep

_EXAMPLE = "Write ON a.k = b.k AND a.ts >= b.ts AND b.ts >= a.ts - INTERVAL 5 minutes."
_BACK = "Write a.ts >= b.ts, or a.ts > b.ts, with the left stream first."


def as_of(step: JoinStep, using: list[tuple[str, str]]) -> nodes.AsOf:
    """The as-of join of a clause; of USING the last column is the time, if no other comparison is there."""
    clause, problems = step.clause, step.problems
    _check_sides(step)
    parts = [
        tree
        for piece, word in ((clause.condition, "ON"), (clause.match, "MATCH_CONDITION"))
        if piece is not None
        for tree in conjuncts(piece, step.names, problems, word)
    ]
    refuse_problems(problems)
    found = taken_apart(parts, step.side)
    for tree in found.rest:
        fact = f"an as-of join has equalities and a comparison of times, and {_written(step, tree)} is neither"
        problems.append(clause.piece.problem(fact, _instead(step, tree)))
    keys = [*found.keys, *using]
    timed: tuple[str, str] | None = None
    if not found.limits and using:
        timed = keys.pop()
    refuse_problems(problems)
    own = step.own(step.left), step.own(step.right)
    made: nodes.AsOf | None = None
    with at(clause.piece, problems):
        times, domain, strict, within = _by_column(step, timed) if timed else _by_limits(step, found.limits)
        pairs = [(own[0][a], own[1][b]) for a, b in keys]
        inputs = step.left.node, step.right.node
        made = built_as_of(inputs, clause.how, pairs, times, domain, step.columns(), within=within, strict=strict)
    refuse_problems(problems)
    assert made is not None
    return made


def _written(step: JoinStep, tree: Tree) -> str:
    """A condition with the columns as their own streams call them."""
    return renamed(tree, {pair: key for key, pair in reversed(list(step.names.qualified.items()))})


def _instead(step: JoinStep, tree: Tree) -> str:
    """What means the same as a condition that an as-of join cannot have, if anything does."""
    sides = {step.side(name) for name in columns_of(tree)}
    if sides == {1}:
        condition = renamed(tree, {pair: (name,) for pair, name in step.own(step.right).items()})
        words = step.right.item.relations or ("b",)
        first = f"(SELECT * FROM {words[-1]} WHERE {condition}) AS {words[0]}"
        return f"Filter that stream first: ASOF JOIN {first} ON …."
    if sides == {0} and step.clause.how == "inner":
        return "Put it into WHERE."
    return "Leave it out: the partner is the latest row with the same keys, whatever else it holds."


_Times = tuple[tuple[str, str], Domain, bool, int | None]


def _check_sides(step: JoinStep) -> None:
    clause = step.clause
    if clause.how not in ("inner", "left"):
        raise clause.piece.error(
            f"an as-of join is inner or left, and not {clause.how}",
            "Only left rows can leave alone: write ASOF LEFT JOIN.",
        )
    if isinstance(step.right.stream, Table):
        raise clause.piece.error(
            f'"{step.right.stream.name}" is a table, and an as-of join is of streams',
            "Leave ASOF out to have every row of the table that fits, or make its changes a stream.",
        )
    for side in (step.left, step.right):
        window = side.item.source.window
        if window is not None:
            raise window.piece.error("a stream of an as-of join has no window", _EXAMPLE)


def _by_column(step: JoinStep, timed: tuple[str, str]) -> _Times:
    names = step.own(step.left)[timed[0]], step.own(step.right)[timed[1]]
    return names, shared_domain((step.left.stream.schema, step.right.stream.schema), names), False, None


def _by_limits(step: JoinStep, limits: list[DistanceLimit]) -> _Times:
    """The times of the comparison, whether equal ones are left out, and how far apart they may be."""
    piece = step.clause.piece
    pairs = list(dict.fromkeys((one.left, one.right) for one in limits))
    if len(pairs) != 1:
        fact = "an as-of join compares the times of both streams"
        raise piece.error(f"{fact}, and this one {'none' if not pairs else 'more than one pair of columns'}", _EXAMPLE)
    band, domain = step.band(limits)
    if band.high is None:
        raise piece.error("an as-of join looks back, and this one ahead", _BACK)
    if band.high != 0:
        raise piece.error(
            f"an as-of join takes the last row up to the left one's time, and not {domain.show_span(band.high)} off",
            _EXAMPLE,
        )
    within = None if band.low is None else -band.low - int(band.low_strict)
    return (band.left, band.right), domain, band.high_strict, within
