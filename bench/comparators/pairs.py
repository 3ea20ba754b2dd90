"""Pairs of rows with equal keys whose times are near: the kernel that the join comparators share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """How the right time may lie to the left one: left − lo … right … left + hi, each end strict or not.

    >>> Band(lo=120, hi=180, hi_strict=True).ends
    (-120, 179)
    """

    lo: int
    hi: int
    lo_strict: bool = False
    hi_strict: bool = False

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest distance right − left, both inclusive: times are whole numbers."""
        return -self.lo + self.lo_strict, self.hi - self.hi_strict


def pairs(
    left: tuple[np.ndarray, np.ndarray], right: tuple[np.ndarray, np.ndarray], band: Band
) -> tuple[np.ndarray, np.ndarray]:
    """Row numbers of the pairs; each side is (keys, times).

    >>> near = pairs((np.array([1, 2]), np.array([10, 10])), (np.array([1, 1]), np.array([11, 13])), Band(lo=0, hi=2))
    >>> [side.tolist() for side in near]
    [[0], [0]]
    """
    (left_keys, left_at), (right_keys, right_at) = left, right
    nothing = np.zeros(0, dtype=np.int64)
    if not len(left_keys) or not len(right_keys):
        return nothing, nothing
    low, high = band.ends
    # One number for key and time, so that one search finds the range of partners: keys by rank, far apart.
    ranks = np.unique(right_keys)
    rank = np.searchsorted(ranks, left_keys)
    known = (rank < len(ranks)) & (ranks[np.minimum(rank, len(ranks) - 1)] == left_keys)
    base = int(min(left_at.min() + low, right_at.min()))
    apart = int(max(left_at.max() + high, right_at.max())) - base + 2
    place = np.searchsorted(ranks, right_keys) * apart + (right_at - base)
    order = np.argsort(place, kind="stable")
    place = place[order]
    mine = np.flatnonzero(known)
    centre = rank[mine] * apart + (left_at[mine] - base)
    begin = np.searchsorted(place, centre + low)
    each = np.maximum(np.searchsorted(place, centre + high, side="right") - begin, 0)
    number = np.repeat(mine, each)
    step = np.arange(len(number)) - np.repeat(np.cumsum(each) - each, each)
    return number, order[np.repeat(begin, each) + step]


def paired(left: pa.Table, right: pa.Table, at: tuple[np.ndarray, np.ndarray]) -> pa.Table:
    """The rows of both sides beside each other; columns say their side."""
    tables = [table.take(numbers) for table, numbers in zip((left, right), at, strict=True)]
    names = [
        f"{side}_{name}" for side, table in zip(("left", "right"), tables, strict=True) for name in table.schema.names
    ]
    return pa.Table.from_arrays([column for table in tables for column in table.columns], names=names)
