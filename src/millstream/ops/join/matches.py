"""Matches: what a shared join has made for one of the joins that read it."""

from __future__ import annotations

import pyarrow as pa

from millstream.core.progress import Progress
from millstream.core.promise.join import JoinShape, promised
from millstream.ops.operator import Operator


class Matches(Operator):
    """One outlet of a shared join. It hears of both sides' progress, and promises what the join would."""

    def __init__(self, shape: JoinShape) -> None:
        """`shape` is what its promise depends on."""
        super().__init__(ports=2)
        self.shape = shape

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        self.meter.rows_in -= rows.num_rows  # results, and none of the rows that came
        return [rows]

    def promises(self) -> Progress:
        """As the join."""
        return promised(self.shape, self.progress)
