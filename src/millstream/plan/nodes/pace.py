"""Pace: all rows of several inputs but those that have fallen too far behind the newest one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import pyarrow as pa

from millstream.core.contract import form
from millstream.core.contract.scheme import Scheme
from millstream.core.domain import Domain
from millstream.plan.horizon import Horizon, Part, show_length
from millstream.plan.lag import SKEW, Promises, implied, longest
from millstream.plan.nodes.base import Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pace(Node):
    """Rows of all inputs, as far as they are within a distance of the greatest value that has come.

    It ignores whatever is older, and says so to its inputs. It relays no feedback: without a row that its reader
    ignores, the greatest value could be another, and rows would leave that it has to drop.
    """

    stateful: ClassVar[bool] = True

    inputs: tuple[Node, ...]
    schema: pa.Schema
    attribute: str
    domain: Domain
    within: int
    """In ticks."""
    headroom: int = 0
    """In ticks: how much more the inputs are told, so that what they still work on is not too late when it is done."""

    def reads(self) -> tuple[Node, ...]:
        """Its inputs."""
        return self.inputs

    def over(self, below: tuple[Node, ...]) -> Node:
        """The same over others."""
        return replace(self, inputs=below)

    def words(self) -> list[str]:
        """How far behind rows may be."""
        more = f", headroom {show_length(self.headroom, self.domain)}" if self.headroom else ""
        length = show_length(self.within, self.domain)
        return [f"{self.title()}: rows within {length} of the greatest {self.attribute}{more}"]

    def title(self) -> str:
        """How many inputs there are."""
        return f"pace of {len(self.inputs)} inputs"

    def kept(self) -> str:
        """One value."""
        return f"the greatest {self.attribute}"

    def form(self, *, ends: bool = False) -> form.Form:
        """What every input promises."""
        return form.Union()

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """The longest lag, and how far the inputs are apart."""
        return {one: (*longest([implied(one, promises) for promises in incoming]), SKEW) for one in out}

    def horizon(self, incoming: Sequence[Promises]) -> Horizon:
        """One value, however many rows come."""
        return Horizon(parts=(Part("one value", rows=1),))

    def never_null(self, column: str) -> bool:
        """As in every input."""
        return all(one.never_null(column) for one in self.inputs)
