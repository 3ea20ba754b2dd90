"""FROM with several items: their windows, ON and WHERE become joins of two, from left to right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import pyarrow as pa

from millstream.api.operations.join import built, shared_domain
from millstream.api.query import Query
from millstream.api.sql.blame import at, refuse_problems
from millstream.api.sql.lower_as_of import as_of
from millstream.api.sql.lower_enrich import looked_up
from millstream.api.sql.many_ways import as_one_join
from millstream.api.stream import Stream
from millstream.api.table import Table
from millstream.core.domain import Domain, Kind
from millstream.core.expression import Expression
from millstream.core.problem import Problem
from millstream.plan import nodes
from millstream.plan.hints import SIDES
from millstream.sql.expression import condition
from millstream.sql.grammar import statements as sql
from millstream.sql.grammar.join_condition import (
    Conditions,
    DistanceLimit,
    Tree,
    columns_of,
    conjunction,
    conjuncts,
    taken_apart,
)
from millstream.sql.grammar.text import Piece
from millstream.sql.projection import resolve
from millstream.sql.statement_expressions import Names, spelled

_LEFT_ONLY = ("semi", "anti")
Time = tuple[nodes.Band | nodes.SameWindow | None, Domain | None]


@dataclass(frozen=True, slots=True)
class Item:
    """One item of FROM: its stream or table, the names it goes by, and the window that was written after it."""

    stream: Stream | Table
    relations: tuple[str, ...]
    source: sql.From


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a join: a stream or table, and by its columns the names that they have in a pair of all items."""

    stream: Stream | Table
    names: dict[str, str]
    item: Item
    first: dict[str, str]
    """By the columns of the item, their names in such a pair."""

    @property
    def node(self) -> nodes.Node:
        """The node of a side that is a stream."""
        assert isinstance(self.stream, Stream)
        return self.stream.node


@dataclass(frozen=True, slots=True)
class JoinedStream:
    """The joined stream, the names that its columns may be asked for by, and what is left of WHERE."""

    stream: Query
    names: Names
    where: str | None


def joined(source: sql.FromJoin, items: Sequence[Item], where: Piece | None, problems: list[Problem]) -> JoinedStream:
    """The join of all items; conditions of WHERE that tie two of them are taken into the joins."""
    sides, names = _named(items)
    equal, names = _using(source.joins, sides, names, problems)
    wanted = [] if where is None else conjuncts(where, _alone(source.joins, sides, names), problems, "WHERE")
    refuse_problems(problems)
    left = sides[0]
    if isinstance(left.stream, Table):
        raise items[0].source.piece.error(
            f'"{left.stream.name}" is a table, and a join begins with a stream', "Write the stream first."
        )
    for clause, right, keys in zip(source.joins, sides[1:], equal, strict=True):
        place = source.piece if len(items) == 2 else clause.piece
        left, wanted = JoinStep(left, right, replace(clause, piece=place), names, problems).join(wanted, keys)
        refuse_problems(problems)
    assert isinstance(left.stream, Query)
    called = [(next(iter(item.relations), f"item{i + 1}"), item.source.window) for i, item in enumerate(items)]
    made = as_one_join(left.stream, called, source.piece, problems)
    columns = [one for one in left.names.values() if one in made.schema.names]
    gone = {name: key for key, name in names.qualified.items() if name not in columns}
    read = dict.fromkeys(gone[name] for tree in wanted for name in columns_of(tree) if name in gone)
    if where is not None:
        fact = "of a SEMI or ANTI JOIN only the left side leaves, and {}.{} is not of it"
        problems += [where.problem(fact.format(*one), "Put the condition into ON.") for one in read]
        refuse_problems(problems)
    leaving = {key: name for key, name in names.qualified.items() if name in columns}
    leave = replace(names, columns=tuple(columns), qualified=leaving)
    return JoinedStream(made, _alone(source.joins, sides, leave), conjunction(wanted))


def _named(items: Sequence[Item]) -> tuple[list[Side], Names]:
    """Each item's columns, under their own name if no other item has it, else with the item's name before it."""
    every = [name.lower() for item in items for name in item.stream.schema.names]
    sides: list[Side] = []
    qualified: dict[tuple[str, str], str] = {}
    names: dict[str, str] = {}
    for number, (item, known_as) in enumerate(zip(items, _known_as(items), strict=True)):
        prefix = next(iter(item.relations), f"item{number + 1}")
        own: dict[str, str] = {}
        for name in item.stream.schema.names:
            pair = name if every.count(name.lower()) == 1 else f"{prefix}_{name}"
            while pair != name and (pair in names or pair.lower() in every):
                pair += "_"
            own[name] = pair
            names[pair] = name
        sides.append(Side(item.stream, own, item, own))
        for relation in known_as:
            qualified |= {(relation, column): name for column, name in own.items()}
    relations = tuple(dict.fromkeys(relation for relation, _ in qualified))
    columns = tuple(name for side in sides for name in side.names.values())
    return sides, Names(columns, relations, qualified, own=names)


