"""Undecided: looks at the first rows before a strategy is chosen, makes way for it, and looks again as rows come."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa

from millstream.core.errors import PlanError
from millstream.core.progress import Progress
from millstream.core.window import Sliding, common_pane
from millstream.kernels.group import cells, encode
from millstream.kernels.ticks import to_ticks
from millstream.ops.operator import Operator
from millstream.ops.windowing.aggregate_spec import Spec

_ENOUGH = 10_000
"""So many rows show what all are like, and take little time to look at."""
Look = tuple[int, int, int, int]
"""Rows, panes, cells and groups of some rows."""
Build = Callable[[Look], Operator]
"""From what the first rows show to the operator that suits them."""
Rebuild = Callable[[Operator, Look], Operator]
"""From the operator there is, and what later rows show, to the one that goes on."""


class Undecided(Operator):
    """Holds the place, and the progress, of the operator that `decide` will make."""

    def __init__(self, spec: Spec, windows: tuple[Sliding, ...], build: Build, rebuild: Rebuild) -> None:
        """`build` makes the operator from what the first rows show, `rebuild` another if later ones show otherwise."""
        super().__init__()
        self.spec = spec
        self.windows = windows
        self.build = build
        self.rebuild = rebuild
        self._epochs = 0

    def due(self) -> bool:
        """Is it time to look again? In the epochs 2, 4, 8, …: what the rows are like changes slowly, and looking costs.

        >>> once = Undecided.__new__(Undecided)
        >>> once._epochs = 0
        >>> [epoch for epoch in range(1, 20) if once.due()]
        [2, 4, 8, 16]
        """
        self._epochs += 1
        return self._epochs > 1 and self._epochs & (self._epochs - 1) == 0

    def decide(self, now: Operator, rows: pa.Table) -> Operator:
        """The operator for rows like these, told the progress so far. It has not taken the rows yet."""
        if now is self:
            now = self.build(self.look(rows))
            now.resume(self.progress)
        return self.rebuild(now, self.look(rows)) if self.due() else now

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        raise PlanError(
            f"{rows.num_rows} rows reached a window aggregate that has no strategy yet",
            hint="A host must call decide() first.",
        )

    def look(self, rows: pa.Table) -> Look:
        """What rows show of how many there are in a pane, and of how many groups."""
        rows = rows.slice(0, _ENOUGH)
        rows = rows.filter(rows[self.spec.attribute].is_valid())
        if not rows.num_rows:
            return 0, 0, 0, 0
        pane = common_pane(self.windows)
        panes = to_ticks(rows[self.spec.attribute]) // pane
        found = encode([rows[name] for name in self.spec.groups], rows.num_rows)
        at = cells(panes, found.codes, found.count)
        return rows.num_rows, len(np.unique(at.key)), at.count, found.count

    def promises(self) -> Progress:
        """Nothing but the end: no rows, no windows."""
        return Progress(ended=self.progress[0].ended)
