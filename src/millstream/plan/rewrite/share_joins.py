"""Share joins: joins of the same rows on the same keys read one store, whatever their bands, kinds and conditions."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.plan import nodes
from millstream.plan.lease import JoinHolding, JoinHoldings, Lease
from millstream.plan.nodes import Join, JoinColumn, JoinReading, Node, SharedJoin
from millstream.plan.rewrite.asked import place
from millstream.plan.rewrite.joined import AskedJoin, JoinInput, as_joined, stored_name
from millstream.plan.rewrite.share_panes import MOST_PREDICATES, Shared
from millstream.plan.sharing import Sharing
from millstream.plan.state_text import rows_text


@dataclass(slots=True)
class JoinStore:
    """A store in the making."""

    name: str
    given: int = 0
    """Numbers below this one have been given away: what is marked under them is not a new join's."""
    lone: bool = False
    """Is it the state of a join by itself, as long as it has no company?"""
    rows: bool = False
    """Has it rows already?"""
    members: dict[int, AskedJoin] = field(default_factory=dict[int, AskedJoin])
    """By number."""
    since: dict[int, int | None] = field(default_factory=dict["int", "int | None"])
    predicates: tuple[list[Expression], list[Expression]] = field(default_factory=lambda: ([], []))

    @property
    def alone(self) -> bool:
        """Is there only the join whose state it is?"""
        return self.lone and len(self.members) == 1 and (not self.rows or min(self.members) < self.given)

    def fits(self, one: AskedJoin) -> bool:
        """Is there place for its conditions, and is it known from when the rows that are there will do?"""
        if self.rows and not one.bounded:
            return False
        return all(
            len(known) < MOST_PREDICATES or side.condition is None or place(known, side.condition) is not None
            for known, side in zip(self.predicates, one.sides, strict=True)
        )

    def join(self, one: AskedJoin, lease: Lease | None) -> int:
        """Take a join in, under the number that it has, or another; returns it."""
        number = max([self.given, *(i + 1 for i in self.members)]) if lease is None else lease.part
        self.members[number], self.since[number] = one, None if lease is None else lease.since
        for known, side in zip(self.predicates, one.sides, strict=True):
            if side.condition is not None and place(known, side.condition) is None:
                known.append(side.condition)
        return number


def share_joins(
    before: Shared,
    leases: Mapping[int, Lease] | None = None,
    *,
    held: JoinHoldings | None = None,
    apart: Container[int] = (),
    fresh: bool = True,
    sharing: Sharing | None = None,
) -> Shared:
    """Promise: every query has the answers it had; joins of the same rows on the same keys keep each row once.

    They may differ in bands, kinds, conditions and selections. Joins that have a lease, by identity of the node that
    they stand for, stay where they are; those `apart` are computed by themselves. A join that was there from the
    beginning and has no company keeps its rows by itself; one that comes later, when streams are not `fresh`, reads
    what stores have `held` for others, or a store of its own, and says from when it is complete.
    """
    plan, there, how = before.plan, dict(held or {}), sharing or Sharing()
    found = {id(node): node for root in plan.roots for node in nodes.walk(root.node) if isinstance(node, Join)}
    keys = {_plain(before, node) for node in found.values()}
    known = {key: lease for key, lease in (leases or {}).items() if key in keys}
    stores: dict[str, JoinStore] = {}
    open_to: dict[Hashable, list[JoinStore]] = {}
    taken = {lease.store for lease in known.values()}
    given: dict[int, tuple[JoinStore, int]] = {}
    for node in sorted(found.values(), key=lambda one: _plain(before, one) not in known):
        key = _plain(before, node)
        one = None if key in apart else as_joined(node)
        lease = known.get(key)
        # Of some that come later nobody could say from when they are complete: they begin with the rows to come.
        if one is None or (lease is None and not fresh and not one.bounded):
            continue
        meets = one.meets(distributed=plan.distributed)
        if lease is not None:
            store = stores.get(lease.store)
        else:
            fit = (some for some in open_to.get(meets, ()) if how.together and some.fits(one))
            store = next(fit, None)
        if store is None:
            what = one.what(distributed=plan.distributed)
            name = _free_name(one, what, taken, there) if lease is None else lease.store
            taken.add(name)
            store = stores[name] = _opened(name, there.get(name), fresh=fresh)
            open_to.setdefault(meets, []).append(store)
        given[id(node)] = store, store.join(one, lease)
    return _swapped(before, given, known, how)


def _opened(name: str, held: JoinHolding | None, *, fresh: bool) -> JoinStore:
    """A store that is there already, or a new one."""
    if held is None:
        return JoinStore(name, lone=fresh)
    return JoinStore(name, given=held.numbers, lone=held.lone, rows=not fresh)


