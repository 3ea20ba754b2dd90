"""Project: computed columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa

from millstream.core.contract import form
from millstream.core.expression import Expression
from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise.columns import plain_names, projected
from millstream.plan.nodes.base import Node, Unary, alike, meaning, row_by_row


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Project(Unary):
    """Computed columns."""

    selective: ClassVar[bool] = True

    columns: tuple[tuple[str, Expression], ...]
    schema: pa.Schema
    hidden: bool = False
    """Made for an aggregate's arguments: not worth showing."""
    cut: bool = False
    """Made to leave columns behind where a stream enters: it is the first to see the rows, and stays it."""

    def extremes(self) -> dict[str, tuple[str, tuple[str, ...]]]:
        """The columns that are the greatest or the least of some columns of one type, and which."""
        schema = self.input.schema
        return {
            name: one.extreme
            for name, one in self.columns
            if one.extreme is not None and len({schema.field(part).type for part in one.extreme[1]}) == 1
        }

    def words(self) -> list[str]:
        """Its columns, and what they are."""
        items = (name if name == str(one) else f"{one} as {name}" for name, one in self.columns)
        return ["project " + ", ".join(items)]

    def title(self) -> str:
        """Its columns."""
        return "project " + ", ".join(name for name, _ in self.columns)

    def expressions(self) -> Iterator[Expression]:
        """One a column."""
        yield from (one for _, one in self.columns)

    def form(self, *, ends: bool = False) -> form.Form:
        """A promise goes on with the columns that it speaks of."""
        names = {column: tuple(some) for column, some in plain_names(self.columns).items()}
        return form.Project(names, self.extremes())

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """What is promised of columns that go on, and of the greatest and least of them."""
        return projected(inputs[0], plain_names(self.columns), self.extremes())

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """The column that it is, or those that it is the greatest or the least of."""
        if column in (found := self.extremes()):
            return [(self.input, part) for part in found[column][1]]
        plain = dict(self.columns).get(column)
        return [] if plain is None or plain.plain is None else [(self.input, plain.plain)]

    def progressing(self) -> tuple[str, ...]:
        """The columns that go on, and the greatest and least of some."""
        below = self.input.progressing()
        moving = {
            name
            for name, (which, parts) in self.extremes().items()
            if (any if which == "greatest" else all)(part in below for part in parts)
        }
        return tuple(name for name, one in self.columns if one.plain in below or name in moving)

    def never_null(self, column: str) -> bool:
        """As the column that it is."""
        plain = next(one.plain for name, one in self.columns if name == column)
        return plain is not None and self.input.never_null(plain)

    def responds(self, ignored: Pattern) -> Response:
        """By columns that go on as they are, under the names that they had; never by a computed one."""
        names = [(name, one.plain) for name, one in self.columns if one.plain is not None]
        below = ignored.renamed(alike(names, self.schema, self.input.schema))
        return NOTHING if below is None else row_by_row(below)

    def needs(self, needed: set[str]) -> set[str]:
        """What the columns that are asked for are computed of."""
        return {column for _, one in self._kept(needed) for column in one.columns}

    def narrowed(self, needed: set[str]) -> Node:
        """Without columns that nobody asks for and that cannot fail."""
        kept = self._kept(needed)
        if len(kept) == len(self.columns):
            return self
        return replace(self, columns=kept, schema=pa.schema([self.schema.field(name) for name, _ in kept]))

    def _kept(self, needed: Iterable[str]) -> tuple[tuple[str, Expression], ...]:
        wanted = set(needed)
        kept = tuple((n, one) for n, one in self.columns if n in wanted or not (one.total or one.plain is not None))
        return kept or self.columns[:1]  # rows without any column could not be counted

    def says(self) -> Iterator[Any]:
        """The columns, however they were spelled."""
        yield tuple((name, meaning(one)) for name, one in self.columns)
        yield from (self.schema, self.hidden, self.cut)
