"""A query with aggregates, taken apart: what to compute first, what to group by, which calls, and what leaves.

`SELECT auction, max(price) - min(price) AS spread … GROUP BY auction HAVING count(*) > 3` has the group auction,
the calls max, min and count, the condition on their columns, and the two columns that leave.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from millstream.core.aggregate import AggregateCall
from millstream.core.errors import SqlError
from millstream.core.problem import Problem
from millstream.core.quote import apart
from millstream.sql.after import After, GroupColumn
from millstream.sql.calls import Call, is_call
from millstream.sql.grammar.statements import SelectQuery, Window
from millstream.sql.grammar.text import Piece
from millstream.sql.projection import OutputColumn, nameless, repeated, resolve, told_apart, unaliased
from millstream.sql.statement_expressions import (
    Names,
    bind,
    calls,
    column,
    parse,
    place,
    quoted,
    refused,
    spelled,
    write,
)

WINDOW_COLUMNS = ("window_id", "window_start", "window_end")


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """What a query with aggregates asks for."""

    tick: str | None
    """The progressing attribute that is grouped on, instead of a window; without either there is no window."""
    computed: tuple[OutputColumn, ...]
    """Group expressions to compute before."""
    groups: tuple[str, ...]
    calls: tuple[Call, ...]
    having: str | None
    outputs: tuple[OutputColumn, ...] | None
    """What leaves; None if it is just what the aggregate gives."""
    order: tuple[tuple[str, bool], ...]
    """The columns to order by, and whether descending."""


def has_aggregates(select: SelectQuery, names: Names) -> bool:
    """Is this a query with aggregates? Pieces that cannot be read are told about later."""
    if select.groups or select.having is not None or select.window is not None:
        return True
    for piece in select.items:
        try:
            tree = parse(piece, names.words)
            if any(one.find_ancestor(exp.Window) is None for one in calls(tree)):
                return True
        except SqlError:
            continue
    return False


def grouping(
    select: SelectQuery, names: Names, *, window: Window | None, progressing: Sequence[str], problems: list[Problem]
) -> Grouping:
    """Take the query apart; `progressing` are the columns that its input makes progress on."""
    if window is not None and not select.groups and select.having is None and not _any_call(select, names):
        nothing = "this window has nothing to aggregate"
        raise SqlError([window.piece.problem(nothing, "Add an aggregate, such as count(*).")])
    items = _items(select, names, problems)
    groups = _groups(select, names, items, windowed=window is not None, problems=problems)
    partition = [] if window is None else [resolve(key, names, problems) for key in window.partition]
    tick = None
    if window is None:
        tick = next((one.column for one in groups if one.column in progressing), None)
    kept = [GroupColumn(name, column(name), None) for name in partition if name]
    kept += [one for one in groups if (tick is None or one.column != tick) and one.name not in partition]
    whole = window is None and tick is None
    after = After(names, kept, tick=tick, whole=whole, items=items, problems=problems)
    outputs, exact = _outputs(items, after, no_window=window is None)
    having = None
    if select.having is not None:
        having = _text(select.having, names, after, problems)
    order = tuple((_order_text(one.piece, names, after, outputs, problems), one.descending) for one in select.order)
    if not after.calls and not problems:  # only which groups there are: count them, and do not show it
        after.calls.append(Call(apart("__a0", names.columns), AggregateCall("count"), select.piece))
    if not exact:
        outputs = [*(OutputColumn(name, name, select.piece) for name in WINDOW_COLUMNS), *outputs]
    problems += repeated(outputs)
    natural = [*(() if whole else WINDOW_COLUMNS), *(one.name for one in kept), *(one.name for one in after.calls)]
    plain = [one.name for one in outputs] == natural and all(one.text == quoted(one.name) for one in outputs)
    return Grouping(
        tick=tick,
        computed=tuple(OutputColumn(g.name, write(g.tree), g.piece or select.piece) for g in kept if g.computed),
        groups=tuple(one.name for one in kept),
        calls=tuple(after.calls),
        having=having,
        outputs=None if plain else tuple(outputs),
        order=order,
    )


def _any_call(select: SelectQuery, names: Names) -> bool:
    """Is there an aggregate, or an item that cannot be read and may have one?"""
    for piece in select.items:
        try:
            tree = parse(piece, names.words)
        except SqlError:
            return True
        if calls(tree) or refused(tree, piece):
            return True
    return False


Item = tuple[str | None, exp.Expr, Piece]
"""The alias, the tree and the place of an item of the select list."""


def _read(piece: Piece, names: Names, problems: list[Problem]) -> exp.Expr | None:
    """The tree of an expression; None if it has problems."""
    try:
        tree = parse(piece, names.words)
    except SqlError as error:
        problems += error.problems
        return None
    bad = refused(tree, piece)
    problems += bad
    return None if bad else tree


def _items(select: SelectQuery, names: Names, problems: list[Problem]) -> list[Item]:
    out: list[Item] = []
    for piece in select.items:
        tree = _read(piece, names, problems)
        if tree is None:
            continue
        alias, inner = unaliased(tree)
        if isinstance(inner, exp.Star) or (isinstance(inner, exp.Column) and isinstance(inner.this, exp.Star)):
            problems.append(piece.problem("* and aggregates do not go together", "Name the columns that are grouped."))
            continue
        out.append((alias, inner, piece))
    return out


def _groups(
    select: SelectQuery, names: Names, items: list[Item], *, windowed: bool, problems: list[Problem]
) -> list[GroupColumn]:
    out: list[GroupColumn] = []
    for piece in select.groups:
        tree = _read(piece, names, problems)
        if tree is None:
            continue
        if windowed and isinstance(tree, exp.Column) and tree.name.lower() in _edges(names):
            continue
        found = _meant(tree, names, items, piece, problems)
        if found is None:
            continue
        alias, tree = found
        problems += [
            place(call, piece).problem("GROUP BY cannot have an aggregate", "Take it out.") for call in calls(tree)
        ]
        bound = bind(tree.copy(), names, piece, problems)
        if isinstance(bound, exp.Column) and bound.name in WINDOW_COLUMNS:
            # Of windows below this query: an aggregate has columns of these names itself.
            group = GroupColumn(f"__g{len(out)}", bound, piece, computed=True)
        elif isinstance(bound, exp.Column):
            group = GroupColumn(bound.name, bound, piece)
        else:
            same = next((name for name, one, _ in items if name and _same(one, bound, names)), alias)
            free = same is not None and names.column(same) is None
            group = GroupColumn(
                same if free and same else apart(f"__g{len(out)}", names.columns), bound, piece, computed=True
            )
        if all(group.name != one.name for one in out):
            out.append(group)
    return out


def _edges(names: Names) -> tuple[str, ...]:
    """What stands for the query's own window; `window` only where the stream has no column of that name."""
    return WINDOW_COLUMNS if names.column("window") is not None else (*WINDOW_COLUMNS, "window")


