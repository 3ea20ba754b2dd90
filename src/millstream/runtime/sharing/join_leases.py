"""Leases of joins: from when a join that comes later is complete, by the rows that stores have kept for others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from millstream.core.domain import BOTTOM, END
from millstream.core.expression import Expression
from millstream.core.progress import Progress
from millstream.core.promise.join import preserved
from millstream.core.promise.near import Near
from millstream.ops.join.brought import lone_facts
from millstream.ops.join.ruled_out import says_of_keys
from millstream.plan import nodes
from millstream.plan.lease import JoinHolding, Lease
from millstream.plan.plan import Plan
from millstream.plan.rewrite.joined import AskedJoin, JoinInput, as_joined
from millstream.plan.rewrite.share_joins import named_condition
from millstream.plan.rewrite.share_panes import Shared
from millstream.runtime.compile.join_specs import join_spec

_UNKNOWN = END
"""Rows have come, and nobody knows up to where."""


@dataclass(frozen=True, slots=True)
class Keeper:
    """Rows of a side that a join has kept: those that satisfy all of `needs`, as long as a partner may come."""

    number: int
    """Of the join."""
    needs: tuple[str, ...]
    """Names of conditions."""
    last: int | None
    """How far the last partner lies above a row; None: as far as may be."""
    since: int
    """The coordinate from which all such rows are there."""

    def remembers(self, near: Near, other: int) -> int:
        """The coordinate from which rows are still there, given the bound on the other side's ticks."""
        if other in (BOTTOM, END) or self.last is None:
            return END if other == END else self.since
        return max(self.since, (other if near.size is None else other // near.size) - self.last)


@dataclass(frozen=True, slots=True)
class KeptSide:
    """What a store keeps of one side."""

    keepers: tuple[Keeper, ...]
    columns: Mapping[str, int]
    """By column: the coordinate from which rows have it."""
    conditions: Mapping[str, int]
    """By condition: the coordinate from which it is known of rows."""


@dataclass(frozen=True, slots=True)
class KeptJoin:
    """What a store for joins, or a join by itself, has kept so far."""

    what: str
    numbers: int
    lone: Mapping[str, Any]
    """Of a join that keeps its rows by itself: what a store must know to go on with them; of a store nothing."""
    sides: tuple[KeptSide, KeptSide]

    def plain(self) -> dict[str, Any]:
        """As a manifest has it."""
        return asdict(self)


KeptJoins = dict[str, KeptJoin]
"""By store."""


def joins_from(plain: Mapping[str, Mapping[str, Any]]) -> KeptJoins:
    """From what a manifest has."""
    return {name: _kept_join(one) for name, one in plain.items()}


def _kept_join(plain: Mapping[str, Any]) -> KeptJoin:
    left, right = (
        KeptSide(
            tuple(Keeper(k["number"], tuple(k["needs"]), k["last"], k["since"]) for k in side["keepers"]),
            dict(side["columns"]),
            dict(side["conditions"]),
        )
        for side in plain["sides"]
    )
    return KeptJoin(plain["what"], plain["numbers"], plain["lone"], (left, right))


def join_holdings(kept: KeptJoins) -> dict[str, JoinHolding]:
    """What stores keep, as a plan must know it."""
    return {name: JoinHolding(one.what, one.numbers, bool(one.lone)) for name, one in kept.items()}


def join_stores(plan: Plan) -> list[nodes.SharedJoin]:
    """The stores of a plan that keep rows for joins, each once."""
    found = {id(n): n for root in plan.roots for n in nodes.walk(root.node) if isinstance(n, nodes.SharedJoin)}
    return list(found.values())


def conditions_below(join: nodes.Join) -> list[nodes.Select]:
    """The conditions that lead to a join, which a store computes in their place."""
    asked = as_joined(join)
    assert asked is not None
    out: list[nodes.Select] = []
    for node, side in zip(join.inputs, asked.sides, strict=True):
        while node is not side.rows:
            out += [node] if isinstance(node, nodes.Select) else []
            (node,) = node.reads()
    return out


def _lone(asked: AskedJoin, number: int) -> dict[str, Any]:
    """What a store must know of the rows of a join that kept them by itself."""
    views = [[(name, side.name(name)) for name in side.columns] for side in asked.sides]
    bits = ["" if side.condition is None else named_condition(side.condition) for side in asked.sides]
    return lone_facts(number, views, bits)


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinStanding:
    """Where the streams stand when joins come or go."""

    fresh: bool
    """Has no row come yet?"""
    kept: KeptJoins
    high: Callable[[nodes.Node, str], int | None]
    """The tick above the greatest that has come, of a node's rows and a column; BOTTOM: none; None: nobody knows."""
    progress: Callable[[nodes.TwoSided], Sequence[Progress]]
    """What both sides have been promised."""
    short: bool = False
    """Have rows been left out, because those who read a store ignored them? Others cannot begin with what is left."""


def settle_joins(
    shared: Shared, known: Mapping[int, Lease], standing: JoinStanding, *, distributed: bool
) -> tuple[dict[int, Lease], KeptJoins]:
    """Leases for all joins of a plan, by identity; and what the stores keep from now on.

    Those that are `known` stay as they are. A new one says from which coordinate its results are complete.
    """
    leases: dict[int, Lease] = {}
    kept: KeptJoins = {}
    for one in _joins(shared):
        lease, old = shared.leases[one.key], standing.kept.get(shared.leases[one.key].store)
        there = None if standing.short else old
        have, came = (BOTTOM, BOTTOM), (BOTTOM, BOTTOM)
        if one.key in known:
            have = _had(old, lease.part, 0), _had(old, lease.part, 1)
        elif one.near is not None and not standing.fresh:
            came = _high(standing, one, 0, shared, leases), _high(standing, one, 1, shared, leases)
            progress = standing.progress(one.store)
            have = _have(there, one, progress, came, 0), _have(there, one, progress, came, 1)
            if _UNKNOWN not in have:
                since = max([_complete(one.near, have, progress), *(came[side] for side in one.lost())])
                ticks = since if one.near.size is None or since <= BOTTOM else since * one.near.size
                lease = replace(lease, since=_told(since), complete=_told(ticks))
        leases[one.key] = lease
        made = kept.get(lease.store)
        numbers = [lease.part + 1, *(before.numbers for before in (old, made) if before is not None)]
        sides = [_side(one, lease.part, side, have[side], came[side], old, made) for side in (0, 1)]
        kept[lease.store] = KeptJoin(
            one.asked.what(distributed=distributed),
            max(numbers),
            _lone(one.asked, lease.part) if isinstance(one.store, nodes.Join) else {},
            (sides[0], sides[1]),
        )
    return leases, kept


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leased:
    """A join that has a lease."""

    key: int
    asked: AskedJoin
    join: nodes.Join
    """In the words of what keeps its rows."""
    store: nodes.TwoSided
    """What keeps its rows: a store, or the join itself."""

    @property
    def near(self) -> Near | None:
        return nodes.near_of(self.join)

    def lost(self) -> list[int]:
        """The sides of which rows may have left that no store has: those with a null key leave as they come."""
        keys, below = self.join.keys, self.asked.sides
        if self.join.nulls_equal:
            return []
        return [
            side
            for side in (0, 1)
            if preserved(self.join.how, side)
            and self.join.how != "semi"
            and not all(_never_null(below[side], pair[side]) for pair in keys)
        ]

    def condition(self, side: int) -> Expression | None:
        return self.asked.sides[side].condition

    def needs(self, side: int) -> tuple[str, ...]:
        """The conditions that a row must satisfy."""
        condition = self.condition(side)
        return () if condition is None else tuple(sorted({named_condition(one) for one in condition.conjuncts()}))

    def columns(self, side: int) -> list[str]:
        """What a store calls the columns that it reads."""
        mine = self.asked.sides[side]
        return [mine.name(name) for name in mine.columns]


def _never_null(side: JoinInput, column: str) -> bool:
    return column in side.rows.schema.names and side.rows.never_null(column)


def _joins(shared: Shared) -> Iterator[_Leased]:
    """The joins of a plan that have a lease, each once."""
    seen: set[int] = set()
    for root in shared.plan.roots:
        for node in nodes.walk(root.node):
            key = id(shared.origin.get(id(node), node))
            of = node.of if isinstance(node, nodes.Matches) else node
            if key in seen or key not in shared.leases or not isinstance(of, nodes.Join):
                continue
            seen.add(key)
            asked = as_joined(of)
            assert asked is not None
            if isinstance(node, nodes.Matches):
                assert isinstance(node.input, nodes.SharedJoin)
                yield _Leased(key=key, asked=asked, join=node.reading.join, store=node.input)
            else:
                yield _Leased(key=key, asked=asked, join=of, store=of)


def _have(old: KeptJoin | None, one: _Leased, progress: Sequence[Progress], came: tuple[int, int], side: int) -> int:
    """The coordinate from which a store has all rows of a side that a new join asks for."""
    high, other, near = came[side], progress[1 - side], one.near
    if old is None or high <= BOTTOM or near is None or says_of_keys(join_spec(one.join), side, other):
        return high
    bound = END if other.ended else other.bound(near.names[1 - side])
    mine = set(one.needs(side))
    found = [keeper.remembers(near, bound) for keeper in old.sides[side].keepers if set(keeper.needs) <= mine]
    known = [old.sides[side].columns.get(name, high) for name in one.columns(side)]
    condition = one.condition(side)
    known += [] if condition is None else [_since_known(old.sides[side], condition, high)]
    return min(high, max([min(found, default=high), *known]))


def _since_known(old: KeptSide, condition: Expression, high: int) -> int:
    """The coordinate from which it is known of rows whether they satisfy a condition, or can be computed."""
    name = named_condition(condition)
    if name in old.conditions:
        return old.conditions[name]
    return max((old.columns.get(column, high) for column in condition.columns), default=BOTTOM)


def _had(old: KeptJoin | None, number: int, side: int) -> int:
    """The coordinate from which a join that has been there has all its rows of a side."""
    found = (one.since for one in ([] if old is None else old.sides[side].keepers) if one.number == number)
    return next(found, BOTTOM)


def _side(
    one: _Leased, number: int, side: int, have: int, came: int, old: KeptJoin | None, made: KeptJoin | None
) -> KeptSide:
    """What a store keeps of a side with one join more than `made` has; `came` is above all rows that have come."""
    before = KeptSide((), {}, {}) if old is None else old.sides[side]
    found = KeptSide((), {}, {}) if made is None else made.sides[side]
    spec = join_spec(one.join)
    keepers = found.keepers
    if side or spec.pairs_leave:  # where a row is done with as soon as it has a partner, it is not kept for others
        last = None if one.near is None else one.near.reach_of(side).high
        keepers = (*keepers, Keeper(number, one.needs(side), last, have))
    columns = {name: before.columns.get(name, came) for name in one.columns(side)}
    condition = one.condition(side)
    conditions = dict(found.conditions)
    if condition is not None:
        conditions[named_condition(condition)] = _since_known(before, condition, came)
    return KeptSide(keepers, {**found.columns, **columns}, conditions)


def _complete(near: Near, have: tuple[int, int], progress: Sequence[Progress]) -> int:
    """The coordinate from which all results are there whose latest row has it, or a later one.

    A result's other rows lie within reach, so they must be there from so much earlier on; and what would be below a
    bound that readers were told of must not leave.
    """
    low, high = near.reach.low or 0, near.reach.high or 0
    bounds = [END if one.ended else one.bound(near.names[side]) for side, one in enumerate(progress)]
    joint = near.joint(bounds[0], bounds[1]) or ()
    told = [one if near.size is None else -(-one // near.size) for one in joint if BOTTOM < one < END]
    left, right = have
    since = [*told, left, right]
    since += [left + max(high, 0)] if left > BOTTOM else []
    since += [right - min(low, 0)] if right > BOTTOM else []
    return max(since)


def _told(value: int) -> int | None:
    return value if value > BOTTOM else None


def _high(standing: JoinStanding, one: _Leased, side: int, shared: Shared, leases: Mapping[int, Lease]) -> int:
    """The coordinate above the greatest that has come, and from which all rows come."""
    near, rows = one.near, one.store.inputs[side]
    assert near is not None
    high = standing.high(rows, near.names[side])
    if high is None:
        return _UNKNOWN
    high = max([high, *completes(rows, shared, leases)])
    return high if near.size is None or high <= BOTTOM else (high - 1) // near.size + 1


def completes(rows: nodes.Node, shared: Shared, leases: Mapping[int, Lease]) -> list[int]:
    """The ticks from which the joins behind some rows are complete, if they came later."""
    found = (leases.get(id(shared.origin.get(id(node), node))) for node in nodes.walk(rows) if _joins_rows(node))
    return [lease.complete for lease in found if lease is not None and lease.complete is not None]


def _joins_rows(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Join | nodes.Matches)
