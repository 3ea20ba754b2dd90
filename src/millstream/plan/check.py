"""Check: will a plan forget? For each operator what it keeps, what lets it forget and how long that takes; or why not.

The verdict is the reducer's: every operator offers contracts for what its inputs may promise, and the plan is safe if
one contract an operator can be chosen so that all edges agree. The words come from the operators, inputs first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from types import MappingProxyType
from typing import Any

from millstream.core.contract.accordance import ContractPlan, reduce
from millstream.core.contract.contract import Contract, Offering
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Template
from millstream.plan import nodes
from millstream.plan.hints import IN_PYTHON, Hints
from millstream.plan.horizon import Horizon
from millstream.plan.lag import Promises
from millstream.plan.refusal import Refusal
from millstream.plan.words import listed

Asked = Mapping[int, tuple[str, str]]
"""By identity of a node that a statement asks for: what the statement calls its two sides, if it is a join."""
Open = Mapping[int, tuple[Scheme, ...]]
"""By identity of a source: the schemes it may have, in place of the one it declares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One operator that keeps rows: what, what lets it forget, how long that takes; or why it never would."""

    node: nodes.Node
    operator: str
    keeps: str
    forgets: tuple[Template, ...] = ()
    horizon: Horizon | None = None
    refusal: Refusal | None = None
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """For people."""
        out = [self.operator, f"  keeps    {self.keeps}"]
        if self.refusal is not None:
            return [*out, f"  refused  {self.refusal.fact}", f"  hint     {self.refusal.hint}"]
        if self.horizon is None:
            return [*out, "  waits    for what it reads"]
        if self.forgets:
            out.append(f"  forgets  on punctuation {listed(map(str, self.forgets))}")
        out.append(f"  horizon  {self.horizon}")
        return [*out, *(f"  assumes  {note}" for note in self.notes)]

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "operator": self.operator,
            "keeps": self.keeps,
            "forgets": [str(one) for one in self.forgets],
            "horizon": None if self.horizon is None else self.horizon.to_dict(),
            "refusal": None if self.refusal is None else self.refusal.to_dict(),
            "assumes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """The verdict on one query."""

    name: str
    root: nodes.Node
    safe: bool
    verdicts: tuple[Verdict, ...]
    """Of the operators that keep rows, inputs first."""
    sources: tuple[nodes.Source, ...]

    @property
    def refusals(self) -> tuple[tuple[nodes.Node, Refusal], ...]:
        """The operators that are refused, and why."""
        return tuple((one.node, one.refusal) for one in self.verdicts if one.refusal is not None)


def check(name: str, root: nodes.Node, *, ends: bool = False, asked: Asked = MappingProxyType({})) -> Checked:
    """Check one query; with `ends` its streams are promised to end. `asked` are the nodes that statements asked for."""
    plan = offered(root, {}, ends=ends)
    told = _told(root, plan.offerings, ends=ends, asked=asked)
    return Checked(
        name=name,
        root=root,
        safe=reduce(plan).consistent,
        verdicts=tuple(told),
        sources=tuple(nodes.sources(root)),
    )


def offered(root: nodes.Node, openly: Open, *, ends: bool = False) -> ContractPlan:
    """The plan as offerings: each operator's contracts for all that its inputs may promise."""
    reads: dict[Any, tuple[Any, ...]] = {}
    offerings: dict[Any, Offering] = {}
    for node in nodes.walk(root):
        key, below = id(node), tuple(id(one) for one in node.heard())
        reads[key] = below
        if key in openly:
            offerings[key] = tuple(Contract((), scheme) for scheme in openly[key])
            continue
        form = node.form(ends=ends)
        choices = product(*(dict.fromkeys(row.out for row in offerings[one]) for one in below))
        rows = (row for inputs in choices for row in form.offers(inputs))
        offerings[key] = tuple(dict.fromkeys(rows))
    return ContractPlan(id(root), reads, offerings)


def _told(root: nodes.Node, offerings: Mapping[Any, Offering], *, ends: bool, asked: Asked) -> list[Verdict]:
    """The verdict on each operator that keeps rows; as the streams are bound, it has one contract or none."""
    out: list[Verdict] = []
    promises: dict[int, Promises] = {}
    for node in nodes.walk(root):
        below = [promises.get(id(one)) for one in node.heard()]
        incoming = [one for one in below if one is not None]
        rows = offerings[id(node)]
        if len(incoming) == len(below) and rows:
            promises[id(node)] = node.outgoing(incoming, rows[0].out, ends=ends)
        if not nodes.keeps_state(node):
            continue
        one = Verdict(node=node, operator=node.title(), keeps=node.kept())
        if len(incoming) == len(below):
            schemes = [Scheme(frozenset(some)) for some in incoming]
            one = _accepted(one, node, incoming, schemes) if rows else _refused(one, node, schemes, _hints(node, asked))
        out.append(one)
    return out


def _refused(one: Verdict, node: nodes.Node, schemes: list[Scheme], say: Hints) -> Verdict:
    return Verdict(node=node, operator=one.operator, keeps=one.keeps, refusal=node.refuse(schemes, say))


def _hints(node: nodes.Node, asked: Asked) -> Hints:
    return Hints(sql=True, sides=asked[id(node)]) if id(node) in asked else IN_PYTHON


def _accepted(one: Verdict, node: nodes.Node, incoming: list[Promises], schemes: list[Scheme]) -> Verdict:
    form = node.form()
    used = [template for port, scheme in enumerate(schemes) for template in form.uses(scheme, port)]
    return Verdict(
        node=node,
        operator=one.operator,
        keeps=one.keeps,
        forgets=tuple(dict.fromkeys(used)),
        horizon=node.horizon(incoming),
        notes=_notes(node, used),
    )


def _notes(node: nodes.Node, used: list[Template]) -> tuple[str, ...]:
    """What is taken for granted: values that one side never has must be punctuated there too, and groups go on."""
    timed = any(one.up_to and not one.literals for one in used)
    keys = dict.fromkeys(name for one in used for name in one.literals)
    if not keys or timed or any(one.ends for one in used):
        return ()
    names = listed(keys)
    crossing = len(node.reads()) > 1 or any(isinstance(one, nodes.Union) for one in nodes.walk(node))
    out = [f"every {names} is punctuated on every input, also where it has no row"] if crossing else []
    if any(one.up_to for one in used):
        out.append(f"every {names} goes on, or is said to be over: one that falls silent keeps its last rows")
    return tuple(out)