def _known_as(items: Sequence[Item]) -> list[list[str]]:
    """The names that each item goes by: its alias, and its stream's own name where that can mean no other item."""
    first = [item.relations[0].lower() if item.relations else "" for item in items]
    hidden = [one.lower() for item in items for one in item.relations[1:]]
    for number, (word, item) in enumerate(zip(first, items, strict=True)):
        if word and word in first[:number]:
            raise item.source.piece.error(
                f'two items of FROM are named "{item.relations[0]}"',
                f"Give each a name of its own: FROM {item.relations[-1]} AS a, {item.relations[-1]} AS b.",
            )
    out: list[list[str]] = []
    for item in items:
        others = [one for one in item.relations[1:] if one.lower() not in first and hidden.count(one.lower()) == 1]
        out.append([*item.relations[:1], *others])
    return out


def _alone(joins: Sequence[sql.Joined], sides: Sequence[Side], names: Names) -> Names:
    """The names with those columns that need no stream, because of all streams that leave one only has them."""
    leaving = [sides[0], *(side for clause, side in zip(joins, sides[1:], strict=True) if clause.how not in _LEFT_ONLY)]
    every = [column.lower() for side in leaving for column in side.first]
    alone = {
        column.lower(): pair
        for side in leaving
        for column, pair in side.first.items()
        if every.count(column.lower()) == 1 and column != pair
    }
    return replace(names, merged=alone | {key: pair for key, pair in names.merged.items() if pair in names.columns})


def _using(
    joins: Sequence[sql.Joined], sides: Sequence[Side], names: Names, problems: list[Problem]
) -> tuple[list[list[tuple[str, str]]], Names]:
    """The keys of each USING as columns of a pair; they are one column from then on, so it needs no stream."""
    merged: dict[str, str] = {}
    hidden: set[str] = set()
    out: list[list[tuple[str, str]]] = []
    leaving = [sides[0]]
    for clause, right in zip(joins, sides[1:], strict=True):
        keys: list[tuple[str, str]] = []
        for name in clause.using:
            key = name.text.lower()
            found = [(side, spelled(name.text, list(side.names))) for side in leaving]
            lefts = [side.names[column] for side, column in found if column is not None]
            if len(lefts) > 1 and key not in merged:
                hint = "Say which with ON."
                problems.append(name.piece.problem(f'several streams have a column "{name.text}"', hint))
                continue
            known = tuple(column for side in leaving for column in side.names)
            if not lefts:
                resolve(name, Names(known), problems)
            column = resolve(name, Names(tuple(right.names)), problems)
            if lefts and column:
                keys.append((merged.get(key, lefts[0]), right.names[column]))
        out.append(keys)
        # Where both sides may be null, neither has the value always.
        for (one, other), name in zip(keys, clause.using, strict=False):
            if clause.how == "full":
                merged.pop(name.text.lower(), None)
                continue
            merged[name.text.lower()] = other if clause.how == "right" else one
            # The time of an as-of join is another on each side.
            if name is not clause.using[-1] or not clause.as_of or clause.match is not None:
                hidden.add(one if clause.how == "right" else other)
        if clause.how not in _LEFT_ONLY:
            leaving.append(right)
    refuse_problems(problems)
    return out, replace(names, merged=merged, hidden=frozenset(hidden))


