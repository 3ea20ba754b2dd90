"""Share joins: joins of the same rows on the same keys read one store, whatever their bands, kinds and conditions."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Hashable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.plan import nodes
from millstream.plan.lease import Lease
from millstream.plan.nodes import Join, JoinColumn, JoinReading, Node, SharedJoin
from millstream.plan.rewrite.asked import place
from millstream.plan.rewrite.joined import AskedJoin, JoinInput, as_joined, stored_name
from millstream.plan.rewrite.share_panes import MOST_PREDICATES, Shared
from millstream.plan.state_text import rows_text


@dataclass(slots=True)
class JoinStore:
    """A store in the making."""

    name: str
    members: dict[int, AskedJoin] = field(default_factory=dict[int, AskedJoin])
    """By number."""
    predicates: tuple[list[Expression], list[Expression]] = field(default_factory=lambda: ([], []))

    def fits(self, one: AskedJoin) -> bool:
        """Is there place for its conditions?"""
        return all(
            len(known) < MOST_PREDICATES or side.condition is None or place(known, side.condition) is not None
            for known, side in zip(self.predicates, one.sides, strict=True)
        )

    def join(self, one: AskedJoin, number: int | None) -> int:
        """Take a join in, under the number that it has, or another; returns it."""
        if number is None:
            number = next(i for i in range(len(self.members) + 1) if i not in self.members)
        self.members[number] = one
        for known, side in zip(self.predicates, one.sides, strict=True):
            if side.condition is not None and place(known, side.condition) is None:
                known.append(side.condition)
        return number


def share_joins(
    before: Shared, leases: Mapping[int, Lease] | None = None, *, apart: Container[int] = (), fresh: bool = True
) -> Shared:
    """Promise: every query has the answers it had; joins of the same rows on the same keys keep each row once.

    They may differ in bands, kinds, conditions and selections. Joins that have a lease, by identity of the node that
    they stand for, stay where they are; those `apart` are computed by themselves, and so is one that has no company.
    A store that has rows already takes in nobody: it may lack rows that a new join would read.
    """
    known = dict(leases or {})
    plan = before.plan
    found = {id(node): node for root in plan.roots for node in nodes.walk(root.node) if isinstance(node, Join)}
    stores: dict[str, JoinStore] = {}
    open_to: dict[Hashable, list[JoinStore]] = {}
    taken = {lease.store for lease in known.values()}
    given: dict[int, tuple[JoinStore, int]] = {}
    for node in sorted(found.values(), key=lambda one: _plain(before, one) not in known):
        key = _plain(before, node)
        one = None if key in apart else as_joined(node)
        if one is None:
            continue
        meets = one.meets(distributed=plan.distributed)
        lease = known.get(key)
        if lease is not None:
            store = stores.get(lease.store)
        else:
            store = next((some for some in open_to.get(meets, ()) if some.fits(one)), None)
        if store is None:
            name = _free_name(one, taken) if lease is None else lease.store
            taken.add(name)
            store = stores[name] = JoinStore(name)
            if lease is None or fresh:
                open_to.setdefault(meets, []).append(store)
        given[id(node)] = store, store.join(one, None if lease is None else lease.part)
    shared = {
        key: (store, number)
        for key, (store, number) in given.items()
        if len(store.members) > 1 or _plain(before, found[key]) in known
    }
    return _swapped(before, shared)


def _swapped(before: Shared, shared: Mapping[int, tuple[JoinStore, int]]) -> Shared:
    """The plan with what answers joins in their place."""
    origin: dict[int, Node] = {}
    new: dict[int, Node] = {}
    made: dict[str, SharedJoin] = {}
    leases = dict(before.leases)
    for root in before.plan.roots:
        for node in nodes.walk(root.node):
            if id(node) in new:
                continue
            if id(node) in shared:
                store, number = shared[id(node)]
                if store.name not in made:
                    made[store.name] = _built(store, new)
                outlet = next(i for i, one in enumerate(made[store.name].readings) if one.number == number)
                assert isinstance(node, Join)
                new[id(node)] = nodes.Matches(input=made[store.name], of=node, outlet=outlet)
                leases[_plain(before, node)] = Lease(store=store.name, part=number)
            else:
                new[id(node)] = nodes.with_inputs(node, tuple(new[id(one)] for one in nodes.inputs(node)))
            if id(node) in before.origin:
                origin[id(new[id(node)])] = before.origin[id(node)]
    return Shared(before.plan.with_nodes([new[id(root.node)] for root in before.plan.roots]), origin, leases)


def _built(store: JoinStore, new: Mapping[int, Node]) -> SharedJoin:
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
            columns[_bit(condition)], kinds[_bit(condition)] = condition, pa.bool_()
        schema = pa.schema([pa.field(name, kinds[name]) for name in columns])
        rows = new[id(first.sides[i].rows)]
        below.append(nodes.Project(input=rows, columns=tuple(columns.items()), schema=schema, hidden=True))
    return SharedJoin(
        inputs=(below[0], below[1]),
        keys=first.keys(),
        domain=first.node.domain,
        name=store.name,
        predicates=(
            tuple(_bit(one) for one in store.predicates[0]),
            tuple(_bit(one) for one in store.predicates[1]),
        ),
        readings=tuple(_reading(number, one, store, (below[0], below[1])) for number, one in members.items()),
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
    )


def _view(side: JoinInput) -> tuple[tuple[str, str], ...]:
    return tuple((name, side.name(name)) for name in side.columns)


def _bit(condition: Expression) -> str:
    """The column that says whether a row satisfies a condition; the same whoever else asks for it."""
    return f"__ms_if_{stored_name(condition)}"


def _plain(before: Shared, node: Node) -> int:
    """The identity of the node that one stands for."""
    return id(before.origin.get(id(node), node))


def _free_name(one: AskedJoin, taken: Container[str]) -> str:
    """A name that says whose rows a store is of and how they meet; the same in every run."""
    text = "\n".join((*(rows_text(side.rows) for side in one.sides), repr(one.keys()), repr(one.times())))
    number = 0
    while True:
        name = "join-" + hashlib.sha1(f"{text}\n{number}".encode()).hexdigest()[:12]
        if name not in taken:
            return name
        number += 1
