"""min(x) and max(x) of any ordered type; null where there was no value.

Floats follow Spark and DuckDB: NaN is the greatest value. The maximum of a cell with a NaN is NaN, the
minimum only when there is nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Algebra, Columns, Work, numbers, plain, to_numpy
from millstream.kernels.aggregates.parts.order import direct, storage, temporal
from millstream.kernels.aggregates.parts.selection import Selection


class Extreme(Algebra):
    """The least or greatest number, truth value or time: the value, and whether there was one.

    The value of an empty partial is the unit of the comparison; only the flag tells it from a real one.

    >>> latest = Extreme(pa.date32(), greatest=True)
    >>> work = latest.gather([pa.array([3, 9, None], pa.date32())], np.array([0, 0, 1]), 2)
    >>> [str(day) for day in latest.lower(latest.close(work)).to_pylist()]
    ['1970-01-10', 'None']
    """

    idempotent = True

    def __init__(self, kind: pa.DataType, *, greatest: bool) -> None:
        """Compare values of type `kind`, which NumPy can hold."""
        self.partial_types = (kind,)
        self.result_type = kind
        self.greatest = greatest
        self._better, self._unit = _comparison(kind, greatest=greatest)

    @property
    def kin(self) -> Hashable:
        """The best value of a type."""
        return "extreme", self.partial_types, self._better

    def lift(self, arguments: Sequence[pa.Array]) -> Work:
        """One value."""
        values, valid = numbers(storage(arguments[0]))
        if values.dtype.kind == "f":
            values = values + values.dtype.type(0)  # −0.0 becomes 0.0, or the order of arrival would show
        if valid is None:
            return Work((values, np.ones(len(values), dtype=np.bool_)))
        return Work((np.where(valid, values, self._unit), valid))

    def identity(self, n: int) -> Columns:
        """No value."""
        return np.full(n, self._unit), np.zeros(n, dtype=np.bool_)

    def reduce(self, columns: Columns, cells: np.ndarray, n: int) -> Columns:
        """The best of each cell."""
        best, seen = self.identity(n)
        with np.errstate(invalid="ignore"):  # NumPy's `maximum.at` warns of NaN, which is a value here
            self._better.at(best, cells, columns[0])
        seen[cells[columns[1]]] = True
        return best, seen

    def combine(self, a: Columns, b: Columns) -> Columns:
        """The better one."""
        return self._better(a[0], b[0]), a[1] | b[1]

    def accumulate(self, columns: Columns, *, reverse: bool = False) -> Columns:
        """The best so far."""
        step = slice(None, None, -1 if reverse else 1)
        best = self._better.accumulate(columns[0][:, step], axis=1)
        return best[:, step], np.logical_or.accumulate(columns[1][:, step], axis=1)[:, step]

    def open(self, partials: Sequence[pa.Array]) -> Work:
        """The column, and where it is not null."""
        return self.lift(partials)

    def close(self, work: Work) -> list[pa.Array]:
        """The values, null where there was none."""
        values, seen = work.columns
        column = plain(np.ascontiguousarray(values), seen)
        return [column.view(self.result_type) if temporal(self.result_type) else column]

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The value."""
        return partials[0]


def extreme(kind: pa.DataType, *, greatest: bool) -> Algebra:
    """The min or max of a type: by value where NumPy holds it, by rank otherwise.

    >>> type(extreme(pa.int64(), greatest=True)).__name__, type(extreme(pa.string(), greatest=True)).__name__
    ('Extreme', 'Selection')
    """
    return Extreme(kind, greatest=greatest) if direct(kind) else Selection([kind], [greatest])


def _comparison(kind: pa.DataType, *, greatest: bool) -> tuple[np.ufunc, np.generic]:
    """The ufunc that keeps the better of two values, and the value that every other is better than."""
    dtype = to_numpy(storage(pa.array([], kind))).dtype
    if dtype.kind == "f":
        # `fmin` prefers any number to NaN, so that NaN is its unit; `maximum` prefers NaN to any number.
        return (np.maximum, dtype.type(-np.inf)) if greatest else (np.fmin, dtype.type(np.nan))
    if dtype.kind == "b":
        return (np.maximum, np.False_) if greatest else (np.minimum, np.True_)
    limits = np.iinfo(dtype)
    return (np.maximum, dtype.type(limits.min)) if greatest else (np.minimum, dtype.type(limits.max))
