"""Distinct: the first row of each combination of some columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from millstream.core.contract import form
from millstream.core.contract.scheme import Scheme
from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import Pattern
from millstream.plan.lacking import likely, said_of
from millstream.plan.lag import Promises
from millstream.plan.nodes.base import Node, Passing, row_by_row
from millstream.plan.nodes.union import Union
from millstream.plan.nodes.walk import sources
from millstream.plan.promise import promises_of
from millstream.plan.refusal import Refusal
from millstream.plan.words import either, listed

if TYPE_CHECKING:
    from millstream.plan.hints import Hints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distinct(Passing):
    """The first row of each combination of `columns`."""

    stateful: ClassVar[bool] = True

    columns: tuple[str, ...]

    def words(self) -> list[str]:
        """Its columns."""
        return [f"distinct on {listed(self.columns)}"]

    def kept(self) -> str:
        """What was seen."""
        return f"each {listed(self.columns)} it has seen"

    def meets_on(self, port: int = 0) -> tuple[str, ...]:
        """Its columns."""
        return self.columns

    def form(self, *, ends: bool = False) -> form.Form:
        """A promise on its columns lets it forget."""
        return form.Remembering(self.columns)

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """Rows leave when they come."""
        return incoming[0]

    def asks(self) -> Iterator[tuple[Node, str, bool]]:
        """Its columns, by value."""
        yield from ((self.input, name, False) for name in self.columns)

    def refuse(self, inputs: Sequence[Scheme], say: Hints) -> Refusal:
        """Nothing is promised of its columns."""
        columns = listed(self.columns)
        fact = (
            f"{self.title()} keeps every {columns} for ever: {said_of(self.input)}, and none of it speaks of {columns}"
        )
        # What the stream promises may have been left out on the way: then the column must come along.
        known = [*inputs[0], *(one for source in sources(self) for one in promises_of(source))]
        linear = next((one.up_to[0] for one in known if len(one.up_to) == 1 and not one.literals), None)
        if linear is not None:
            apart = f"Tell rows apart by {linear} too: {say.distinct((*self.columns, linear))}"
            hint = say.both(self.columns, linear, "union") if say.sql and isinstance(self.input, Union) else apart
        else:
            ordered = next((one for one in self.columns if _is_ordered(self.input, one)), None)
            wanted = ordered or likely(self.input)
            added = "" if ordered else f", and add {wanted} to the columns"
            hint = f"Declare {say.declared(self.input, wanted)}{added}"
        return Refusal(self.title(), columns, fact, either(hint, *say.over(self, self.columns[:1]), say.end))

    def responds(self, ignored: Pattern) -> Response:
        """Only by the columns that tell rows apart: by another one, a later row would pass for the first.

        If rows have other columns, one of which the first has not come would let a later one pass for it. What was
        seen is forgotten only if it is known which rows may have been: these stay ignored when the feedback is
        withdrawn, or they would leave twice.
        """
        if not ignored.attributes.keys() <= set(self.columns):
            return NOTHING
        if self.forgets:
            return self.by_groups(ignored)
        return row_by_row(ignored) if set(self.columns) >= set(self.schema.names) else NOTHING

    @property
    def forgets(self) -> bool:
        """Is it known up to where rows have come, by a column that tells them apart?"""
        return self.by_groups(Pattern()).settles is not None

    def needs(self, needed: set[str]) -> set[str]:
        """What is asked for, and its columns."""
        return needed | set(self.columns)


def _is_ordered(node: Node, column: str) -> bool:
    return any(source.domains.get(name) is not None for source, name in node.origins(column))
