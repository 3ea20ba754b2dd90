"""Bags: how often each value stands in each cell, and shares of a bag as exact fractions."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa

from millstream.kernels import group
from millstream.kernels.aggregates.base import sum_by, to_numpy


@dataclass(frozen=True, slots=True)
class Bag:
    """The distinct values of each cell, in order of the cell."""

    cells: np.ndarray
    values: pa.Array
    counts: np.ndarray


def count_values(values: pa.Array, weights: np.ndarray, cells: np.ndarray, n: int) -> Bag:
    """Fold equal values of a cell into one; nulls are left out.

    >>> bag = count_values(pa.array(["a", "b", "a"]), np.array([1, 1, 5]), np.zeros(3, int), 1)
    >>> bag.values.to_pylist(), bag.counts.tolist()
    (['a', 'b'], [6, 1])
    """
    if values.null_count:
        there = to_numpy(values.is_valid())
        values, weights, cells = values.drop_null(), weights[there], cells[there]
    found = group.encode([values], len(values))
    pairs = group.cells(found.codes, cells, n)
    counts = sum_by(weights, pairs.inverse, pairs.count)
    return Bag(pairs.group, values.take(pa.array(found.first[pairs.key])), counts)


def fraction(share: float) -> tuple[int, int]:
    """The fraction that a float was written for, as numerator and denominator.

    0.07 is a little more than 7/100 as a float, and 7 of 100 rows must reach it all the same.

    >>> fraction(0.07), fraction(1 / 3)
    ((7, 100), (1, 3))
    """
    exact = Fraction(str(share)).limit_denominator(10**9)
    return exact.numerator, exact.denominator


def bounds(cells: np.ndarray, n: int) -> np.ndarray:
    """Where the rows of each of n cells begin, and where the last end; the rows are in order of the cell.

    >>> bounds(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate(([0], np.cumsum(np.bincount(cells, minlength=n))))
