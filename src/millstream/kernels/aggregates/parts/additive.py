"""Partials that add column by column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Algebra, Columns, Work, plain, sum_by, to_numpy

# inf − inf is NaN and an overflow is inf: IEEE's answers, and no cause for a warning.
ieee = np.errstate(invalid="ignore", over="ignore")


class Additive(Algebra):
    """Partials that add column by column: the number of values, then what is summed.

    Subclasses say what is summed, and what the answer is.
    """

    def identity(self, n: int) -> Columns:
        """Nothing, n times."""
        return tuple(np.zeros(n, dtype=kind.to_pandas_dtype()) for kind in self.partial_types)

    @ieee
    def reduce(self, columns: Columns, cells: np.ndarray, n: int) -> Columns:
        """Add within cells."""
        return tuple(sum_by(column, cells, n) for column in columns)

    @ieee
    def combine(self, a: Columns, b: Columns) -> Columns:
        """Add."""
        return tuple(x + y for x, y in zip(a, b, strict=True))

    @ieee
    def accumulate(self, columns: Columns, *, reverse: bool = False) -> Columns:
        """Running sums."""
        step = slice(None, None, -1 if reverse else 1)
        return tuple(np.add.accumulate(column[:, step], axis=1)[:, step] for column in columns)

    def open(self, partials: Sequence[pa.Array]) -> Work:
        """The columns themselves."""
        return Work(tuple(to_numpy(partial) for partial in partials))

    def close(self, work: Work) -> list[pa.Array]:
        """The columns themselves."""
        return [plain(np.ascontiguousarray(column)) for column in work.columns]