def _meant(
    tree: exp.Expr, names: Names, items: list[Item], piece: Piece, problems: list[Problem]
) -> tuple[str | None, exp.Expr] | None:
    """What a group is: itself, or the item that its number or alias stands for."""
    if isinstance(tree, exp.Literal) and not tree.is_string:
        number = int(tree.name) if tree.name.isdecimal() else 0
        if 1 <= number <= len(items):
            return items[number - 1][0], items[number - 1][1]
        problems.append(piece.problem(f"there is no item {tree.name} in the select list", f"It has {len(items)}."))
        return None
    if isinstance(tree, exp.Column) and not tree.table and names.column(tree.name) is None:
        aliases = {name: one for name, one, _ in items if name}
        known = spelled(tree.name, list(aliases))
        if known is not None:
            return known, aliases[known]
    return None, tree


def _same(tree: exp.Expr, bound: exp.Expr, names: Names) -> bool:
    return bind(tree.copy(), names, Piece("", "", 0, 0), []) == bound


def _outputs(items: list[Item], after: After, *, no_window: bool) -> tuple[list[OutputColumn], bool]:
    """What leaves, and whether it is exactly the select list: it is if that names the window, or there is none."""
    out: list[OutputColumn] = []
    exact = no_window
    for alias, tree, piece in items:
        whole = is_call(tree)
        own = after.own_name(tree)
        made = after.read(tree.copy(), piece, wish=(alias or "") if whole else None)
        exact = exact or made.window
        name = alias or (after.last_call_name if whole else own)
        if name is None:
            after.problems.append(nameless(piece))
        else:
            out.append(OutputColumn(name, write(made.tree), piece))
    return told_apart(out, after.names), exact


def _text(piece: Piece, names: Names, after: After, problems: list[Problem]) -> str | None:
    try:
        tree = parse(piece, names.words)
    except SqlError as error:
        problems += error.problems
        return None
    if bad := refused(tree, piece):
        problems += bad
        return None
    return write(after.read(tree, piece, aliases=True).tree)


def _order_text(
    piece: Piece, names: Names, after: After, outputs: Sequence[OutputColumn], problems: list[Problem]
) -> str:
    """An item of ORDER BY: a column that leaves, by name or number, or what a column is computed from."""
    before = len(problems)
    text = _text(piece, names, after, problems)
    if len(problems) > before:
        return ""
    if str(piece).isdecimal() and 1 <= int(str(piece)) <= len(outputs):
        return outputs[int(str(piece)) - 1].name
    for one in outputs:
        if one.text == text or one.name.lower() == str(piece).strip("`").lower():
            return one.name
    if text in WINDOW_COLUMNS:
        return text
    problems.append(piece.problem("ORDER BY names no column of the result", "Add it to the select list."))
    return ""
