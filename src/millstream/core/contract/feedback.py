"""Feedback in contracts: which feedback an operator accepts and sends, and when what it keeps of it can go.

`∅` accepts or sends none, `○` accepts any. Feedback that is kept must be covered: some promised punctuation must
speak of everything it speaks of, or its guard would stay for ever.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Sign, Template
from millstream.core.pattern import Between, Equal, Pattern, UpTo

if TYPE_CHECKING:
    from millstream.core.contract.contract import Contract


class Schemeless(Enum):
    """The two answers that need no scheme."""

    NONE = "∅"
    ANY = "○"


Feedback: TypeAlias = Schemeless | Scheme
NONE, ANY = Schemeless.NONE, Schemeless.ANY


def fits(accepted: Feedback, sent: Feedback) -> bool:
    """⪯: may the reader of a stream send this to an operator that accepts that? Not the same both ways.

    >>> fits(ANY, Scheme.of("ts+")), fits(Scheme.of("ts+"), ANY), fits(NONE, NONE)
    (True, False, True)
    """
    if sent is NONE or accepted is ANY:
        return True
    return accepted is not NONE and accepted == sent


def covered(feedback: Template, promised: Template) -> bool:
    """Will punctuation of the promised shape sooner or later subsume any feedback of this shape?

    It must speak of no attribute that the feedback leaves open: finitely many of `[[a:+, b:#]]` never make up
    `[[a:+]]`. One value is passed by a bound, a bound never by one value.

    >>> covered(Template.of("a+"), Template.of("a+", "b#")), covered(Template.of("a#", "b#"), Template.of("a+"))
    (False, True)
    """
    for name, sign in promised.signs.items():
        found = feedback.signs.get(name, Sign.ANY)
        if found is Sign.ANY or (sign is Sign.LITERAL and found is not Sign.LITERAL):
            return False
    return True


def expires(feedback: Pattern, scheme: Scheme) -> bool:
    """Will a guard for this very feedback go? Ranges without an upper end never do.

    >>> from millstream.core.pattern import From
    >>> expires(Pattern({"ts": UpTo(5)}), Scheme.of("ts+")), expires(Pattern({"ts": From(5)}), Scheme.of("ts+"))
    (True, False)
    """
    return any(covered(shape_of(feedback), one) for one in scheme)


def shape_of(feedback: Pattern) -> Template:
    """The shape of some feedback. What is neither a bound nor a value only narrows it: a promise cannot rest on it."""
    signs = {
        name: Sign.UP_TO if isinstance(value, UpTo) else Sign.LITERAL
        for name, value in feedback.attributes.items()
        if isinstance(value, UpTo | Equal | Between)
    }
    return Template(signs)


def well_formed(contract: Contract) -> bool:
    """Is all feedback that the contract accepts, and would have to keep, covered by the punctuation it is promised?"""
    if contract.accepts is NONE:
        return True
    if isinstance(
        contract.accepts, Schemeless
    ):  # any feedback: only one that neither keeps it nor sends it on can say so
        return all(sent is NONE for sent in contract.sends)
    promised = [template for scheme in contract.inputs for template in scheme]
    return all(any(covered(one, template) for template in promised) for one in contract.accepts)
