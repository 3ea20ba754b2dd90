"""Project and apply: computed columns; punctuation is rewritten to the columns that are left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.core.progress import Progress
from millstream.core.promise.columns import plain_names, projected
from millstream.kernels.expressions.evaluate import evaluate
from millstream.ops.operator import Operator


class Project(Operator):
    """Each output column is an expression over the input's."""

    def __init__(
        self,
        columns: Sequence[tuple[str, Expression]],
        extremes: Mapping[str, tuple[str, tuple[str, ...]]] | None = None,
    ) -> None:
        """Names and expressions, in the order of the output; and which of them are extremes of columns of one type."""
        super().__init__()
        self.columns = tuple(columns)
        self.extremes = dict(extremes or {})

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        made = evaluate([expression for _, expression in self.columns], rows)
        out = pa.Table.from_arrays(made.values, names=[name for name, _ in self.columns])
        good = made.good()
        if good is None:
            return [out]
        self.reject_failed(rows, made)
        return [out.filter(pa.array(good))]

    def promises(self) -> Progress:
        """A punctuation goes on if every attribute it speaks of does, under its new names."""
        return projected(self.progress[0], plain_names(self.columns), self.extremes)
