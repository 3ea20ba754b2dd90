"""Contract forms: from what an operator is told, to the contracts that it can keep for given input schemes.

A form yields nothing for schemes under which the operator would keep rows for ever, or never answer: such a contract
cannot be realized, and is not offered. Punctuation that an operator has no use for does no harm; it stops there.
The joins are in `join_form`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from millstream.core.contract.contract import Contract, Offering
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import END, Sign, Template


class Form(Protocol):
    """What an operator offers."""

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """The contracts that can be kept if the inputs obey these schemes."""
        ...

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """The templates of an input that let the operator forget; none for one that has nothing to forget."""
        ...


def _contract(inputs: Sequence[Scheme], out: Iterable[Template]) -> Offering:
    return (Contract(tuple(inputs), Scheme(frozenset(out))),)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A source: it promises one of these schemes."""

    schemes: tuple[Scheme, ...]

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """One contract a scheme."""
        return tuple(Contract((), scheme) for scheme in self.schemes)

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """It keeps no row."""
        return []


@dataclass(frozen=True, slots=True)
class Select:
    """GCF1: a condition keeps every promise.

    >>> [str(one) for one in Select().offers([Scheme.of("a+")])]
    ['{[[a:+]]} -> {[[a:+]]}']
    """

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """What comes in goes out."""
        return _contract(inputs, inputs[0])

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """It keeps no row."""
        return []


@dataclass(frozen=True, slots=True)
class Project:
    """GCF2: a promise goes on if every attribute it speaks of does, under its new names.

    >>> [str(one) for one in Project({"a": ("x",)}).offers([Scheme.of("a+", "b#")])]
    ['{[[a:+]], [[b:#]]} -> {[[x:+]]}']
    """

    names: Mapping[str, tuple[str, ...]]
    """For each attribute that goes on unchanged, the names it has in the output."""
    extremes: Mapping[str, tuple[str, tuple[str, ...]]] = field(
        default_factory=lambda: dict[str, tuple[str, tuple[str, ...]]]()
    )
    """For each column that is the greatest or the least of some attributes, which it is and of which."""

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """One template for each name of the same attribute; the greatest progresses with any, the least with all."""
        bounded = {one.up_to[0] for one in inputs[0] if len(one.signs) == len(one.up_to) == 1}
        out: set[Template] = {
            Template({name: Sign.UP_TO})
            for name, (which, parts) in self.extremes.items()
            if (any if which == "greatest" else all)(part in bounded for part in parts)
        }
        for template in inputs[0]:
            if template.names <= self.names.keys():
                first = {old: self.names[old][0] for old in template.signs}
                out.add(template.renamed(first))
                out |= {template.renamed({**first, old: new}) for old in template.signs for new in self.names[old][1:]}
        return _contract(inputs, out)

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """It keeps no row."""
        return []


@dataclass(frozen=True, slots=True)
class Union:
    """A union promises what every input promises.

    For templates with `#` that takes each input to speak of every value, also of those that only the others have.

    >>> linear, group_wise = Scheme.of("ts+"), Scheme.of("ts+ k#")
    >>> [str(one.out) for one in Union().offers([linear, group_wise])]
    ['{[[k:#, ts:+]]}']
    """

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """The templates that every input implies."""
        every = {template for scheme in inputs for template in scheme}
        return _contract(inputs, (one for one in every if all(_implied(one, scheme) for scheme in inputs)))

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """It keeps no row."""
        return []


def _implied(template: Template, scheme: Scheme) -> bool:
    # Groups that are over are matched by name: `k` over does not become `k, j` over.
    if not template.up_to:
        return template in scheme.templates
    return any(one.implies(template) for one in scheme if not one.ends)


@dataclass(frozen=True, slots=True)
class Remembering:
    """An operator that keeps values of some attributes, and passes punctuation on: what speaks of these lets it forget.

    DISTINCT is one: a combination of its columns goes when punctuation rules the combination out.

    >>> len(Remembering(("k",)).offers([Scheme.of("ts+")])), len(Remembering(("k", "ts")).offers([Scheme.of("ts+")]))
    (0, 1)
    """

    attributes: tuple[str, ...]

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """All promises go on, if there is one to forget by."""
        return _contract(inputs, inputs[0]) if self.uses(inputs[0]) else ()

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """Templates that speak of nothing but its attributes."""
        return [one for one in scheme if one.names <= set(self.attributes)]


@dataclass(frozen=True, slots=True)
class Release:
    """An operator that holds rows until a bound for the whole stream passes them: SORT.

    >>> [str(one.out) for one in Release("ts").offers([Scheme.of("ts+", "k#")])]
    ['{[[ts:+]]}']
    """

    attribute: str

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """Only its own attribute's promise goes on: others may speak of rows that are held."""
        used = self.uses(inputs[0])
        return _contract(inputs, used) if used else ()

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """The linear template, or the end."""
        return [one for one in scheme if one.ends or one == Template({self.attribute: Sign.UP_TO})]


