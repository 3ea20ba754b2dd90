"""Compute: columns that a function of the user makes, so many rows an epoch, the others wait."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa

from millstream.core.contract import form
from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise.columns import of_attribute
from millstream.plan.nodes.base import HoldsBack, Node, Unary, row_by_row

ANY_REACH = 2**61
"""Ticks beyond every distance: how long rows wait, nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Compute(Unary):
    """Rows with columns that a function makes of them, at a cost.

    With a budget, rows wait for their turn, and punctuation waits behind them. Waiting rows that nobody reads any more
    are dropped before anything is spent on them.
    """

    stateful: ClassVar[bool] = True
    makes_rows: ClassVar[bool] = True

    function: Callable[[pa.Table], Any]
    made: tuple[str, ...]
    """The columns that it makes, or makes anew."""
    attribute: str
    """By which its input progresses."""
    rows: int
    """How many rows an epoch may compute."""
    schema: pa.Schema

    def holds_back(self) -> HoldsBack:
        """Rows wait; nobody knows how long."""
        return HoldsBack(self.attribute, ANY_REACH, lazy=False)

    def words(self) -> list[str]:
        """What it makes, and how many rows at a time."""
        return [f"{self.title()}, {self.rows} rows an epoch"]

    def title(self) -> str:
        """What it makes."""
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"compute {', '.join(self.made)} by {name}"

    def kept(self) -> str:
        """Its backlog."""
        return "rows that wait to be computed"

    def form(self, *, ends: bool = False) -> form.Form:
        """A bound on the attribute goes on, behind the rows that wait."""
        return form.Release(self.attribute)

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """Only what is said of the attribute."""
        return of_attribute(inputs[0], self.attribute)

    def responds(self, ignored: Pattern) -> Response:
        """By columns that it does not make: each row is computed by itself."""
        return NOTHING if ignored.attributes.keys() & set(self.made) else row_by_row(ignored)

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """The column of the input, unless it makes it."""
        return [] if column in self.made else [(self.input, column)]

    def progressing(self) -> tuple[str, ...]:
        """Its attribute."""
        return (self.attribute,)

    def never_null(self, column: str) -> bool:
        """As in the input, unless it makes it."""
        return column not in self.made and self.input.never_null(column)

    def says(self) -> Iterator[Any]:
        """All that decides what leaves, and when."""
        yield from (self.function, self.made, self.attribute, self.rows, self.schema)
