"""Select: rows that satisfy a condition go on; punctuation passes untouched."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.expression import Expression
from millstream.kernels.expressions.evaluate import evaluate
from millstream.kernels.ticks import to_ticks, too_far
from millstream.ops.operator import Operator


class Select(Operator):
    """`WHERE`: a row whose condition is null does not go on, as in SQL."""

    def __init__(self, condition: Expression, spare: tuple[str, int] | None = None) -> None:
        """Keep the rows for which `condition` is true.

        `spare` is an attribute and how far from the ends of time it must be: rows that have no such value go on
        too, for the operator above to reject.
        """
        super().__init__()
        self.condition = condition
        self.spare = spare

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        before = self.meter.rejected
        made = evaluate([self.condition], rows)
        keep = made.values[0]
        if made.failed is not None:
            keep = pc.if_else(pa.array(made.failed.rows), pa.scalar(None, pa.bool_()), keep)
            spared = _unusable(rows[self.spare[0]], self.spare[1]) if self.spare is not None else None
            self.reject_failed(rows, made, spared)
        if self.spare is not None:
            keep = pc.or_kleene(keep, pa.array(_unusable(rows[self.spare[0]], self.spare[1])))
        kept = rows.filter(keep)
        self.meter.filtered += rows.num_rows - kept.num_rows - (self.meter.rejected - before)
        return [kept]


def _unusable(column: pa.ChunkedArray, reach: int) -> np.ndarray:
    """Which values are null, or nearer than `reach` to either end of time."""
    out = pc.is_null(column).to_numpy().copy()
    there = column.drop_null()
    far = too_far(to_ticks(there), reach) if len(there) else None
    if far is not None:
        out[~out] = far
    return out
