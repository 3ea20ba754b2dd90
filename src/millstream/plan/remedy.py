"""The inverse question: which punctuation of the streams would make a plan safe? The least that would do.

The schemes of the sources are left open, the plan is reduced, and what is left of the sources' offerings are the
answers. A scheme is among the least if no stream of it could promise fewer templates.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from math import prod
from typing import Any

from millstream.core.contract.accordance import accordances
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Sign, Template
from millstream.core.domain import Kind
from millstream.plan import nodes
from millstream.plan.check import offered
from millstream.plan.hints import IN_PYTHON, Hints
from millstream.plan.promise import promises_of, template_of

_MOST_CHOICES = 20_000
_MOST_ATTRIBUTES = 5
_TIMES = (Kind.TIMESTAMP, Kind.DATE)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What each stream would have to promise."""

    schemes: Mapping[str, Scheme]
    declarations: Mapping[str, str]

    def __str__(self) -> str:
        """Stream by stream, with how it is declared."""
        parts = [f"{name}: {self.declarations[name]}" for name, scheme in self.schemes.items() if len(scheme)]
        return "; ".join(parts) or "no promise at all"

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {name: [str(one) for one in scheme] for name, scheme in self.schemes.items()}


def remedies(root: nodes.Node, say: Hints = IN_PYTHON) -> tuple[Remedy, ...]:
    """The least schemes that make a plan safe, the simplest first; none if no punctuation of its streams would."""
    sources = nodes.sources(root)
    wanted = _interesting(root)
    candidates = {id(one): _templates(one, wanted.get(id(one), [])) for one in sources}
    for size in (1, 2):
        openly = {key: _schemes(some, size) for key, some in candidates.items()}
        while (choices := prod(map(len, openly.values()))) > _MOST_CHOICES and max(map(len, openly.values())) > 2:
            openly = {key: some[: max(2, len(some) // 2)] for key, some in openly.items()}
        found = list(_safe(root, sources, openly) if choices <= _MOST_CHOICES else _alike(root, sources, openly))
        if found:
            return tuple(_remedy(sources, one, say) for one in _least(found, sources))
    return ()


def _safe(
    root: nodes.Node, sources: list[nodes.Source], openly: dict[int, tuple[Scheme, ...]]
) -> Iterator[list[Scheme]]:
    plan = offered(root, openly)
    seen: set[tuple[Scheme, ...]] = set()
    for chosen in accordances(plan):
        schemes = tuple(chosen[id(one)].out for one in sources)
        if schemes not in seen:
            seen.add(schemes)
            yield list(schemes)


def _alike(
    root: nodes.Node, sources: list[nodes.Source], openly: dict[int, tuple[Scheme, ...]]
) -> Iterator[list[Scheme]]:
    """Where the streams are too many to try every choice: the same promise of all, then of as few as will do."""

    def safe(schemes: list[Scheme]) -> bool:
        return any(_safe(root, sources, {id(one): (scheme,) for one, scheme in zip(sources, schemes, strict=True)}))

    every = [openly[id(one)] for one in sources]
    declared = [Scheme(frozenset(promises_of(one))) for one in sources]
    tried: set[tuple[Scheme, ...]] = set()
    for number in range(max(map(len, every))):
        same = [some[min(number, len(some) - 1)] for some in every]
        kept = [promised if len(promised) else one for promised, one in zip(declared, same, strict=True)]
        for schemes in (kept, same):
            if tuple(schemes) in tried or not safe(schemes):
                continue
            tried.add(tuple(schemes))
            for at in range(len(schemes)):
                less = [*schemes[:at], Scheme(frozenset()), *schemes[at + 1 :]]
                if safe(less):
                    schemes[at] = less[at]
            yield list(schemes)


def _least(found: list[list[Scheme]], sources: list[nodes.Source]) -> list[list[Scheme]]:
    """Those that no other is part of: first what changes the fewest declarations, then what says the least."""

    def within(one: list[Scheme], other: list[Scheme]) -> bool:
        pairs = zip(one, other, strict=True)
        return one != other and all(a.templates <= b.templates for a, b in pairs)

    declared = [Scheme(frozenset(promises_of(one))) for one in sources]

    def order(one: list[Scheme]) -> tuple[int, list[tuple[int, int, str]]]:
        changed = sum(a != b for a, b in zip(one, declared, strict=True))
        return changed, [(len(t.signs), len(t.literals), str(t)) for scheme in one for t in scheme]

    return sorted((one for one in found if not any(within(other, one) for other in found)), key=order)


def _remedy(sources: list[nodes.Source], schemes: list[Scheme], say: Hints) -> Remedy:
    named = {one.name: scheme for one, scheme in zip(sources, schemes, strict=True)}
    how = {
        one.name: " and ".join(say.promise(template) for template in scheme)
        for one, scheme in zip(sources, schemes, strict=True)
    }
    return Remedy(named, how)


def _schemes(templates: list[Template], size: int) -> tuple[Scheme, ...]:
    every = (Scheme(frozenset(some)) for n in range(size + 1) for some in combinations(templates, n))
    return tuple(every)


def _templates(source: nodes.Source, wanted: list[tuple[str, bool]]) -> list[Template]:
    """Shapes over the attributes that operators ask about: bounds where order is asked for, values elsewhere."""
    declared = template_of(source.progress)
    domains = source.domains
    timed = [name for name, ordered in wanted if ordered or (name in domains and domains[name].kind in _TIMES)]
    values = [name for name, _ in wanted if name not in domains or domains[name].kind not in _TIMES]
    values = [name for name in values if name not in timed][:_MOST_ATTRIBUTES]
    out = [Template({name: Sign.UP_TO}) for name in timed]
    out += [Template({name: Sign.LITERAL}) for name in values]
    # Where only values are asked about, a bound speaks of them too, if they have an order.
    out += [Template({name: Sign.UP_TO}) for name in values if name in domains]
    out += [Template({one: Sign.UP_TO, key: Sign.LITERAL}) for one, key in product(timed, values)]
    if declared is not None:
        out.append(declared)
    return list(dict.fromkeys(out))


def _interesting(root: nodes.Node) -> dict[int, list[tuple[str, bool]]]:
    """By source: the columns on which an operator's memory depends, and whether it asks for their order."""
    found: dict[int, dict[str, bool]] = {}
    for node in nodes.walk(root):
        for at, column, ordered in node.asks():
            for source, name in at.origins(column):
                mine = found.setdefault(id(source), {})
                mine[name] = mine.get(name, False) or ordered
    return {key: list(some.items()) for key, some in found.items()}
