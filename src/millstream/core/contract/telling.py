"""The form of an operator that tells its input what it ignores: only where what is told is sure to be over some day.

Guards for feedback that no promised punctuation covers would stay for ever (`contract.feedback`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.core.contract.contract import Offering
from millstream.core.contract.feedback import covered
from millstream.core.contract.form import Form
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Template


@dataclass(frozen=True, slots=True)
class Telling:
    """Another form, of which only those contracts are offered under which feedback of some shapes is covered.

    >>> from millstream.core.contract.form import Select
    >>> form = Telling(Select(), (Template.of("a+"),))
    >>> len(form.offers([Scheme.of("a+")])), len(form.offers([Scheme.of("b+")]))
    (1, 0)
    >>> len(form.offers([Scheme((Template.of("a+", "b#"),))]))
    0
    """

    of: Form
    told: tuple[Template, ...]

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """Those of the other form, if all that is told is covered."""
        return self.of.offers(inputs) if all(self.covers(one) for one in inputs) else ()

    def covers(self, scheme: Scheme) -> bool:
        """Does some punctuation pass each shape?"""
        return all(any(covered(one, template) for template in scheme) for one in self.told)

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """What passes what is told."""
        return [template for template in scheme if any(covered(one, template) for one in self.told)]
