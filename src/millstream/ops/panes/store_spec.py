"""What a store of panes computes, bound to kernels: how rows are reduced, and what is asked of the partials."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from millstream.core.window import Grid, Landmark, Sliding
from millstream.kernels.aggregates.base import Algebra, Holistic
from millstream.kernels.partials import Bound
from millstream.ops.windowing.aggregate_spec import Spec


@dataclass(frozen=True, slots=True)
class StoreAnswer:
    """One aggregate of some reader: the partials that it is made of, and how."""

    place: int | None
    """Among those that the store keeps; None: the number of rows, which is always there."""
    kernel: Algebra | Holistic


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One aggregate that is answered from the store."""

    outlet: int
    windows: tuple[Sliding | Landmark, ...]
    groups: tuple[str, ...]
    answers: tuple[int, ...]
    """Places among the answers that the store gives."""
    predicate: int | None
    part: int
    """The part of the store that keeps its panes."""
    spec: Spec
    """The aggregate as it would be by itself: the columns of its results."""
    since: int | None = None
    """The first tick from which all its rows are in the store; None: from the beginning."""
    what: str = ""
    """What its part keeps, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSpec:
    """Rows in, partials by (group, pane, conditions satisfied)."""

    attribute: str
    groups: tuple[str, ...]
    predicates: tuple[str, ...]
    aggregates: tuple[Bound, ...]
    """What is kept: each kind of partial once."""
    answers: tuple[StoreAnswer, ...]
    row_schema: pa.Schema
    reach: int
    readers: tuple[Reader, ...]

    @property
    def grid(self) -> Grid:
        """The panes that rows are reduced to: all windows of all readers are whole runs of them."""
        return Grid.of([window for one in self.readers for window in one.windows])
