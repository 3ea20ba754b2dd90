"""Enrich: rows of a stream with the rows of a table that have their keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pyarrow as pa

from millstream.core.contract import form
from millstream.core.expression import Expression
from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress
from millstream.core.promise.columns import renamed
from millstream.plan.nodes.base import Node, Table, Unary, alike, meaning, row_by_row
from millstream.plan.nodes.pair import JoinColumn
from millstream.plan.words import KEPT, all_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Enrich(Unary):
    """Rows of a stream with the rows of a table that have their keys."""

    makes_rows: ClassVar[bool] = True

    table: Table
    how: str
    """inner, or left: then rows without a partner leave too."""
    keys: tuple[tuple[str, str], ...]
    """Columns that must be equal, of the stream and of the table."""
    condition: Expression | None
    """What else must hold, over the columns of a pair."""
    columns: tuple[JoinColumn, ...]
    """The columns of a pair; side 1 is the table. Those that leave are the ones that `schema` has."""
    schema: pa.Schema

    def tables(self) -> tuple[Table, ...]:
        """The one."""
        return (self.table,)

    def words(self) -> list[str]:
        """The table, and what must hold of a pair."""
        keys = all_of(self.keys, self.condition)
        return [f"{KEPT[self.how]}enrich from table {self.table.name} on {keys or 'every row of it'}"]

    def expressions(self) -> Iterator[Expression]:
        """The condition."""
        if self.condition is not None:
            yield self.condition

    def form(self, *, ends: bool = False) -> form.Form:
        """A promise goes on with the columns that it speaks of."""
        return form.Project({column: (name,) for column, name in self._leaving().items()})

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """What is promised of the stream's columns, under their names here."""
        return renamed(inputs[0], self._leaving())

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """The stream's column, if it is one."""
        return [(self.input, one.column) for one in self.columns if one.name == column and not one.side]

    def progressing(self) -> tuple[str, ...]:
        """What progresses in the stream, and leaves."""
        below, leaving = self.input.progressing(), self.schema.names
        return tuple(one.name for one in self.columns if not one.side and one.column in below and one.name in leaving)

    def never_null(self, column: str) -> bool:
        """As in the stream."""
        own = next((one.column for one in self.columns if one.name == column and not one.side), None)
        return own is not None and self.input.never_null(own)

    def responds(self, ignored: Pattern) -> Response:
        """By the stream's columns: each row is looked up by itself. What the table has cannot be asked before."""
        names = [(one.name, one.column) for one in self.columns if not one.side]
        below = ignored.renamed(alike(names, self.schema, self.input.schema))
        return NOTHING if below is None else row_by_row(below)

    def needs(self, needed: set[str]) -> set[str]:
        """Of the stream: what is asked for, what the condition reads, and the keys."""
        return {one.column for one in self._paired(needed) if not one.side} | {left for left, _ in self.keys}

    def narrowed(self, needed: set[str]) -> Node:
        """Without columns that nobody asks for."""
        kept = self._paired(needed)
        if len(kept) == len(self.columns):
            return self
        names = needed & {one.name for one in kept} or {kept[0].name}
        return replace(self, columns=kept, schema=pa.schema([field for field in self.schema if field.name in names]))

    def says(self) -> Iterator[Any]:
        """The table by its name, and the condition however it was spelled."""
        yield from (self.table.name, self.how, self.keys, self.columns, self.schema, meaning(self.condition))

    def _paired(self, needed: set[str]) -> tuple[JoinColumn, ...]:
        """The columns of a pair that somebody asks for, or its condition."""
        read = () if self.condition is None else self.condition.columns
        kept = tuple(one for one in self.columns if one.name in needed or one.name in read)
        return kept or self.columns[:1]

    def _leaving(self) -> dict[str, str]:
        """By column of the stream that leaves: its name here."""
        return {one.column: one.name for one in self.columns if not one.side and one.name in self.schema.names}
