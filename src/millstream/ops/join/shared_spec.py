"""What a shared join computes: its rows, the conditions that they may satisfy, and what each reading asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.core.expression import Expression
from millstream.ops.join.join_spec import JoinSpec, Partners
from millstream.ops.join.leaving import Leaving


@dataclass(frozen=True, kw_only=True)
class JoinReader:
    """One join that is answered from the store; its `spec` speaks of the store's columns."""

    outlet: int
    number: int
    spec: JoinSpec
    predicates: tuple[int | None, int | None]
    views: tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]
    since: int | None = None
    """Results whose latest row has this coordinate or a later one leave; None: all."""

    def says_of(self, at: np.ndarray) -> np.ndarray:
        """Which rows it may let leave by themselves, by their coordinates."""
        return np.ones(len(at), dtype=np.bool_) if self.since is None else at >= self.since

    @cached_property
    def leaving(self) -> Leaving:
        """What leaves it."""
        return Leaving(self.spec)

    @cached_property
    def sources(self) -> tuple[tuple[int, str], ...]:
        """Of each column that leaves: its side, and its name there."""
        by = {name: (side, column) for name, side, column in self.spec.columns}
        return tuple(by[name] for name in self.spec.schema.names)

    @cached_property
    def columns(self) -> tuple[tuple[int, str, str], ...]:
        """The same, with the names under which they leave."""
        names = self.spec.schema.names
        return tuple((side, column, name) for (side, column), name in zip(self.sources, names, strict=True))

    @cached_property
    def marks(self) -> bool:
        """Must it know which rows have had a partner?"""
        return self.spec.preserved(0) or self.spec.preserved(1)

    def settles(self, side: int) -> bool:
        """Is a row of a side done with as soon as it has a partner?"""
        return not side and not self.spec.pairs_leave

    def time(self, side: int) -> str:
        """What its query calls the attribute of a side."""
        assert self.spec.near is not None
        return next(own for own, stored in self.views[side] if stored == self.spec.near.names[side])

    def own_rows(self, side: int, rows: pa.Table) -> pa.Table:
        """Rows of the store as its query knows them."""
        return rows.select([stored for _, stored in self.views[side]]).rename_columns(
            [own for own, _ in self.views[side]]
        )


@dataclass(slots=True)
class PairGroup:
    """Readings of the same pairs, but for the distance: the same conditions on rows and on pairs."""

    predicates: tuple[int | None, int | None]
    condition: Expression | None
    since: int | None
    """Of all of them: pairs that lie before it as a whole are none of theirs."""
    first: int
    last: int
    """The cells that some reading of it covers."""
    members: list[tuple[JoinReader, int, int]] = field(default_factory=list["tuple[JoinReader, int, int]"])
    """With the cells of each."""

    def sources(self) -> list[tuple[int, str]]:
        """The columns that leave some of them, each once."""
        found = (one for reading, _, _ in self.members if reading.spec.pairs_leave for one in reading.sources)
        return list(dict.fromkeys(found))


@dataclass(frozen=True, kw_only=True)
class SharedSpec(Partners):
    """Rows of two sides, and who reads them."""

    nulls_equal: bool
    schemas: tuple[pa.Schema, pa.Schema]
    """What is kept of a row of each side, but for its bitmap."""
    predicates: tuple[tuple[str, ...], tuple[str, ...]]
    readings: tuple[JoinReader, ...]
    conditions: tuple[Mapping[str, Expression], Mapping[str, Expression]] = ({}, {})
    """By side and name: the conditions themselves, for rows that came before somebody asked."""

    ends: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    """By side: where slices end. A row stays to the end of the slice in which the last partner asked for lies."""
    pulled_up: bool = False
    """Does every row stay as long as any?"""

    def longer(self, side: int, reading: JoinReader) -> int:
        """How much longer a row of a side stays than a reading asks."""
        last = None if reading.spec.near is None else reading.spec.near.reach_of(side).high
        if last is None:
            return 0
        return next((end for end in self.ends[side] if end >= last), last) - last

    @cached_property
    def numbers(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """By side: whose marks rows have."""
        left, right = (tuple(one.number for one in some) for some in self.marked)
        return left, right

    @cached_property
    def marked(self) -> tuple[tuple[JoinReader, ...], tuple[JoinReader, ...]]:
        """By side: the readings that must know which rows have had a partner."""
        left, right = (tuple(one for one in self.readings if one.spec.preserved(side)) for side in (0, 1))
        return left, right

    @cached_property
    def waiting(self) -> tuple[tuple[JoinReader, ...], tuple[JoinReader, ...]]:
        """By side: readings such that a row is to be kept if one of these waits for its partners.

        Of those with one condition, the one that reaches furthest stands for all.
        """
        return self._waiting(0), self._waiting(1)

    def _waiting(self, side: int) -> tuple[JoinReader, ...]:
        out: list[JoinReader] = []
        best: dict[int | None, tuple[float, JoinReader]] = {}
        for one in self.readings:
            if one.settles(side):
                out.append(one)
                continue
            last = None if one.spec.near is None else one.spec.near.reach_of(side).high
            far = float("inf") if last is None else last
            if one.predicates[side] not in best or far > best[one.predicates[side]][0]:
                best[one.predicates[side]] = far, one
        return (*out, *(one for _, one in best.values()))
