"""Sort: rows in order of an attribute, as far as punctuation reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from millstream.core.contract import form
from millstream.core.contract.scheme import Scheme
from millstream.core.feedback import Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise.columns import of_attribute
from millstream.plan.lacking import unpunctuated
from millstream.plan.nodes.base import Node, Passing, row_by_row
from millstream.plan.refusal import Refusal

if TYPE_CHECKING:
    from millstream.plan.hints import Hints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sort(Passing):
    """Rows in order of an attribute, as far as punctuation reaches."""

    stateful: ClassVar[bool] = True

    attribute: str

    def words(self) -> list[str]:
        """Its attribute."""
        return [f"{self.title()}, as far as punctuation reaches"]

    def title(self) -> str:
        """Its attribute."""
        return f"sort by {self.attribute}"

    def kept(self) -> str:
        """What may still be out of order."""
        return "rows that the bound has not passed"

    def form(self, *, ends: bool = False) -> form.Form:
        """A bound on the attribute lets rows go."""
        return form.Release(self.attribute)

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """Only what is said of the attribute."""
        return of_attribute(inputs[0], self.attribute)

    def asks(self) -> Iterator[tuple[Node, str, bool]]:
        """Its attribute, by order."""
        yield self.input, self.attribute, True

    def refuse(self, inputs: Sequence[Scheme], say: Hints) -> Refusal:
        """No bound comes."""
        return unpunctuated(self, self.input, self.attribute, "never lets a row go", say)

    def responds(self, ignored: Pattern) -> Response:
        """It need not hold them."""
        return row_by_row(ignored)

    def needs(self, needed: set[str]) -> set[str]:
        """What is asked for, and its attribute; but rows that it rejects leave with all their columns."""
        whole = not self.input.never_null(self.attribute)
        return set(self.schema.names) if whole else needed | {self.attribute}
