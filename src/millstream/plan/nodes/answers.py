"""Answers: the results of one window aggregate that is computed from a store of panes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from millstream.core.contract import form
from millstream.core.contract.scheme import Scheme
from millstream.core.domain import Domain
from millstream.core.feedback import Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.plan.cost import Choice
from millstream.plan.feedback import behind_windows
from millstream.plan.horizon import Lag
from millstream.plan.lag import Promises
from millstream.plan.nodes.aggregate import Aggregate
from millstream.plan.nodes.base import Node, Unary
from millstream.plan.nodes.panes import Panes, Reading
from millstream.plan.nodes.select import Select
from millstream.plan.nodes.source import Source

Outlet = int
"""The place of a reading among those of a store."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answers(Unary):
    """What an aggregate would give, with its state in the store that it reads. All that it says, the aggregate says."""

    makes_rows: ClassVar[bool] = True

    of: Aggregate
    outlet: Outlet

    @property
    def schema(self) -> pa.Schema:
        """That of the aggregate."""
        return self.of.schema

    @property
    def shared(self) -> bool:
        """Do others read the store, too?"""
        assert isinstance(self.input, Panes)
        return len(self.input.readings) > 1

    def _reading(self) -> Reading:
        assert isinstance(self.input, Panes)
        return self.input.readings[self.outlet]

    def reads_outlet(self) -> int:
        """Its own."""
        return self.outlet

    def words(self) -> list[str]:
        """The aggregate's, and the conditions that the store has seen to."""
        if not self.shared:
            return self.of.words()
        found = [one.condition for one in _below(self.of) if isinstance(one, Select)]
        head, *more = self.of.words()
        return [head, *more, *(f"of rows where {one}" for one in found)]

    def title(self) -> str:
        """The aggregate's."""
        return self.of.title()

    def asked(self) -> list[str]:
        """The aggregate's."""
        return self.of.asked()

    def evaluated(self, choice: Choice | None) -> Iterator[str]:
        """From panes."""
        if not self.shared:
            yield from self.of.evaluated(choice)
            return
        yield "answered from shared panes"
        if (since := self._reading().since) is not None:
            yield f"complete for windows that begin at {self.of.domain.show(since)} or later"

    def form(self, *, ends: bool = False) -> form.Form:
        """The aggregate's."""
        return self.of.form(ends=ends)

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """The aggregate's."""
        return self.of.outgoing(incoming, out, ends=ends)

    def held_back(self, column: str) -> Lag:
        """The aggregate's."""
        return self.of.held_back(column)

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """The aggregate's."""
        return self.of.promised(inputs)

    def responds(self, ignored: Pattern) -> Response:
        """As the aggregate, of the rows that reach the store; the store leaves out what all its readers ignore."""
        assert isinstance(self.input, Panes)
        places = zip(self.of.aggregates, self._reading().aggregates, strict=True)
        found = {one.name: self.input.aggregates[place].arguments for one, place in places}
        return behind_windows.responds(self.of, ignored, self.input, behind_windows.argument_of(found))

    def dooms(self, ignored: Pattern) -> bool:
        """As the aggregate."""
        return self.of.dooms(ignored)

    def ahead(self, column: str, high: Callable[[Source], int]) -> int | None:
        """The aggregate's."""
        return self.of.ahead_of(self.input, column, high)

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """As in the aggregate, from the rows that reach the store."""
        return [(self.input, name) for _, name in self.of.copied(column)]

    def progressing(self) -> tuple[str, ...]:
        """The columns of a window."""
        return self.of.progressing()

    def domain_at(self, column: str) -> Domain | None:
        """The aggregate's."""
        return self.of.domain_at(column)

    def says(self) -> Iterator[Any]:
        """Which reading of the store it is."""
        yield self.outlet


def _below(node: Node) -> Iterator[Node]:
    """The nodes that lead straight to it, nearest first."""
    while len(node.reads()) == 1:
        (node,) = node.reads()
        yield node
