"""Answers: results that a store has made for one aggregate; those that could not be computed are rejected here."""

from __future__ import annotations

import pyarrow as pa

from millstream.core.progress import Progress
from millstream.core.promise.windows import WindowShape, promised
from millstream.ops.operator import Operator
from millstream.ops.windowing.base import answered


class Answers(Operator):
    """One outlet of a store."""

    def __init__(self, shape: WindowShape) -> None:
        """`shape` is what its promise depends on."""
        super().__init__()
        self.shape = shape

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        self.meter.rows_in -= rows.num_rows  # results, and none of the rows that came
        return [answered(self, rows)]

    def promises(self) -> Progress:
        """Bounds on the columns of its windows."""
        return promised(self.shape, self.progress[0])
