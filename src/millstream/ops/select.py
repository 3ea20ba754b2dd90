"""Select: rows that satisfy a condition go on; punctuation passes untouched."""

from __future__ import annotations

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.kernels.expression import evaluate
from millstream.ops.operator import Operator


class Select(Operator):
    """`WHERE`: a row whose condition is null does not go on, as in SQL."""

    def __init__(self, condition: Expression) -> None:
        """Keep the rows for which `condition` is true."""
        super().__init__()
        self.condition = condition

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        kept = rows.filter(evaluate([self.condition], rows)[0])
        self.meter.filtered += rows.num_rows - kept.num_rows
        return [kept]
