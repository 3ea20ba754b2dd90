"""The contract form of joins: a row of one side goes when the other side promises that no partner will come.

GCF3 (`+` on the join attributes), GCF4 (`#`) and the band and tumbling joins are the cases of one rule: a template of
one side helps if every attribute it speaks of is tied to an attribute of the other side. Punctuation on attributes
that are not tied (CT12) says nothing about partners, and no contract is offered for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

from millstream.core.contract.contract import Contract, Offering
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Sign, Template

LEFT, RIGHT = 0, 1


@dataclass(frozen=True, slots=True)
class Join:
    """A join of two inputs.

    >>> form = Join(equal=(("b", "b"),), names=({"a": "a", "b": "b"}, {"b": "b", "c": "c"}))
    >>> [str(one) for one in form.offers([Scheme.of("b+"), Scheme.of("b+")])]
    ['{[[b:+]]}, {[[b:+]]} -> {[[b:+]]}']
    >>> form.offers([Scheme.of("a#"), Scheme.of("c#")])  # CT12
    ()
    """

    equal: tuple[tuple[str, str], ...] = ()
    """Pairs of attributes, left and right, that must be equal."""
    near: tuple[str, str] | None = None
    """The attributes, left and right, whose distance is bounded, or that must be in one tumbling window."""
    bounded: tuple[bool, bool] = (True, True)
    """Has a left row a last partner in order of `near`; has a right row one?"""
    names: tuple[Mapping[str, str], Mapping[str, str]] = field(
        default_factory=lambda: (dict[str, str](), dict[str, str]())
    )
    """For each side, the output's name of each attribute that leaves."""

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """One contract: all promises that follow from some template of the left and some of the right."""
        pairs = list(product(self.uses(inputs[LEFT], LEFT), self.uses(inputs[RIGHT], RIGHT)))
        if not pairs:
            return ()
        out = frozenset(template for left, right in pairs for template in self._promises(left, right))
        return (Contract(tuple(inputs), Scheme(out)),)

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """The templates of one side that let the *other* side's rows go."""
        return [one for one in scheme if all(self._tied(name, sign, port) for name, sign in one.signs.items())]

    def _tied(self, name: str, sign: Sign, side: int) -> bool:
        if any(pair[side] == name for pair in self.equal):
            return True
        # Progress of the left side lets go the rows of the right whose last partner it has passed.
        reached = self.near is not None and self.near[side] == name and self.bounded[1 - side]
        return reached and sign is Sign.UP_TO

    def _promises(self, left: Template, right: Template) -> list[Template]:
        """What both together say of the output."""
        if left.ends or right.ends:
            return [left] if left == right else []
        if self._across(left) == right:
            # The same said of equal attributes: it holds under either name.
            return [one for one in (self._out(left, LEFT), self._out(right, RIGHT)) if one is not None]
        own, other = self._out(left, LEFT), self._out(right, RIGHT)
        if self.near == tuple(self._bound(one) for one in (left, right)):
            return [one for one in (own, other) if one is not None]
        return [] if own is None or other is None else [own.with_signs(other.signs)]

    @staticmethod
    def _bound(template: Template) -> str | None:
        """The attribute, if it is a bound on one and nothing else."""
        return template.up_to[0] if len(template.signs) == len(template.up_to) == 1 else None

    def _across(self, left: Template) -> Template | None:
        """The template of the right side that says the same through equal attributes."""
        there = dict(self.equal)
        return left.renamed(there) if left.names <= there.keys() else None

    def _out(self, template: Template, side: int) -> Template | None:
        names = self.names[side]
        return template.renamed(names) if template.names <= names.keys() else None
