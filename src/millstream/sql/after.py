"""Expressions after the aggregate: calls, groups and window columns become columns; anything else is a problem."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from millstream.core.aggregate import AggregateCall
from millstream.core.errors import nearest
from millstream.core.problem import Problem
from millstream.core.quote import apart
from millstream.sql.calls import Call, aggregate, default_name, is_call
from millstream.sql.grammar.text import Piece
from millstream.sql.statement_expressions import Names, bind, bind_column, column, place, quoted, spelled

_WINDOW = ("window_id", "window_start", "window_end")
_STRUCTS = ("window", "session_window")
_RESERVED = ("self", "strategy", "hysteresis", "wide", "aggregates")
_AFTER = "after"


@dataclass(frozen=True, slots=True)
class GroupColumn:
    """A group: its column, and what it is computed from."""

    name: str
    tree: exp.Expr
    piece: Piece | None
    computed: bool = False

    @property
    def column(self) -> str | None:
        """The column of the input that it is, if it is one as it stands."""
        return self.tree.name if isinstance(self.tree, exp.Column) else None


@dataclass(frozen=True, slots=True)
class OverResults:
    """An expression over the aggregate's own columns, and whether it speaks of the window."""

    tree: exp.Expr
    window: bool


@dataclass
class After:
    """Rewrites expressions, and collects the calls they make."""

    names: Names
    groups: list[GroupColumn]
    tick: str | None
    items: list[tuple[str | None, exp.Expr, Piece]]
    problems: list[Problem]
    whole: bool = False
    """There is no window, so that nothing can be said of one."""
    calls: list[Call] = field(default_factory=list[Call])
    last_call_name: str | None = None

    def own_name(self, tree: exp.Expr) -> str | None:
        """The name of a plain column."""
        if not isinstance(tree, exp.Column):
            return None
        return tree.name if tree.table.lower() in _STRUCTS else self.names.called(tree.name, tree.table) or tree.name

    def read(self, tree: exp.Expr, piece: Piece, *, wish: str | None = None, aliases: bool = False) -> OverResults:
        """Rewrite a tree. `wish` is the name for the call that it is: empty for the default one."""
        self._window = False
        self._depth = 0
        made = self._rewrite(tree, piece, wish, aliases=aliases)
        return OverResults(made, self._window)

    def _rewrite(self, tree: exp.Expr, piece: Piece, wish: str | None, *, aliases: bool) -> exp.Expr:
        def visit(node: exp.Expr) -> exp.Expr:
            if node.meta.get(_AFTER):
                return node
            group = self._group(node, piece)
            if group is not None:
                return group
            if is_call(node):
                return self._call(node, piece, wish if node is tree else None)
            if isinstance(node, exp.Column):
                return self._column(node, piece, aliases=aliases)
            return node

        return tree.transform(visit, copy=False)

    def _group(self, node: exp.Expr, piece: Piece) -> exp.Expr | None:
        """The column of the group that a tree is, if it is one."""
        if not isinstance(node, exp.Column | exp.Func | exp.Binary | exp.Unary | exp.Cast | exp.Case | exp.Paren):
            return None
        if isinstance(node, exp.Column):
            known = not node.table or spelled(node.table, self.names.relations) is not None
            name = self.names.meant(node.name, node.table) if known else None
            if name is None:
                return None
            if name == self.tick:
                return _mark(exp.column("window_start"))
            return next((_mark(column(one.name)) for one in self.groups if one.column == name), None)
        computed = [one for one in self.groups if one.computed]
        if not computed:
            return None
        bound = bind(node.copy(), self.names, piece, [])
        return next((_mark(column(one.name)) for one in computed if one.tree == bound), None)

    def _call(self, node: exp.Expr, piece: Piece, wish: str | None) -> exp.Expr:
        call = aggregate(node, self.names, piece, self.problems)
        if call is None:
            self.last_call_name = "?" if wish is not None else None
            return _mark(exp.column("?"))
        found = next((one for one in self.calls if one.call == call), None)
        if wish is not None:
            self.last_call_name = wish or self._default_name(call)
        if found is None:
            wanted = self.last_call_name if wish is not None else None
            name = wanted if wanted is not None and self._free(wanted) else self._hidden()
            found = Call(name, call, place(node, piece))
            self.calls.append(found)
        return _mark(column(found.name))

    def _default_name(self, call: AggregateCall) -> str:
        """After the columns of the streams; after those of the pair, if another call has that name already."""
        short = default_name(call, {quoted(pair): name for pair, name in self.names.own.items()})
        return short if all(one.name != short or one.call == call for one in self.calls) else default_name(call)

    def _hidden(self) -> str:
        taken = [*self.names.columns, *(one.name for one in self.groups), *(one.name for one in self.calls)]
        return apart(f"__a{len(self.calls)}", taken)

    def _free(self, name: str) -> bool:
        taken = [*_WINDOW, *_RESERVED, *(one.name for one in self.groups), *(one.name for one in self.calls)]
        return name not in taken

    def _column(self, node: exp.Column, piece: Piece, *, aliases: bool) -> exp.Expr:
        """A column that is neither grouped nor inside a call: the window's, or an alias, or a mistake."""
        name, table = node.name.lower(), node.table.lower()
        if self.tick is None and not self.whole:
            if table in _STRUCTS and name in ("start", "end"):
                self._window = True
                return _mark(exp.column(f"window_{name}"))
            if not table and name in _WINDOW:
                self._window = True
                return _mark(exp.column(name))
            if not table and name in _STRUCTS and self.names.column(name) is None:
                self._window = True
                return _mark(_struct())
        known = {alias: (tree, at) for alias, tree, at in self.items if alias}
        alias = spelled(node.name, list(known)) if aliases and not table else None
        if alias is not None:
            tree, at = known.pop(alias)
            return _mark(self._rewrite(tree.copy(), at, None, aliases=False))
        problems: list[Problem] = []
        bind_column(node, self.names, piece, problems)
        if problems:
            self.problems += [self._unknown(node, piece)] if not table else problems
        else:
            self.problems.append(
                place(node, piece).problem(
                    f'"{node.name}" is neither grouped nor aggregated',
                    f"Add it to GROUP BY, or take one value: max({node.name}).",
                )
            )
        return _mark(exp.column("?"))

    def _unknown(self, node: exp.Column, piece: Piece) -> Problem:
        names = [*self.names.columns, *(_WINDOW if self.tick is None and not self.whole else ())]
        if self.names.own:
            return place(node, piece).problem(f'there is no column "{node.name}"', self.names.guess(node.name))
        return place(node, piece).problem(f'there is no column "{node.name}"', nearest(node.name, names))


def _struct() -> exp.Expr:
    parts = [exp.PropertyEQ(this=exp.to_identifier(n), expression=exp.column(f"window_{n}")) for n in ("start", "end")]
    return exp.Struct(expressions=parts)


def _mark(tree: exp.Expr) -> exp.Expr:
    """A tree that is over the aggregate's columns already."""
    for node in tree.walk():
        node.meta[_AFTER] = True
    return tree