class JoinStep:
    """One join: what has been joined so far, and the next item."""

    def __init__(self, left: Side, right: Side, clause: sql.Joined, names: Names, problems: list[Problem]) -> None:
        self.left, self.right, self.clause = left, right, clause
        self.names, self.problems = names, problems

    def join(self, wanted: list[Tree], using: list[tuple[str, str]]) -> tuple[Side, list[Tree]]:
        """The join, by USING too, and the conditions of WHERE that are not part of it."""
        if self.clause.as_of:
            return self._placed(as_of(self, using)), wanted
        if isinstance(self.right.stream, Table):
            enriched, left_over = looked_up(self, self.right.stream, wanted, using)
            return self._placed(enriched), left_over
        clause, inner = self.clause, self.clause.how == "inner"
        on = [] if clause.condition is None else conjuncts(clause.condition, self.names, self.problems, "ON")
        refuse_problems(self.problems)
        here = taken_apart(on, self.side)
        here.keys += using
        # WHERE looks at pairs that are made: only in an inner join is that the same as a condition of the pair.
        there = taken_apart(wanted if inner else [], self.side)
        left_over = there.rest if inner else wanted
        time, domain = self._time(here, there)
        rest = [*here.rest, *self._unused(here.limits, time)]
        left_over = [*left_over, *self._unused(there.limits, time)]
        keys = [*here.keys, *there.keys]
        own = self.own(self.left), self.own(self.right)
        made: nodes.Join | None = None
        with at(clause.piece, self.problems):
            made = built(
                (self.left.node, self.right.node),
                clause.how,
                [(own[0][a], own[1][b]) for a, b in keys],
                time,
                domain,
                self.columns(),
                self.condition(rest),
            )
        refuse_problems(self.problems)
        assert made is not None
        return self._placed(made), left_over

    def _placed(self, made: nodes.Join | nodes.AsOf | nodes.Enrich) -> Side:
        """What has been joined now, so that a refusal can point at the clause."""
        query = Query(self.left.stream.engine, made)
        one, other = (next(iter(side.item.relations), "") for side in (self.left, self.right))
        query.engine.placed(made, self.clause.piece, (one or SIDES[0], other or SIDES[1]))
        left = self.left
        return Side(query, {name: name for name in made.schema.names}, left.item, left.first)

    def side(self, name: str) -> int | None:
        """The side that a column of the pair is from."""
        if name in self.left.names.values():
            return 0
        return 1 if name in self.right.names.values() else None

    @staticmethod
    def own(side: Side) -> dict[str, str]:
        """By the columns of the pair, what they are called on their side."""
        return {pair: column for column, pair in side.names.items()}

    def columns(self) -> tuple[nodes.JoinColumn, ...]:
        """The columns of the pair."""
        return tuple(
            nodes.JoinColumn(name=pair, side=number, column=column)
            for number, side in enumerate((self.left, self.right))
            for column, pair in side.names.items()
        )

    def condition(self, rest: Sequence[Tree]) -> Callable[[pa.Schema], Expression] | None:
        """All of these together, over the names of the pair."""
        text = conjunction(list(rest))
        settings = self.left.stream.engine.settings
        return None if text is None else lambda pair: condition(text, pair, settings)

    # --- time ---

    def _time(self, here: Conditions, there: Conditions) -> Time:
        """The bound on time: of the windows after the streams if there are any, else of the conditions."""
        windows = [one.item.source.window for one in (self.left, self.right)]
        for window in windows:
            if window is not None and not isinstance(window, sql.Sliding):
                self.problems.append(window.piece.problem("a joined stream has a RANGE and nothing else", _EXAMPLE))
            elif window is not None:
                self.problems += _not_joined(window)
        refuse_problems(self.problems)
        sliding = [window if isinstance(window, sql.Sliding) else None for window in windows]
        if any(sliding):
            with at(self.clause.piece, self.problems):
                return self._by_windows(sliding)
            refuse_problems(self.problems)
        with at(self.clause.piece, self.problems):
            return self._by_limits([*here.limits, *there.limits])
        refuse_problems(self.problems)
        raise AssertionError

    def _by_windows(self, windows: Sequence[sql.Sliding | None]) -> Time:
        names = self._attributes(windows)
        domain = shared_domain((self.left.stream.schema, self.right.stream.schema), names)
        given = [one for one in windows if one is not None]
        tumbling = [one for one in given if one.tumbling or one.from_start]
        if tumbling:
            sizes = [domain.span(one.range.value, what="RANGE") for one in given]
            size = sizes[0]
            alone = len(given) == 1 and tumbling[0].from_start
            alike = len({(one.tumbling, one.from_start) for one in given}) == 1
            if alone or not alike or size != sizes[-1]:
                raise given[-1].piece.error("both streams must have the same tumbling window", _TUMBLING)
            return nodes.SameWindow(left=names[0], right=names[1], size=size), domain
        left, right = (None if one is None else domain.span(one.range.value, what="RANGE") for one in windows)
        low = None if right is None else -right
        return nodes.Band(left=names[0], right=names[1], low=low, high=left, low_strict=True, high_strict=True), domain

    def _attributes(self, windows: Sequence[sql.Sliding | None]) -> tuple[str, str]:
        """The windowing attribute of each side; the side without a window takes the other's."""
        known = next(one for one in windows if one is not None)
        out: list[str] = []
        for window, side in zip(windows, (self.left, self.right), strict=True):
            item = Names(tuple(side.item.stream.schema.names), side.item.relations)
            column = resolve((window or known).attribute, item, self.problems)
            refuse_problems(self.problems)
            # What has been joined already has the names of a pair.
            out.append(column if side.stream is side.item.stream else side.first[column])
        return out[0], out[1]

    def _by_limits(self, limits: Sequence[DistanceLimit]) -> Time:
        """The limits on one pair of attributes that progress, or are times: other comparisons are conditions."""
        schemas = self.left.stream.schema, self.right.stream.schema
        moving = [set(one.node.progressing()) for one in (self.left, self.right)]
        own = self.own(self.left), self.own(self.right)

        def worth(pair: tuple[str, str]) -> int:
            names = [own[side][pair[side]] for side in (0, 1)]
            times = [pa.types.is_temporal(schemas[side].field(names[side]).type) for side in (0, 1)]
            return 2 * sum(names[side] in moving[side] for side in (0, 1)) + all(times)

        pairs = {pair: worth(pair) for pair in dict.fromkeys((one.left, one.right) for one in limits)}
        best = max(pairs, key=pairs.__getitem__, default=None)
        if best is None or not pairs[best]:
            return None, None
        return self.band([one for one in limits if (one.left, one.right) == best])

    def band(self, limits: Sequence[DistanceLimit]) -> tuple[nodes.Band, Domain]:
        """The limits on one pair of attributes as one band."""
        names = self.own(self.left)[limits[0].left], self.own(self.right)[limits[0].right]
        domain = shared_domain((self.left.stream.schema, self.right.stream.schema), names)
        low = _tightest([_ticks(one, domain) for one in limits if one.least], max)
        high = _tightest([_ticks(one, domain) for one in limits if not one.least], min)
        return nodes.Band(
            left=names[0], right=names[1],
            low=None if low is None else low[0], low_strict=low is not None and low[1],
            high=None if high is None else high[0], high_strict=high is not None and high[1],
        ), domain  # fmt: skip

    def _unused(self, limits: Sequence[DistanceLimit], time: nodes.Band | nodes.SameWindow | None) -> list[Tree]:
        """Limits that the bound on time does not say: on other attributes, or beside windows."""
        own = self.own(self.left), self.own(self.right)
        windows = any(one.item.source.window is not None for one in (self.left, self.right))
        taken = None if time is None or windows else (time.left, time.right)
        return [one.tree for one in limits if (own[0][one.left], own[1][one.right]) != taken]


