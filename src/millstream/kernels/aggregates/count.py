"""count(*) and count(x): how many rows, or how many that are not null."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa

from millstream.core.aggregate import Difference
from millstream.kernels.aggregates.base import Algebra, Columns, Work, ones, plain, sum_by, to_numpy


class Count(Algebra):
    """The number of rows whose argument is not null.

    >>> count = Count()
    >>> lifted = count.lift([pa.array([5, None, 7])])
    >>> count.lower(count.close(Work(count.reduce(lifted.columns, np.array([0, 0, 1]), 2)))).to_pylist()
    [1, 1]
    """

    difference = Difference.FULL
    partial_types = (pa.int64(),)
    result_type = pa.int64()

    @property
    def kin(self) -> Hashable:
        """A number of rows."""
        return "count"

    def lift(self, arguments: Sequence[pa.Array]) -> Work:
        """1, or 0 for null."""
        array = arguments[0]
        valid = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
        return Work((ones(valid, len(array)),))

    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """Count the rows of each cell."""
        array = arguments[0]
        there = cells[to_numpy(array.is_valid())] if array.null_count else cells
        return Work((np.bincount(there, minlength=n),))

    def identity(self, n: int) -> Columns:
        """Zero rows."""
        return (np.zeros(n, dtype=np.int64),)

    def reduce(self, columns: Columns, cells: np.ndarray, n: int) -> Columns:
        """Add within cells."""
        return (sum_by(columns[0], cells, n),)

    def combine(self, a: Columns, b: Columns) -> Columns:
        """Add."""
        return (a[0] + b[0],)

    def uncombine(self, whole: Columns, part: Columns) -> Columns:
        """Subtract."""
        return (whole[0] - part[0],)

    def open(self, partials: Sequence[pa.Array]) -> Work:
        """The column itself."""
        return Work((to_numpy(partials[0]),))

    def close(self, work: Work) -> list[pa.Array]:
        """The column itself."""
        return [plain(work.columns[0])]

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The count."""
        return partials[0]
