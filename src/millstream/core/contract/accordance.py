"""The whole plan: which contract of each operator is part of a choice that agrees on every edge.

An *accordance* chooses one contract an operator; it is consistent if every edge agrees. A tree is reduced by
semi-joins, once up and once down: 2n − 2 of them, where trying all choices takes kⁿ. In a plan that is a graph
a shared operator must have one contract for all its readers: its contracts are tried one by one, and with that one
fixed the plan falls apart into trees.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import product

from millstream.core.contract.contract import Contract, Offering, agree
from millstream.core.contract.feedback import well_formed

Rows = dict[Hashable, list[Contract]]


@dataclass(frozen=True, slots=True)
class ContractPlan:
    """Operators with their offerings, and which operators each reads. `root` is the one that nobody reads.

    >>> from millstream.core.contract.scheme import Scheme
    >>> time, key = Scheme.of("a+"), Scheme.of("a#")
    >>> plan = ContractPlan(
    ...     root="B",
    ...     reads={"B": ("A",), "A": ("C",), "C": ()},
    ...     offerings={
    ...         "A": (Contract((time,), time), Contract((key,), key)),
    ...         "B": (Contract((time,), time),),
    ...         "C": (Contract((), time), Contract((), key)),
    ...     },
    ... )
    >>> reduction = reduce(plan)
    >>> reduction.consistent, {name: len(rows) for name, rows in sorted(reduction.rows.items())}
    (True, {'A': 1, 'B': 1, 'C': 1})
    """

    root: Hashable
    reads: Mapping[Hashable, tuple[Hashable, ...]]
    offerings: Mapping[Hashable, Offering]

    @property
    def shared(self) -> list[Hashable]:
        """Operators that are read more than once."""
        read = [below for reads in self.reads.values() for below in reads]
        return [name for name in self.reads if read.count(name) > 1]


@dataclass(slots=True)
class Remaining:
    """What is left of each offering: the contracts that are part of some consistent accordance."""

    rows: Rows = field(default_factory=Rows)
    semi_joins: int = 0

    @property
    def consistent(self) -> bool:
        """Is there a consistent accordance at all?"""
        return bool(self.rows) and all(self.rows.values())


def reduce(plan: ContractPlan) -> Remaining:
    """Keep of each offering what is part of a consistent accordance; nothing is left if there is none."""
    out = Remaining({name: [] for name in plan.reads})
    for rows in _fixed(plan):
        one = _Trees(plan, rows)
        found = one.reduced()
        out.semi_joins += one.semi_joins
        for name, left in found.items():
            out.rows[name] += [row for row in left if row not in out.rows[name]]
    return out


def accordances(plan: ContractPlan) -> Iterator[dict[Hashable, Contract]]:
    """Every consistent accordance, one after the other."""
    for rows in _fixed(plan):
        found = _Trees(plan, rows).reduced()
        if found:
            yield from _choose(plan, found, _top_down(plan), {})


def _fixed(plan: ContractPlan) -> Iterator[Rows]:
    """The well-formed offerings, once for each choice of contracts for the shared operators."""
    every = {name: [row for row in plan.offerings[name] if well_formed(row)] for name in plan.reads}
    shared = plan.shared
    for chosen in product(*(every[name] for name in shared)):
        yield {**every, **{name: [row] for name, row in zip(shared, chosen, strict=True)}}


def _top_down(plan: ContractPlan) -> list[Hashable]:
    """Every operator after all of its readers."""
    order: dict[Hashable, None] = {}

    def visit(name: Hashable) -> None:
        if name not in order:
            for below in plan.reads[name]:
                visit(below)
            order[name] = None

    visit(plan.root)
    return list(reversed(order))


def _choose(
    plan: ContractPlan, rows: Rows, order: list[Hashable], chosen: dict[Hashable, Contract]
) -> Iterator[dict[Hashable, Contract]]:
    if len(chosen) == len(order):
        yield dict(chosen)
        return
    name = order[len(chosen)]
    readers = [(one, port) for one in chosen for port, below in enumerate(plan.reads[one]) if below == name]
    for row in rows[name]:
        if all(agree(chosen[reader], port, row) for reader, port in readers):
            yield from _choose(plan, rows, order, {**chosen, name: row})


class _Trees:
    """The plan with its shared operators fixed: a tree below the root and one below each shared operator."""

    def __init__(self, plan: ContractPlan, rows: Rows) -> None:
        self.plan = plan
        self.rows = {name: list(some) for name, some in rows.items()}
        self.semi_joins = 0
        shared = plan.shared
        self.roots = [plan.root, *(name for name in shared if name != plan.root)]
        self.cut = set(shared)

    def reduced(self) -> Rows:
        """What is left; empty as soon as some tree has nothing left at its root."""
        for root in self.roots:
            self._up(root)
            if not self.rows[root]:
                return {}
        for root in self.roots:
            self._down(root)
        return self.rows

    def _up(self, name: Hashable) -> None:
        for port, below in enumerate(self.plan.reads[name]):
            if below not in self.cut:
                self._up(below)
            self.semi_joins += 1
            self.rows[name] = [p for p in self.rows[name] if any(agree(p, port, q) for q in self.rows[below])]

    def _down(self, name: Hashable) -> None:
        for port, below in enumerate(self.plan.reads[name]):
            self.semi_joins += 1
            self.rows[below] = [q for q in self.rows[below] if any(agree(p, port, q) for p in self.rows[name])]
            if below not in self.cut:
                self._down(below)
