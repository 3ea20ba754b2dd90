"""What a join computes, bound to the schemas of its sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.core.expression import Expression
from millstream.core.promise.join import RIGHT, JoinShape, leaving, preserved
from millstream.core.promise.near import Near
from millstream.kernels.key_hash import key_hash
from millstream.kernels.ticks import to_ticks
from millstream.state.slices import Slices


@dataclass(frozen=True, slots=True)
class Layout:
    """By what the rows of each side are sorted: the hash of their keys, and their coordinate in time."""

    keys: tuple[tuple[str, str], ...]
    near: Near | None

    def hashes(self, side: int, rows: pa.Table) -> np.ndarray:
        """The hashes of rows' keys."""
        return key_hash([rows[pair[side]] for pair in self.keys], rows.num_rows)

    def at(self, side: int, rows: pa.Table) -> np.ndarray:
        """The coordinates of rows, which have one."""
        if self.near is None or not rows.num_rows:
            return np.zeros(len(rows), dtype=np.int64)
        at: np.ndarray = self.near.coordinates(to_ticks(rows[self.near.names[side]]))
        return at

    def dear(self, side: int, rows: pa.Table) -> bool:
        """Is it worth four bytes a row to keep the hashes? Those of numbers are made in no time."""
        kinds = (rows.schema.field(pair[side]).type for pair in self.keys)
        return any(not (pa.types.is_primitive(kind) or pa.types.is_boolean(kind)) for kind in kinds)


@dataclass(frozen=True, kw_only=True)
class Partners:
    """Which rows can be partners: by equal keys, and near each other. It says how rows are sorted, and where cut."""

    keys: tuple[tuple[str, str], ...]
    near: Near | None
    """Of several joins, the widest reach."""

    def key_columns(self, side: int) -> list[str]:
        """The columns of a side that must be equal to the other's."""
        return [pair[side] for pair in self.keys]

    @cached_property
    def layout(self) -> Layout:
        """By what rows are sorted."""
        return Layout(self.keys, self.near)

    @cached_property
    def slices(self) -> Slices:
        """Where its state is cut."""
        reach = None if self.near is None else self.near.reach
        if reach is None or reach.low is None or reach.high is None:
            return Slices.across(None)
        return Slices.across(reach.high - reach.low)


@dataclass(frozen=True, kw_only=True)
class JoinSpec(Partners):
    """Which rows are partners, and what leaves."""

    how: str
    condition: Expression | None
    columns: tuple[tuple[str, int, str], ...]
    """Of a pair: the name, the side, and the name there."""
    schemas: tuple[pa.Schema, pa.Schema]
    schema: pa.Schema
    nulls_equal: bool = False
    thrifty: bool = False
    """Does it tell a side what finds no partner?"""
    impatient: bool = False
    """Does it tell a side what has partners that wait?"""

    @property
    def pairs_leave(self) -> bool:
        """Do pairs leave, and not rows of one side only?"""
        return self.how not in ("semi", "anti")

    def preserved(self, side: int) -> bool:
        """Must it be known which of a side's rows have had a partner?"""
        return preserved(self.how, side)

    def names(self, side: int) -> Mapping[str, str]:
        """For each column of a side, its name in what leaves, if it is never null for want of a partner."""
        return self.shape.names(side)

    @cached_property
    def shape(self) -> JoinShape:
        """As much of it as its promise depends on."""
        return JoinShape(self.keys, self.near, leaving(self.how, self.columns, self.schema.names))

    @cached_property
    def shared(self) -> dict[str, str]:
        """Left key columns that stand for the right ones too: where the left row is missing, the right one has them."""
        there = {column for _, side, column in self.columns if side == RIGHT}
        return {left: right for left, right in self.keys if right not in there}
