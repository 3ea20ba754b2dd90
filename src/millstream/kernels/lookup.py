"""Lookup: the rows of a table by their keys, made once for a table and asked for every batch of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.key_hash import any_null, key_hash

Column = pa.Array | pa.ChunkedArray


class Lookup:
    """A table in order of the hash of some columns, so that the rows of a key are found by two binary searches.

    A null key is never found, and a float that is no number is equal to another. Memory is one number a row.

    >>> table = pa.table({"id": ["a", "b", None, "a"]})
    >>> here, there = Lookup(table, ["id"]).partners([pa.array(["a", "c", None, "b"])], 4)
    >>> here.tolist(), there.tolist()
    ([0, 0, 3], [0, 3, 1])
    """

    def __init__(self, table: pa.Table, keys: Sequence[str]) -> None:
        """Look rows of `table` up by the columns `keys`; without keys every row is a partner."""
        self.table = table
        self.keys = [table[name].combine_chunks() for name in keys]
        usable = np.flatnonzero(~any_null(self.keys, table.num_rows))
        hashes = key_hash(self.keys, table.num_rows)[usable]
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._rows = hashes[order], usable[order]

    def partners(self, columns: Sequence[Column], rows: int) -> tuple[np.ndarray, np.ndarray]:
        """Places of rows, in order, and of the table's rows that have their keys, in the table's order."""
        hashes = key_hash(columns, rows)
        begin = np.searchsorted(self._hashes, hashes, "left")
        counts = np.searchsorted(self._hashes, hashes, "right") - begin
        counts[any_null(columns, rows)] = 0
        here = np.repeat(np.arange(rows), counts)
        if not len(here):
            return here, here
        ends = np.cumsum(counts)
        there = self._rows[np.arange(ends[-1]) + np.repeat(begin - (ends - counts), counts)]
        # Different keys may have one hash.
        same = np.ones(len(here), dtype=np.bool_)
        for mine, theirs in zip(columns, self.keys, strict=True):
            same &= _equal(mine.take(pa.array(here)), theirs.take(pa.array(there)))
        return here[same], there[same]


def _equal(left: Column, right: Column) -> np.ndarray:
    left, right = (_plain(one) for one in (left, right))
    if left.type != right.type:  # of other widths, but the same values
        wide = pa.int64() if pa.types.is_integer(left.type) else pa.large_string()
        left, right = left.cast(wide), right.cast(wide)
    same = pc.equal(left, right)
    if pa.types.is_floating(left.type):
        same = pc.or_(same, pc.and_(pc.is_nan(left), pc.is_nan(right)))
    return same.to_numpy(zero_copy_only=False)


def _plain(column: Column) -> pa.Array:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
