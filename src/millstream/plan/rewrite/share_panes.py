"""Share panes: window aggregates over the same rows read one store of partials, whatever their windows."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from millstream.core.expression import Expression
from millstream.core.window import Grid, Landmark, Sliding
from millstream.plan import nodes
from millstream.plan.lease import Holding, Holdings, Lease
from millstream.plan.nodes import Aggregate, Node
from millstream.plan.nodes.base import meaning
from millstream.plan.plan import Plan
from millstream.plan.rewrite.asked import AskedAggregate, as_asked, condition_of, part_text, place
from millstream.plan.rewrite.pane_store import built
from millstream.plan.state_text import rows_text

MOST_PREDICATES = 62
"""So many conditions fit the bitmap of a row."""
_FEW = 16
"""So many panes for each group more are worth a part less."""


@dataclass(slots=True)
class PartDraft:
    """A part in the making: who reads the same groups of rows that satisfy the same condition."""

    first: AskedAggregate
    longest: int
    grid: Grid
    settled: bool = False
    """Has it state already?"""

    def fits(self, one: AskedAggregate) -> bool:
        """Would it take no more panes to keep those of another reader here than apart?"""
        mine, theirs = self.first, one
        if set(mine.node.groups) != set(theirs.node.groups) or condition_of(mine) != condition_of(theirs):
            return False
        if isinstance(mine.windows[0], Landmark) or isinstance(theirs.windows[0], Landmark):
            return mine.windows == theirs.windows and not self.settled  # what grows has no second beginning
        other = _part(one)
        both = self.grid.and_also(other.grid)
        apart = self.longest // self.grid.pane + other.longest // other.grid.pane
        return max(self.longest, other.longest) // both.pane <= apart + _FEW

    def join(self, one: AskedAggregate) -> None:
        """Keep another reader's panes too."""
        other = _part(one)
        self.longest, self.grid = max(self.longest, other.longest), self.grid.and_also(other.grid)


@dataclass(slots=True)
class StoreDraft:
    """A store in the making."""

    name: str
    rows: Node
    attribute: str
    finest: tuple[str, ...]
    meets: tuple[str, ...]
    fixed: bool
    """Has it state already, laid out by the groups that its rows meet on?"""
    held: Mapping[int, Holding]
    """What that state is, by part."""
    groups: dict[str, Expression] = field(default_factory=dict[str, Expression])
    members: list[tuple[AskedAggregate, int]] = field(default_factory=list["tuple[AskedAggregate, int]"])
    """With the number of the part that each reads."""
    predicates: list[Expression] = field(default_factory=list[Expression])
    parts: dict[int, PartDraft] = field(default_factory=dict[int, PartDraft])

    def fits(self, one: AskedAggregate, *, distributed: bool) -> bool:
        """Can an aggregate read this store?"""
        node = one.node
        if (
            self.rows is not one.rows
            or self.attribute != node.attribute
            or node.domain != self.members[0][0].node.domain
        ):
            return False
        if any(
            name in self.groups and meaning(self.groups[name]) != meaning(one.columns[name]) for name in node.groups
        ):
            return False
        if len(self.predicates) >= MOST_PREDICATES and place(self.predicates, one.condition) is None:
            return False
        if not distributed:
            return set(node.groups) <= set(self.finest) or set(self.finest) <= set(node.groups)
        # Rows that must meet in one partition, for the sake of one reader, would all be in one place.
        if self.fixed:
            return set(self.meets) <= set(node.groups) and (bool(self.meets) or not node.groups)
        return set(node.groups) <= set(self.finest) and bool(set(self.meets) & set(node.groups)) == bool(self.meets)

    def join(self, one: AskedAggregate, number: int | None) -> int:
        """Take an aggregate in, in the part that it has or in the one that suits it; returns the part's number."""
        node = one.node
        settled = number is not None
        if number is None:
            number = next((i for i, part in self.parts.items() if part.fits(one)), None)
        if number is None and not isinstance(one.windows[0], Landmark):
            number = next((i for i, had in self._left() if had.what == part_text(one)), None)
        if number is None:
            number = next(i for i in count() if i not in self.parts and i not in self.held)
        if number in self.parts:
            self.parts[number].join(one)
        else:
            self.parts[number] = _part(one)
        self.parts[number].settled |= settled
        self.members.append((one, number))
        self.groups |= {name: one.columns[name] for name in node.groups}
        self.finest = (*self.finest, *(name for name in node.groups if name not in self.finest))
        if not self.fixed:
            self.meets = tuple(name for name in self.meets if name in node.groups)
        if one.condition is not None and place(self.predicates, one.condition) is None:
            self.predicates.append(one.condition)
        return number

    def _left(self) -> list[tuple[int, Holding]]:
        """Parts that nobody reads any more."""
        return [(i, had) for i, had in self.held.items() if i not in self.parts]


@dataclass(frozen=True, slots=True)
class Shared:
    """A plan whose aggregates read stores."""

    plan: Plan
    origin: dict[int, Node]
    """By identity of a node of it: the node of the plan before that it stands for. A store stands for none."""
    leases: dict[int, Lease]
    """By identity of an aggregate of the plan before: what it reads."""