def _not_joined(window: sql.Sliding) -> list[Problem]:
    """What a window may have, and the window of a joined stream may not."""
    out: list[Problem] = []
    if window.slide is not None:
        out.append(window.slide.piece.problem("a joined stream has no SLIDE", _EXAMPLE))
    equal = "Say what must be equal with ON or WHERE."
    out += [one.piece.problem("a joined stream has no PATTR", equal) for one in window.partition]
    if window.start is not None:
        out.append(window.piece.problem("a joined stream has no START", _EXAMPLE))
    out += [one.piece.problem("a joined stream has one RANGE", _EXAMPLE) for one in window.more]
    if window.flush is not None:
        out.append(window.piece.problem("a joined stream has no FLUSH", "Pairs leave as they are found."))
    return out


_TUMBLING = "Write FROM a, b [RANGE TUMBLING 5 minutes, WATTR ts], or RANGE without TUMBLING after both."
_EXAMPLE = "Write FROM a [RANGE 3 minutes, WATTR ts], b [RANGE 2 minutes, WATTR ts]."


def _ticks(limit: DistanceLimit, domain: Domain) -> tuple[int, bool]:
    """A limit in ticks, and whether it is strict; one between two ticks is the next that is allowed."""
    numbers = [sign * Decimal(value) for sign, value in limit.terms if not isinstance(value, str)]
    if len(numbers) == len(limit.terms) and domain.kind in (Kind.INTEGER, Kind.DECIMAL):
        exact = sum(numbers, Decimal(0)).scaleb(domain.scale)
        whole = math.ceil(exact) if limit.least else math.floor(exact)
        length = whole if domain.kind is Kind.INTEGER else Decimal(whole).scaleb(-domain.scale)
        return domain.span(length, what="the limit"), limit.strict and whole == exact
    return sum(sign * domain.span(value, what="the limit") for sign, value in limit.terms), limit.strict


def _tightest(ends: list[tuple[int, bool]], pick: Callable[..., tuple[int, bool]]) -> tuple[int, bool] | None:
    if not ends:
        return None
    at_least = pick is max
    # At the same tick the strict limit is the tighter one.
    return pick(ends, key=lambda end: (end[0], end[1] if at_least else not end[1]))
