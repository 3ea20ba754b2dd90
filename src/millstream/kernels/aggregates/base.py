"""What a columnar aggregate is: partials are a few parallel columns, and all operations are vectorised.

Two families. An `Algebra` has a partial of fixed width per cell (count, sum, max, variance, sketches). A
`Holistic` keeps the values themselves, with multiplicities (median, mode, distinct).

Partials live in Arrow columns in the state, and in a *work form* (`Work`: NumPy columns, with a pool of
values behind them when NumPy cannot hold those) while they are combined.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.aggregate import Difference, Size
from millstream.core.errors import AggregateError

Columns = tuple[np.ndarray, ...]
"""Parallel arrays, one entry a partial."""


@dataclass(frozen=True, slots=True)
class Work:
    """Partials in work form, and the pool that codes in them refer to, if any."""

    columns: Columns
    pool: Any = None


class Algebra(ABC):
    """A bounded aggregate: `lift`, `combine`, `lower`, and `uncombine` where it exists.

    Laws (tests/laws/test_aggregates.py): `combine` is associative and commutative, `identity` is its unit,
    `reduce` is `combine` over the cells, and `uncombine(combine(a, b), b)` is `a`.
    """

    size: ClassVar[Size] = Size.BOUNDED
    difference: Difference = Difference.NONE
    idempotent: ClassVar[bool] = False
    """Is a partial combined with itself the same partial?"""
    partial_types: tuple[pa.DataType, ...]
    result_type: pa.DataType

    @property
    def kin(self) -> Hashable:
        """What its partials are: those of the same kin are the same, and only the answers differ."""
        return id(self)

    @abstractmethod
    def lift(self, arguments: Sequence[pa.Array]) -> Work:
        """One partial per row. A row whose argument is null lifts to the identity."""

    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """The partial of each of n cells, straight from the rows: `lift`, then `reduce`, or a shorter way."""
        work = self.lift(arguments)
        return Work(self.reduce(work.columns, cells, n), work.pool)

    @abstractmethod
    def identity(self, n: int) -> Columns:
        """Partials of nothing, n of them."""

    @abstractmethod
    def reduce(self, columns: Columns, cells: np.ndarray, n: int) -> Columns:
        """Combine the partials that share a cell; n cells."""

    @abstractmethod
    def combine(self, a: Columns, b: Columns) -> Columns:
        """Combine pairwise."""

    def accumulate(self, columns: Columns, *, reverse: bool = False) -> Columns:
        """Running combine along the last axis of two-dimensional columns."""
        width = columns[0].shape[1]
        out = tuple(np.empty_like(column) for column in columns)
        steps = range(width - 1, -1, -1) if reverse else range(width)
        running: Columns | None = None
        for step in steps:
            here = tuple(column[:, step] for column in columns)
            running = here if running is None else self.combine(running, here)
            for target, value in zip(out, running, strict=True):
                target[:, step] = value
        return out

    def uncombine(self, whole: Columns, part: Columns) -> Columns:
        """Take `part` away from `whole`, pairwise."""
        raise AggregateError(
            f"{type(self).__name__} has no inverse: {len(whole)} columns less {len(part)}",
            hint="Only aggregates whose `difference` is full can be uncombined.",
        )

    @abstractmethod
    def open(self, partials: Sequence[pa.Array]) -> Work:
        """From Arrow columns to work form."""

    @abstractmethod
    def close(self, work: Work) -> list[pa.Array]:
        """From work form back to Arrow columns."""

    @abstractmethod
    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The answers."""


class Holistic(ABC):
    """An aggregate that needs all its values: a bag of (value, multiplicity) a cell."""

    size: ClassVar[Size] = Size.HOLISTIC
    difference: Difference = Difference.PSEUDO
    value_types: tuple[pa.DataType, ...]
    result_type: pa.DataType
    distinct_only: ClassVar[bool] = False
    """The answer depends on which values there are, not on how often: each (window, value) is given once."""
    countable: ClassVar[bool] = True
    """Equal values may be folded into one with a multiplicity."""

    @property
    def kin(self) -> Hashable:
        """What is kept of the values: kernels of the same kin keep the same, and only the answers differ."""
        return "values", self.value_types, self.countable

    @abstractmethod
    def evaluate(self, values: Sequence[pa.Array], weights: np.ndarray, cells: np.ndarray, n: int) -> pa.Array:
        """The answer of each of n cells, from values with their multiplicities and cells, in any order."""


def numbers(array: pa.Array) -> tuple[np.ndarray, np.ndarray | None]:
    """The values of a numeric column (0 where null) and which of them are there (None: all).

    >>> numbers(pa.array([1, None, 3]))[0].tolist()
    [1, 0, 3]
    """
    if not array.null_count:
        return array.to_numpy(zero_copy_only=False), None
    filled = array.fill_null(False if pa.types.is_boolean(array.type) else 0)
    return filled.to_numpy(zero_copy_only=False), array.is_valid().to_numpy(zero_copy_only=False)


def floats(array: pa.Array) -> tuple[np.ndarray, np.ndarray | None]:
    """The values of a numeric or decimal column as float64 (0 where null) and which are there (None: all).

    >>> floats(pa.array([1, None], pa.int8()))[0].tolist()
    [1.0, 0.0]
    """
    # Not through Arrow's cast for integers: it refuses those beyond 2⁵³, which only lose digits here.
    values, valid = numbers(array.cast(pa.float64()) if pa.types.is_decimal(array.type) else array)
    return values.astype(np.float64), valid


def ones(valid: np.ndarray | None, n: int) -> np.ndarray:
    """1 for each value that is there, as int64."""
    return np.ones(n, dtype=np.int64) if valid is None else valid.astype(np.int64)


def sum_by(values: np.ndarray, cells: np.ndarray, n: int) -> np.ndarray:
    """The sum of the values of each cell.

    >>> sum_by(np.array([1, 2, 3]), np.array([0, 1, 0]), 2).tolist()
    [4, 2]
    """
    out = np.zeros(n, dtype=values.dtype)
    np.add.at(out, cells, values)
    return out


def plain(column: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """A NumPy column as Arrow, null where `valid` is False."""
    return pa.array(column, mask=None if valid is None else ~valid)


def to_numpy(array: pa.Array) -> np.ndarray:
    """A column without nulls as NumPy."""
    return array.to_numpy(zero_copy_only=False)


def null_where(array: pa.Array, empty: np.ndarray) -> pa.Array:
    """The array with nulls put where `empty` is True.

    >>> null_where(pa.array([1, 2]), np.array([True, False])).to_pylist()
    [None, 2]
    """
    return pc.if_else(pa.array(empty), pa.scalar(None, array.type), array) if empty.any() else array
