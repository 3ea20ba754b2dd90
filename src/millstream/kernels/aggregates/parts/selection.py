"""Aggregates that select a row: its columns, compared one after the other, are the best of the cell.

While they are combined, rows are ranks in a pool of their values, so that strings and decimals combine as
fast as integers: the greater rank wins. −1 is no row at all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Algebra, Columns, Work, to_numpy
from millstream.kernels.aggregates.parts.order import decode, decoded_type, greatest, ordinals, sorted_by


class Selection(Algebra):
    """Selects the best row by its arguments, the last of them deciding first; answers with the first.

    A row with a null argument is skipped. Rows that tie in all columns are equal, so that the answer does
    not depend on the order of arrival.

    >>> last_word = Selection([pa.string()], wants_greatest=[True])
    >>> work = last_word.gather([pa.array(["fig", "pear", None])], np.array([0, 0, 1]), 2)
    >>> last_word.lower(last_word.close(work)).to_pylist()
    ['pear', None]
    """

    idempotent = True

    def __init__(self, kinds: Sequence[pa.DataType], wants_greatest: Sequence[bool]) -> None:
        """`kinds` and `wants_greatest` are given as the arguments are."""
        self.partial_types = tuple(decoded_type(kind) for kind in reversed(kinds))
        self.result_type = self.partial_types[-1]
        self.wants_greatest = tuple(reversed(wants_greatest))

    def lift(self, arguments: Sequence[pa.Array]) -> Work:
        """The rank of each row among all rows."""
        return self._ranked([decode(array) for array in reversed(arguments)])

    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """Column by column, only rows that are still the best of their cell go on: nothing is sorted."""
        columns = [decode(array) for array in reversed(arguments)]
        rows = _complete(columns)
        for column, wanted in zip(columns, self.wants_greatest, strict=True):
            left = column if len(rows) == len(column) else column.take(pa.array(rows))
            codes = _codes(left, wants_greatest=wanted)
            rows = rows[greatest(codes, cells[rows], n)]
        winner = np.full(n, -1, dtype=np.int64)
        winner[cells[rows]] = rows  # the rows left of one cell are equal
        index = pa.array(winner, mask=winner < 0)
        return self._ranked([column.take(index) for column in columns])

    def identity(self, n: int) -> Columns:
        """No row."""
        return (np.full(n, -1, dtype=np.int64),)

    def reduce(self, columns: Columns, cells: np.ndarray, n: int) -> Columns:
        """The greatest rank of each cell."""
        (out,) = self.identity(n)
        np.maximum.at(out, cells, columns[0])
        return (out,)

    def combine(self, a: Columns, b: Columns) -> Columns:
        """The greater rank."""
        return (np.maximum(a[0], b[0]),)

    def accumulate(self, columns: Columns, *, reverse: bool = False) -> Columns:
        """The greatest rank so far."""
        step = slice(None, None, -1 if reverse else 1)
        return (np.maximum.accumulate(columns[0][:, step], axis=1)[:, step],)

    def open(self, partials: Sequence[pa.Array]) -> Work:
        """Rank the rows anew: ranks of different pools cannot be compared."""
        return self._ranked(partials)

    def close(self, work: Work) -> list[pa.Array]:
        """Take the rows out of the pool."""
        (ranks,) = work.columns
        index = pa.array(ranks, mask=ranks < 0)
        return [column.take(index) for column in work.pool]

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The first argument of the selected row, null where there was none."""
        return partials[-1]

    def _ranked(self, columns: Sequence[pa.Array]) -> Work:
        """The rank of each row, and the pool: the rows in order of rank."""
        rows = _complete(columns)
        index = pa.array(rows)
        pool = [column.take(index) for column in columns]
        order = sorted_by(
            *(_codes(c, wants_greatest=wanted) for c, wanted in zip(pool, self.wants_greatest, strict=True))
        )
        ranks = np.full(len(columns[0]), -1, dtype=np.int64)
        ranks[rows[order]] = np.arange(len(rows))
        return Work((ranks,), tuple(column.take(pa.array(order)) for column in pool))


def _complete(columns: Sequence[pa.Array]) -> np.ndarray:
    """The rows without a null."""
    there = np.ones(len(columns[0]), dtype=np.bool_)
    for column in columns:
        if column.null_count:
            there &= to_numpy(column.is_valid())
    return np.flatnonzero(there)


def _codes(column: pa.Array, *, wants_greatest: bool) -> np.ndarray:
    codes = ordinals(column)
    # Turning every bit reverses the order, and unlike a minus sign it cannot overflow.
    return codes if wants_greatest else ~codes
