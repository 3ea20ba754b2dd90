"""Top: the first rows of each window or group, in order of some columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from millstream.core.contract import form
from millstream.core.contract.scheme import Scheme
from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise.columns import of_columns
from millstream.plan.lacking import said_of, unpunctuated
from millstream.plan.nodes.base import Node, Unary
from millstream.plan.refusal import Refusal
from millstream.plan.words import either, listed

if TYPE_CHECKING:
    from millstream.plan.hints import Hints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Top(Unary):
    """The first `limit` rows of each window or group, in order of some columns."""

    stateful: ClassVar[bool] = True

    keys: tuple[str, ...]
    """The columns that tell windows or groups apart, a window's end last."""
    order: tuple[tuple[str, bool], ...]
    """Columns, and whether descending."""
    limit: int | None
    """None for all rows, which then are only numbered."""
    number: str | None = None
    """The column that has the place of a row in its group, from 1; None for no such column."""
    windows: bool = False
    """Are the groups the windows of an aggregate?"""

    @property
    def schema(self) -> pa.Schema:
        """That of the input, and the number."""
        return self.input.schema if self.number is None else self.input.schema.append(pa.field(self.number, pa.int64()))

    def words(self) -> list[str]:
        """Which rows, and in which order."""
        order = ", ".join(f"{name} descending" if down else name for name, down in self.order)
        number = "" if self.number is None else f", numbered as {self.number}"
        return [f"{self.title()} by {order or 'all columns'}{number}"]

    def title(self) -> str:
        """Which rows it lets go on."""
        return f"{'all rows' if self.limit is None else f'top {self.limit}'} of each {self._groups()}"

    def kept(self) -> str:
        """The best so far."""
        rows = "the rows" if self.limit is None else f"at most {self.limit} rows"
        return f"{rows} of each open {self._groups()}"

    def meets_on(self, port: int = 0) -> tuple[str, ...]:
        """Its keys."""
        return self.keys

    def form(self, *, ends: bool = False) -> form.Form:
        """A promise on nothing but its keys completes a group."""
        return form.Complete(self.keys)

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """Only what is said of its keys."""
        return of_columns(inputs[0], self.keys)

    def never_null(self, column: str) -> bool:
        """As in the input."""
        return self.input.never_null(column)

    def responds(self, ignored: Pattern) -> Response:
        """By its keys alone, whole groups at a time: without a row of its group, another would be among the first."""
        return self.by_groups(ignored) if ignored.attributes.keys() <= set(self.keys) else NOTHING

    def asks(self) -> Iterator[tuple[Node, str, bool]]:
        """The last of its keys, by order if it is a window's."""
        yield from ((self.input, name, self.windows) for name in self.keys[-1:])

    def refuse(self, inputs: Sequence[Scheme], say: Hints) -> Refusal:
        """No group is known to be complete."""
        if self.windows:
            return unpunctuated(self, self.input, self.keys[-1], "never knows a window complete", say)
        keys = listed(self.keys)
        fact = f"{self.title()} keeps every {keys} for ever: {said_of(self.input)}, and none of it speaks of {keys}"
        linear = next((one.up_to[0] for one in inputs[0] if len(one.up_to) == 1 and not one.literals), None)
        ways = [*say.over(self, self.keys), say.end]
        if linear is not None:
            ways.insert(0, f"partition by {say.name(linear)} too, or by the window_end of an aggregate")
        return Refusal(self.title(), keys, fact, either(*ways))

    def says(self) -> Iterator[Any]:
        """All that decides which rows leave."""
        yield from (self.keys, self.order, self.limit, self.number)

    def _groups(self) -> str:
        return "window" if self.windows else listed(self.keys)
