"""The contract form of as-of joins: left rows wait for the right side, and right rows are forgotten by the left.

A left row goes when the right side has passed its time, or its keys are over there. A right row that is not the last of
its keys goes when the left side has passed the next one; the last one only if its distance is bounded, or the left side
says that its keys are over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from millstream.core.contract.contract import Contract, Offering
from millstream.core.contract.form import Union
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Sign, Template

LEFT, RIGHT = 0, 1


@dataclass(frozen=True, slots=True)
class AsOf:
    """An as-of join of two inputs.

    >>> form = AsOf(equal=(("k", "k"),), time=("ts", "ts"), names={"ts": "ts"}, bounded=True)
    >>> [str(one.out) for one in form.offers([Scheme.of("ts+"), Scheme.of("ts+")])]
    ['{[[ts:+]]}']
    >>> AsOf(equal=(("k", "k"),), time=("ts", "ts")).offers([Scheme.of("ts+"), Scheme.of("ts+")])
    ()
    """

    equal: tuple[tuple[str, str], ...]
    time: tuple[str, str]
    bounded: bool = False
    """Is there a greatest distance between the rows of a pair?"""
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    """The result's name of each attribute of the left side."""
    partner: str | None = None
    """The result's name of the right side's time, if that is never null and its distance is bounded."""

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """What both sides promise of the left time and of keys, if each side lets the other's rows go."""
        if not all(self.uses(inputs[side], side) for side in (LEFT, RIGHT)):
            return ()
        own = dict(zip(self._tied(RIGHT), self._tied(LEFT), strict=True))
        across = Scheme(frozenset(one.renamed(own) for one in self.uses(inputs[RIGHT], RIGHT)))
        both = Union().offers([inputs[LEFT], across])[0].out
        out = {one.renamed(self.names) for one in both if one.names <= self.names.keys()}
        if self.partner is not None and Template({self.time[LEFT]: Sign.UP_TO}) in both.templates:
            out.add(Template({self.partner: Sign.UP_TO}))
        return (Contract(tuple(inputs), Scheme(frozenset(out))),)

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """The templates of one side that let the *other* side's rows go."""
        keys = {pair[port] for pair in self.equal}
        # Without a greatest distance the last row of every key stays, however far the left side has come.
        timed = port == RIGHT or self.bounded or not self.equal
        return [
            one
            for one in scheme
            if set(one.literals) <= keys and set(one.up_to) <= {self.time[port]} and (timed or not one.up_to)
        ]

    def _tied(self, side: int) -> list[str]:
        return [self.time[side], *(pair[side] for pair in self.equal)]