@dataclass(frozen=True, slots=True)
class Complete:
    """An operator that holds the rows of a group until punctuation that speaks of its keys alone says it is complete.

    The first n rows of each group are one.

    >>> [str(one.out) for one in Complete(("k",)).offers([Scheme.of("ts+", "k#")])]
    ['{[[k:#]]}']
    """

    keys: tuple[str, ...]

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """What it lets rows go by goes on: other promises may speak of rows that are held."""
        used = self.uses(inputs[0])
        return _contract(inputs, used) if used else ()

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """Templates that speak of nothing but its keys, the end among them."""
        return [one for one in scheme if one.names <= set(self.keys)]


@dataclass(frozen=True, slots=True)
class Windowing:
    """GCF5: a row is given its window's id, and a bound on the attribute becomes one on the id.

    >>> [str(one.out) for one in Windowing("b", "wid").offers([Scheme.of("b+", "k#")])]
    ['{[[k:#]], [[wid:+]]}']
    """

    attribute: str
    wid: str

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """Promises that do not speak of the attribute go on as they are."""
        out = (one.renamed({self.attribute: self.wid}) for one in inputs[0] if self._passes(one))
        return _contract(inputs, out)

    def _passes(self, template: Template) -> bool:
        return template.signs.get(self.attribute) is not Sign.LITERAL

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """It keeps no row."""
        return []


@dataclass(frozen=True, slots=True)
class Group:
    """GCF6 to GCF9: one answer per group, when punctuation that speaks of group attributes only says it is complete.

    Each group may be punctuated by itself as it leaves; or the promise goes on as it came.

    >>> [str(one) for one in Group(("g",)).offers([Scheme.of("g+")])]
    ['{[[g:+]]} -> {[[g:#]]}', '{[[g:+]]} -> {[[g:+]]}']
    >>> Group(("g",)).offers([Scheme.of("x+")])
    ()
    """

    groups: tuple[str, ...]

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """Two contracts, or one where they are the same."""
        used = self.uses(inputs[0])
        if not used:
            return ()
        each = Template(dict.fromkeys(self.groups, Sign.LITERAL))
        both = (*_contract(inputs, {each} if self.groups else used), *_contract(inputs, used))
        return tuple(dict.fromkeys(both))

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """Templates that speak of nothing but the groups."""
        return [one for one in scheme if one.names <= set(self.groups)]


@dataclass(frozen=True, slots=True)
class WindowAggregate:
    """A window aggregate: WINDOW, then COUNT by window and groups, with the window's own columns for its id.

    >>> form = WindowAggregate("ts", ("window_end",), ("k",))
    >>> [str(one.out) for one in form.offers([Scheme.of("ts+ k#")])]
    ['{[[k:#, window_end:+]]}']
    """

    attribute: str
    columns: tuple[str, ...]
    """The result's columns that progress as the attribute does."""
    groups: tuple[str, ...]
    linear: bool = False
    """Only a bound for the whole stream closes a window: it is made of everybody's rows."""
    forgets: bool = True
    """A closed window can be forgotten; a landmark's totals by group cannot."""

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """A bound on the attribute becomes one on each column of the window."""
        used = self.uses(inputs[0])
        if not used:
            return ()
        out: set[Template] = set()
        for one in used:
            if self.attribute in one.signs:
                out |= {one.renamed({self.attribute: column}) for column in self.columns}
            else:
                out.add(one)
        return _contract(inputs, out)

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """A bound on the attribute, for everybody or for some of the groups; or the end of groups."""
        return [one for one in scheme if one.ends or (self.forgets and self._closes(one))]

    def _closes(self, template: Template) -> bool:
        if self.linear:
            return template == Template({self.attribute: Sign.UP_TO})
        return set(template.up_to) <= {self.attribute} and set(template.literals) <= set(self.groups)


@dataclass(frozen=True, slots=True)
class Numbered:
    """Windows over row numbers: a number is its own punctuation, so that windows close without any promise.

    A partition that falls silent keeps its last rows, so partitions must be promised to end. Nothing is promised of the
    windows in turn: numbers are given as rows come, and a host works progress out from that of the streams alone.

    >>> [str(one.out) for one in Numbered(()).offers([Scheme()])]
    ['{}']
    >>> Numbered(("k",)).offers([Scheme.of("ts+")])
    ()
    """

    partition: tuple[str, ...]

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """Without partitions nothing is needed; with them, that each will end."""
        used = self.uses(inputs[0])
        if not self.partition:
            return _contract(inputs, [END] if inputs[0].ends else [])
        return _contract(inputs, used) if used else ()

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """The end of partitions."""
        return [one for one in scheme if not one.up_to and set(one.literals) <= set(self.partition)]
