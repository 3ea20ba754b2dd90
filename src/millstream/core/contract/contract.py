"""A contract: if the inputs obey these schemes, the output obeys that one, state never stays, and answers come.

G1: the output obeys `out`. G2: no row, and no feedback, is kept for ever. G3: every right answer leaves in time.
An operator's *offering* is the contracts that it can keep.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from millstream.core.contract.feedback import NONE, Feedback, fits
from millstream.core.contract.scheme import Scheme


@dataclass(frozen=True, slots=True)
class Contract:
    """One scheme an input, and that of the output; with feedback, what is accepted and what is sent to each input.

    >>> str(Contract((Scheme.of("a+"),), Scheme.of("a+")))
    '{[[a:+]]} -> {[[a:+]]}'
    """

    inputs: tuple[Scheme, ...]
    out: Scheme
    accepts: Feedback = NONE
    sends: tuple[Feedback, ...] = ()

    def __post_init__(self) -> None:
        """Without a word about feedback none is sent."""
        if not self.sends:
            object.__setattr__(self, "sends", (NONE,) * len(self.inputs))

    def __str__(self) -> str:
        """The schemes."""
        return f"{', '.join(map(str, self.inputs)) or '·'} -> {self.out}"


Offering: TypeAlias = tuple[Contract, ...]


def agree(reader: Contract, port: int, read: Contract) -> bool:
    """Do the contracts at both ends of an edge say the same?"""
    return read.out == reader.inputs[port] and fits(read.accepts, reader.sends[port])
