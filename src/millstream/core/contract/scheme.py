"""Schemes: the shapes of punctuation that a stream promises, and whether a stretch of it has kept its word.

A stream obeys a scheme if (C1) each of its punctuations has the shape of some template, and (C2) for each row and
each template some punctuation of that shape speaks of the row: sooner or later everything is covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from millstream.core.contract.template import END, Template
from millstream.core.punctuation import Punctuation

Row: TypeAlias = Mapping[str, Any]
Element: TypeAlias = Row | Punctuation


@dataclass(frozen=True, slots=True)
class Scheme:
    """A set of templates. Without any, nothing is promised.

    >>> str(Scheme.of("ts+")), str(Scheme())
    ('{[[ts:+]]}', '{}')
    """

    templates: frozenset[Template] = frozenset()

    @classmethod
    def of(cls, *templates: Template | str) -> Scheme:
        """From templates; a text is one with a single attribute, or several with spaces: `of("ts+ k#", "k#")`."""
        return cls(frozenset(Template.of(*one.split()) if isinstance(one, str) else one for one in templates))

    def __iter__(self) -> Iterator[Template]:
        """The simplest first, so that whoever takes the first takes the simplest."""
        return iter(sorted(self.templates, key=lambda one: (len(one.signs), str(one))))

    def __len__(self) -> int:
        """How many templates."""
        return len(self.templates)

    @property
    def ends(self) -> bool:
        """Is the end of the stream promised?"""
        return END in self.templates

    def __str__(self) -> str:
        """As the theory writes it."""
        return "{" + ", ".join(map(str, self)) + "}"


@dataclass(frozen=True, slots=True)
class Breach:
    """What a stream did against its scheme: a punctuation of no promised shape, or a row never covered."""

    clause: str
    element: Element
    template: Template | None = None

    def __str__(self) -> str:
        """The fact."""
        if isinstance(self.element, Punctuation):
            return f"{self.clause}: punctuation `{self.element}` has none of the promised shapes"
        return f"{self.clause}: no punctuation of shape {self.template} speaks of {dict(self.element)}"


def breaches(stream: Iterable[Element], scheme: Scheme) -> list[Breach]:
    """Everything that a stretch of a stream did against its scheme; none means that it obeys.

    >>> seen = [{"a": 1, "b": 3}, Punctuation.linear("a", 5)]
    >>> [str(one) for one in breaches(seen, Scheme.of("a+", "b#"))]
    ["C2: no punctuation of shape [[b:#]] speaks of {'a': 1, 'b': 3}"]
    """
    elements = list(stream)
    given = [one for one in elements if isinstance(one, Punctuation)]
    rows = [one for one in elements if not isinstance(one, Punctuation)]
    out = [Breach("C1", one) for one in given if not any(t.conforms(one.pattern) for t in scheme)]
    for template in scheme:
        shaped = [one for one in given if template.conforms(one.pattern)]
        out += [Breach("C2", row, template) for row in rows if not any(one.rules_out(row) for one in shaped)]
    return out


def obeys(stream: Iterable[Element], scheme: Scheme) -> bool:
    """Has the stretch kept its word, C1 and C2?"""
    return not breaches(stream, scheme)


def ungrammatical(stream: Sequence[Element]) -> list[int]:
    """The positions of rows that a punctuation before them ruled out; none means that the stream is grammatical.

    >>> ungrammatical([{"a": 1}, Punctuation.linear("a", 2), {"a": 2}, {"a": 1}])
    [3]
    """
    promised: list[Punctuation] = []
    out: list[int] = []
    for i, one in enumerate(stream):
        if isinstance(one, Punctuation):
            promised.append(one)
        elif any(p.rules_out(one) for p in promised):
            out.append(i)
    return out
