"""Select: rows that satisfy a condition."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from millstream.core.expression import Expression
from millstream.core.feedback import Response
from millstream.core.pattern import Pattern
from millstream.plan.nodes.base import Passing, meaning, row_by_row


@dataclass(frozen=True, slots=True, kw_only=True)
class Spare:
    """Rows whose `attribute` is null, or so near to either end of time that `reach` more ticks do not fit."""

    attribute: str
    reach: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Select(Passing):
    """Rows that satisfy a condition."""

    condition: Expression
    spare: Spare | None = None
    """Rows that go on whatever the condition says, because an operator above rejects them, with its reason."""

    def words(self) -> list[str]:
        """The condition, and what goes on in spite of it."""
        lines = [f"select where {self.condition}"]
        if self.spare is not None:
            lines.append(f"but rows whose {self.spare.attribute} cannot be used go on, to be rejected above")
        return lines

    def expressions(self) -> Iterator[Expression]:
        """The condition."""
        yield self.condition

    def responds(self, ignored: Pattern) -> Response:
        """As if its condition said so too."""
        return row_by_row(ignored)

    def needs(self, needed: set[str]) -> set[str]:
        """What is asked for, and what the condition reads."""
        spared = () if self.spare is None else (self.spare.attribute,)
        return needed | {*self.condition.columns, *spared}

    def says(self) -> Iterator[Any]:
        """The condition, however it was spelled."""
        yield from (meaning(self.condition), self.spare)
