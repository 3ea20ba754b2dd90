"""The select list of a query without aggregates: which columns leave, computed from what, under which names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from millstream.core.errors import SqlError, nearest
from millstream.core.problem import Problem
from millstream.sql.grammar.statements import Name, SelectQuery
from millstream.sql.grammar.text import Piece
from millstream.sql.statement_expressions import Names, bind, parse, quoted, refused, spelled, write


@dataclass(frozen=True, slots=True)
class OutputColumn:
    """A column that leaves: its name, the expression it is, and where it was asked for."""

    name: str
    text: str
    piece: Piece


def projection(
    select: SelectQuery, names: Names, problems: list[Problem], given: Mapping[int, OutputColumn] | None = None
) -> tuple[OutputColumn, ...]:
    """The columns that leave, with `*` written out; those that are `given`, by place in the list, as they are."""
    out: list[OutputColumn] = []
    for i, piece in enumerate(select.items):
        if given and i in given:
            out.append(given[i])
            continue
        try:
            tree = parse(piece, names.words)
        except SqlError as error:
            problems += error.problems
            continue
        star = _star(tree, names, piece, problems)
        if star is not None:
            out += star
            continue
        if bad := refused(tree, piece):
            problems += bad
            continue
        alias, inner = unaliased(tree)
        text = write(bind(inner, names, piece, problems))
        name = alias or _own_name(tree, names)
        if name is None:
            problems.append(nameless(piece))
        else:
            out.append(OutputColumn(name, text, piece))
    out = told_apart(out, names)
    problems += repeated(out)
    return tuple(out)


def unaliased(tree: exp.Expr) -> tuple[str | None, exp.Expr]:
    """The name that AS gives, if any, and the expression itself."""
    if isinstance(tree, exp.Alias):
        return tree.alias, tree.this
    return None, tree


def nameless(piece: Piece) -> Problem:
    """An expression that needs AS."""
    return piece.problem("this column has no name", "Give it one: … AS name.")


def repeated(outputs: Sequence[OutputColumn]) -> list[Problem]:
    """Columns that leave under a name that is taken."""
    seen: set[str] = set()
    out: list[Problem] = []
    for one in outputs:
        if one.name in seen:
            out.append(one.piece.problem(f'two columns are named "{one.name}"', "Rename one with AS."))
        seen.add(one.name)
    return out


def resolve(name: Name, names: Names, problems: list[Problem]) -> str:
    """The column that a name in a window clause or the like means, its qualifier dropped."""
    qualifier, _, rest = name.text.rpartition(".")
    if qualifier and spelled(qualifier, names.relations) is None:
        if (whole := names.meant(name.text, "")) is not None:  # a column whose own name has a dot
            return whole
        problems.append(
            name.piece.problem(f'there is no stream "{qualifier}" in FROM', nearest(qualifier, names.relations))
        )
        return ""
    found = names.meant(rest, qualifier)
    if found is None:
        several = [] if qualifier else names.streams_of(rest)
        if len(several) > 1:
            choices = " or ".join(f"{one}.{rest}" for one in several)
            problems.append(name.piece.problem(f'several streams have a column "{rest}"', f"Say which: {choices}."))
            return ""
        problems.append(name.piece.problem(f'there is no column "{rest}"', names.guess(rest, qualifier)))
        return ""
    return found


def _star(tree: exp.Expr, names: Names, piece: Piece, problems: list[Problem]) -> list[OutputColumn] | None:
    qualified = isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star)
    if not qualified and not isinstance(tree, exp.Star):
        return None
    star = tree.this if isinstance(tree, exp.Column) else tree
    if isinstance(tree, exp.Column) and spelled(tree.table, names.relations) is None:
        problems.append(
            piece.problem(f'there is no stream "{tree.table}" in FROM', nearest(tree.table, names.relations))
        )
    if any(star.args.values()):
        problems.append(piece.problem("* takes no EXCEPT or REPLACE", "Name the columns."))
    mine = tuple(name for name in names.columns if name not in names.hidden)
    if isinstance(tree, exp.Column) and names.qualified:
        stream = spelled(tree.table, names.relations)
        mine = tuple(pair for (one, _), pair in names.qualified.items() if one == stream)
    return [OutputColumn(names.own.get(name, name), quoted(name), piece) for name in mine]


def _own_name(tree: exp.Expr, names: Names) -> str | None:
    if not isinstance(tree, exp.Column):
        return None
    return names.called(tree.name, tree.table) or tree.name


def told_apart(outputs: list[OutputColumn], names: Names) -> list[OutputColumn]:
    """Columns of several streams that would leave under one name leave with the name of their stream."""
    taken = [one.name.lower() for one in outputs]
    pairs = {quoted(pair): pair for pair in names.own}
    return [
        replace(one, name=pairs[one.text]) if taken.count(one.name.lower()) > 1 and one.text in pairs else one
        for one in outputs
    ]
