"""Partials that are Python objects, such as sketches: one object column, where None is nothing."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Algebra, Columns, Work, to_numpy
from millstream.kernels.aggregates.parts.bag import bounds


class Objects(Algebra):
    """Combines objects by `merge`. A subclass gathers rows into objects, and stores and restores one.

    No operation changes an object: the same one may stand in many places.

    >>> column([[1], None, [2]]).tolist()
    [[1], None, [2]]
    """

    partial_types: tuple[pa.DataType, ...] = (pa.binary(),)

    @abstractmethod
    def merge(self, parts: Sequence[Any]) -> Any:
        """One new object for several."""

    @abstractmethod
    def store(self, part: Any) -> Any:
        """The object as a value of the partial's Arrow type."""

    @abstractmethod
    def restore(self, stored: Any) -> Any:
        """The object back from its stored value."""

    @abstractmethod
    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """An object for each cell that has a value."""

    def lift(self, arguments: Sequence[pa.Array]) -> Work:
        """One object per row."""
        rows = len(arguments[0])
        return self.gather(arguments, np.arange(rows), rows)

    def identity(self, n: int) -> Columns:
        """Nothing."""
        return (np.full(n, None, dtype=object),)

    def reduce(self, columns: Columns, cells: np.ndarray, n: int) -> Columns:
        """Merge all objects of a cell at once."""
        (parts,) = columns
        (out,) = self.identity(n)
        there = np.flatnonzero([part is not None for part in parts])
        rows = there[np.argsort(cells[there], kind="stable")]
        edges = bounds(cells[rows], n)
        for cell in np.flatnonzero(edges[1:] > edges[:-1]):
            mine = parts[rows[edges[cell] : edges[cell + 1]]]
            out[cell] = mine[0] if len(mine) == 1 else self.merge(list(mine))
        return (out,)

    def combine(self, a: Columns, b: Columns) -> Columns:
        """Merge pairwise; nothing merged with an object is the object itself."""
        return (np.asarray(np.frompyfunc(self._pair, 2, 1)(a[0], b[0]), dtype=object),)

    def open(self, partials: Sequence[pa.Array]) -> Work:
        """Restore every object."""
        return Work((column(None if p is None else self.restore(p) for p in partials[0].to_pylist()),))

    def close(self, work: Work) -> list[pa.Array]:
        """Store every object."""
        stored = [None if part is None else self.store(part) for part in work.columns[0]]
        return [pa.array(stored, self.partial_types[0])]

    def _pair(self, a: Any, b: Any) -> Any:
        if a is None or b is None:
            return b if a is None else a
        return self.merge((a, b))


class Sketches(Objects):
    """Objects that are sketches of one kind, which merge and store themselves."""

    @abstractmethod
    def empty(self) -> Any:
        """A sketch of no values."""

    def merge(self, parts: Sequence[Any]) -> Any:
        """The sketch of all values of the parts."""
        out = self.empty()
        for part in parts:
            out.merge(part)
        return out

    def store(self, part: Any) -> bytes:
        """The sketch's own bytes."""
        return part.serialize()

    def restore(self, stored: bytes) -> Any:
        """From the sketch's own bytes."""
        return type(self.empty()).deserialize(stored)


def column(parts: Iterable[Any]) -> np.ndarray:
    """An object column; unlike `np.array` it never takes a list for a row of a matrix."""
    return np.fromiter(parts, dtype=object)


def slices(arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The rows without a null in order of their cell, and where the rows of each cell begin and end."""
    there = np.ones(len(cells), dtype=np.bool_)
    for array in arguments:
        if array.null_count:
            there &= to_numpy(array.is_valid())
    rows = np.flatnonzero(there)
    rows = rows[np.argsort(cells[rows], kind="stable")]
    return rows, bounds(cells[rows], n)