def share_panes(
    plan: Plan,
    leases: Mapping[int, Lease] | None = None,
    *,
    held: Holdings | None = None,
    apart: Container[int] = (),
    single: Callable[[int], bool] = lambda _: False,
    together: bool = True,
) -> Shared:
    """Promise: every query has the answers it had; aggregates of the same rows are computed from one store of panes.

    They may differ in windows, groups, aggregates and conditions. What could fail for a row stays with its own query,
    so that no query loses a row to another one's mistake. Aggregates that have a lease, by identity, stay where they
    are; those `apart` are computed by themselves, and so is one that has no company, if it may be `single`. What is
    `held` in stores already, and read by nobody any more, is there for new ones that fit; others stay away from it.
    If they are not to be `together`, each new one has a store of its own.

    >>> share_panes(Plan(roots=())).plan
    Plan(roots=(), distributed=False)
    """
    known = dict(leases or {})
    found = {id(node): node for root in plan.roots for node in nodes.walk(root.node) if isinstance(node, Aggregate)}
    asked = [one for node in found.values() if id(node) not in apart and (one := as_asked(node)) is not None]
    stores: list[StoreDraft] = []
    given: dict[int, Lease] = {}
    # Those that are there stay; of the others the finest groups come first, as others are sums of theirs.
    for one in sorted(asked, key=lambda one: (id(one.node) not in known, -len(one.node.groups))):
        lease = known.get(id(one.node))
        if lease is not None:
            store = next((s for s in stores if s.name == lease.store), None)
        else:
            fit = (s for s in stores if together and s.fits(one, distributed=plan.distributed))
            store = next(fit, None)
        if store is None:
            if lease is not None:
                tenants = [a for a in asked if (had := known.get(id(a.node))) and had.store == lease.store]
                store = _opened(one, lease.store, tenants, (held or {}).get(lease.store, {}))
            else:
                store = _new(one, {store.name for store in stores}, held or {}, distributed=plan.distributed)
            stores.append(store)
        number = store.join(one, None if lease is None else lease.part)
        given[id(one.node)] = Lease(store=store.name, part=number) if lease is None else lease
    new: dict[int, Node] = {}
    made: set[int] = set()
    # A store may be of the answers of another: that one is built first.
    for store in sorted(stores, key=lambda one: sum(1 for _ in nodes.walk(one.rows))):
        if len(store.members) > 1 or store.fixed or not single(id(store.members[0][0].node)):
            answers = built(store, given, _renewed(store.rows, new))
            new |= answers
            made |= answers.keys()
    origin: dict[int, Node] = {}
    for root in plan.roots:
        _renewed(root.node, new)
        origin |= {id(new[id(node)]): node for node in nodes.walk(root.node)}
    leases = {key: lease for key, lease in given.items() if key in made}
    return Shared(plan.with_nodes([new[id(root.node)] for root in plan.roots]), origin, leases)


def _renewed(root: Node, new: dict[int, Node]) -> Node:
    """A part of the plan over what there is in place of its nodes; all of it is noted down in `new`."""
    for node in nodes.walk(root):
        if id(node) not in new:
            new[id(node)] = nodes.with_inputs(node, tuple(new[id(one)] for one in nodes.inputs(node)))
    return new[id(root)]


def _opened(
    one: AskedAggregate, name: str, tenants: Sequence[AskedAggregate], held: Mapping[int, Holding]
) -> StoreDraft:
    """A store in which `tenants` have state already."""
    groups = one.node.groups
    meets = tuple(name for name in groups if all(name in tenant.node.groups for tenant in tenants))
    if held:  # what was laid out for others, too, stays where it is
        meets = next(iter(held.values())).meets
    return StoreDraft(name, one.rows, one.node.attribute, groups, meets, True, held)  # noqa: FBT003 - a field


def _new(one: AskedAggregate, taken: Container[str], held: Holdings, *, distributed: bool) -> StoreDraft:
    """A store for an aggregate: one that nobody reads any more, if that has what it needs, or an empty one."""
    groups = one.node.groups
    for name in _names(one):
        if name in taken:
            continue
        if name not in held:
            return StoreDraft(name, one.rows, one.node.attribute, groups, groups, False, {})  # noqa: FBT003 - a field
        meets = next(iter(held[name].values())).meets if held[name] else ()
        placed = not distributed or (set(meets) <= set(groups) and bool(meets) == bool(groups))
        if placed and any(had.what == part_text(one) for had in held[name].values()):
            return StoreDraft(name, one.rows, one.node.attribute, groups, meets, True, held[name])  # noqa: FBT003 - a field
    raise AssertionError


def _part(one: AskedAggregate) -> PartDraft:
    sizes = [window.size for window in one.windows if isinstance(window, Sliding)]
    return PartDraft(one, max(sizes, default=one.windows[0].slide), Grid.of(one.windows))


def _names(one: AskedAggregate) -> Iterator[str]:
    """Names that say whose rows a store is of, and by which attribute; the same in every run."""
    text = f"{one.node.attribute}\n{rows_text(one.rows)}"
    texts = (f"{text}\n{number}" for number in count())
    return (f"panes-{hashlib.sha1(one.encode()).hexdigest()[:12]}" for one in texts)