def _swapped(
    before: Shared, given: Mapping[int, tuple[JoinStore, int]], known: Mapping[int, Lease], how: Sharing
) -> Shared:
    """The plan with what answers joins in their place."""
    origin: dict[int, Node] = {}
    new: dict[int, Node] = {}
    made: dict[str, SharedJoin] = {}
    leases = dict(before.leases)
    for root in before.plan.roots:
        for node in nodes.walk(root.node):
            if id(node) in new:
                continue
            store, number = given.get(id(node), (None, 0))
            alone = store is None or store.alone
            key = _plain(before, node)
            if store is not None and not (alone and before.plan.distributed and not store.members[number].in_order()):
                leases[key] = known.get(key, Lease(store=store.name, part=number))
            if store is None or alone:
                new[id(node)] = nodes.with_inputs(node, tuple(new[id(one)] for one in nodes.inputs(node)))
            else:
                if store.name not in made:
                    made[store.name] = _built(store, new, how)
                outlet = next(i for i, one in enumerate(made[store.name].readings) if one.number == number)
                assert isinstance(node, Join)
                new[id(node)] = nodes.Matches(input=made[store.name], of=node, outlet=outlet)
            if id(node) in before.origin:
                origin[id(new[id(node)])] = before.origin[id(node)]
    return Shared(before.plan.with_nodes([new[id(root.node)] for root in before.plan.roots]), origin, leases)


def _built(store: JoinStore, new: Mapping[int, Node], how: Sharing) -> SharedJoin:
    """The store over its rows, with a projection on each side that computes all that somebody reads, once."""
    members = dict(sorted(store.members.items()))
    first = next(iter(members.values()))
    below: list[Node] = []
    for i, known in enumerate(store.predicates):
        columns: dict[str, Expression] = {}
        kinds: dict[str, pa.DataType] = {}
        for one in members.values():
            for name, made in one.sides[i].columns.items():
                columns[stored_name(made)] = made
                kinds[stored_name(made)] = one.node.inputs[i].schema.field(name).type
        for condition in known:
            columns[named_condition(condition)], kinds[named_condition(condition)] = condition, pa.bool_()
        schema = pa.schema([pa.field(name, kinds[name]) for name in columns])
        rows = new[id(first.sides[i].rows)]
        below.append(nodes.Project(input=rows, columns=tuple(columns.items()), schema=schema, hidden=True))
    return SharedJoin(
        inputs=(below[0], below[1]),
        keys=first.keys(),
        domain=first.node.domain,
        name=store.name,
        predicates=(
            tuple(named_condition(one) for one in store.predicates[0]),
            tuple(named_condition(one) for one in store.predicates[1]),
        ),
        readings=tuple(_reading(number, one, store, (below[0], below[1])) for number, one in members.items()),
        sharing=how,
    )


def _reading(number: int, one: AskedJoin, store: JoinStore, inputs: tuple[Node, Node]) -> JoinReading:
    node, (left, right) = one.node, one.sides
    times = one.times()
    moved = tuple(
        JoinColumn(name=column.name, side=column.side, column=one.sides[column.side].name(column.column))
        for column in node.columns
    )
    join = replace(
        node,
        inputs=inputs,
        keys=one.keys(),
        columns=moved,
        time=None if node.time is None or times is None else replace(node.time, left=times[0], right=times[1]),
    )
    return JoinReading(
        number=number,
        join=join,
        predicates=(place(store.predicates[0], left.condition), place(store.predicates[1], right.condition)),
        views=(_view(left), _view(right)),
        since=store.since[number],
    )


def _view(side: JoinInput) -> tuple[tuple[str, str], ...]:
    return tuple((name, side.name(name)) for name in side.columns)


def named_condition(condition: Expression) -> str:
    """The column that says whether a row satisfies a condition; the same whoever else asks for it."""
    return f"__ms_if_{stored_name(condition)}"


def _plain(before: Shared, node: Node) -> int:
    """The identity of the node that one stands for."""
    return id(before.origin.get(id(node), node))


def _free_name(one: AskedJoin, what: str, taken: Container[str], held: JoinHoldings) -> str:
    """A name that says whose rows a store is of and how they meet; the same in every run.

    A store that nobody reads any more is there for who would read it in the same way; others stay away from it.
    """
    text = "\n".join((*(rows_text(side.rows) for side in one.sides), repr(one.keys()), repr(one.times())))
    for number in count():
        name = "join-" + hashlib.sha1(f"{text}\n{number}".encode()).hexdigest()[:12]
        if name not in taken and (name not in held or (held[name].what == what and one.bounded)):
            return name
    raise AssertionError
