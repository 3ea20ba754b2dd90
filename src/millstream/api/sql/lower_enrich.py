"""JOIN with a table: equalities look rows up, and everything else is a condition of the pair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.api.operations.enrich import built_enrich
from millstream.api.sql.blame import at, refuse_problems
from millstream.api.table import Table
from millstream.plan import nodes
from millstream.sql.grammar.join_condition import Tree, conjuncts, taken_apart

if TYPE_CHECKING:
    from millstream.api.sql.lower_join import JoinStep


_INSTEAD = {
    "semi": "Write JOIN, and select columns of the stream only; a row leaves as often as the table has its keys.",
    "anti": "Write LEFT JOIN, and keep the rows without a partner: WHERE a column of the table IS NULL.",
}


def looked_up(
    step: JoinStep, table: Table, wanted: list[Tree], using: list[tuple[str, str]]
) -> tuple[nodes.Enrich, list[Tree]]:
    """The stream so far with the rows of a table, and the conditions of WHERE that are not part of it."""
    clause, problems = step.clause, step.problems
    if clause.how not in ("inner", "left"):
        raise clause.piece.error(
            f'the join with the table "{table.name}" is inner or left, and not {clause.how}',
            _INSTEAD.get(clause.how, "The rows of a table do not leave alone: write LEFT JOIN, or JOIN."),
        )
    window = step.right.item.source.window
    if window is not None:
        raise window.piece.error(f'"{table.name}" is a table, which stands still and has no window', "Leave it out.")
    on = [] if clause.condition is None else conjuncts(clause.condition, step.names, problems, "ON")
    refuse_problems(problems)
    here = taken_apart(on, step.side)
    # WHERE looks at pairs that are made: only in an inner join is that the same as a condition of the pair.
    there = taken_apart(wanted if clause.how == "inner" else [], step.side)
    left_over = [*there.rest, *(one.tree for one in there.limits)] if clause.how == "inner" else wanted
    own = step.own(step.left), step.own(step.right)
    keys = [(own[0][a], own[1][b]) for a, b in [*here.keys, *using, *there.keys]]
    rest = [*here.rest, *(one.tree for one in here.limits)]
    made: nodes.Enrich | None = None
    with at(clause.piece, problems):
        made = built_enrich(step.left.node, table.node, clause.how, keys, step.columns(), step.condition(rest))
    refuse_problems(problems)
    assert made is not None
    return made, left_over
