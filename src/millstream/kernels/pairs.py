"""Pairs: rows of one side and rows of a sorted run of the other that agree in hash and are near enough.

A *run* is sorted by (hash of key, coordinate), packed into one 64-bit code, so that the partners of a row stand
together and are found by two binary searches. Coordinates that do not fit 32 bits are rounded down in the code, and
compared exactly afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from millstream.core.promise.near import Reach

_BITS = 32
# So many pairs are made at a time: a hot key must not fill the memory.
BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class SortedRun:
    """Rows in order of their codes: `at` are their coordinates, which lie in `[low, high]`."""

    code: np.ndarray
    at: np.ndarray
    low: int
    high: int

    @property
    def shift(self) -> int:
        """How many low bits of a coordinate the code leaves out."""
        return max(0, (self.high - self.low).bit_length() - _BITS)


def pack(hashes: np.ndarray, at: np.ndarray, low: int, shift: int) -> np.ndarray:
    """Codes: the hash above, the coordinate from `low` on below."""
    offset = (at - low).view(np.uint64) >> np.uint64(shift)
    return (hashes << np.uint64(_BITS)) | offset


def sort_run(hashes: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, SortedRun]:
    """The order of rows in a run, and the run.

    >>> order, run = sort_run(np.array([7, 1, 7], dtype=np.uint64), np.array([50, 60, 40]))
    >>> order.tolist(), run.at.tolist(), run.low, run.high
    ([1, 2, 0], [60, 40, 50], 40, 60)
    """
    low, high = int(at.min()), int(at.max())
    empty = SortedRun(at[:0], at[:0], low, high)
    code = pack(hashes, at, low, empty.shift)
    order = np.argsort(code, kind="stable")
    return order, SortedRun(code[order], at[order], low, high)


def pairs(
    hashes: np.ndarray, at: np.ndarray, run: SortedRun, reach: Reach, block: int = BLOCK
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Places of rows and of their partners in the run, in blocks; `hashes` should be in order, for speed alone.

    >>> _, run = sort_run(np.zeros(3, dtype=np.uint64), np.array([1, 5, 9]))
    >>> [(i.tolist(), j.tolist()) for i, j in pairs(np.zeros(2, dtype=np.uint64), np.array([0, 7]), run, Reach(-2, 2))]
    [([0, 1, 1], [0, 1, 2])]
    """
    first = at + reach.low if reach.low is not None else np.full(len(at), run.low)
    last = at + reach.high if reach.high is not None else np.full(len(at), run.high)
    yield from between(hashes, first, last, run, block)


def between(
    hashes: np.ndarray, first: np.ndarray, last: np.ndarray, run: SortedRun, block: int = BLOCK
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same where each row says itself from which coordinate to which its partners lie, both included.

    >>> _, run = sort_run(np.zeros(3, dtype=np.uint64), np.array([1, 5, 9]))
    >>> rows = np.zeros(2, dtype=np.uint64), np.array([0, 6]), np.array([5, 7])
    >>> [(i.tolist(), j.tolist()) for i, j in between(*rows, run)]
    [([0, 0], [0, 1])]
    """
    near = np.flatnonzero((first <= run.high) & (last >= run.low) & (first <= last))
    if not len(near) or not len(run.code):
        return
    hashes = hashes[near]
    begin = np.searchsorted(run.code, pack(hashes, np.maximum(first[near], run.low), run.low, run.shift), "left")
    end = np.searchsorted(run.code, pack(hashes, np.minimum(last[near], run.high), run.low, run.shift), "right")
    counts = end - begin
    some = np.flatnonzero(counts > 0)
    if not len(some):
        return
    near, begin, counts = near[some], begin[some], counts[some]
    for cut in _blocks(counts, block):
        mine, theirs = _expand(near[cut], begin[cut], counts[cut])
        if run.shift:
            exact = (run.at[theirs] >= first[mine]) & (run.at[theirs] <= last[mine])
            mine, theirs = mine[exact], theirs[exact]
        if len(mine):
            yield mine, theirs


def _expand(rows: np.ndarray, begin: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row as often as it has partners, and the partners."""
    ends = np.cumsum(counts)
    theirs = np.arange(ends[-1]) + np.repeat(begin - (ends - counts), counts)
    return np.repeat(rows, counts), theirs


def _blocks(counts: np.ndarray, block: int) -> Iterator[slice]:
    """Consecutive rows with about `block` pairs together, and at least one row."""
    ends = np.cumsum(counts)
    start = 0
    while start < len(counts):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + block, "right")))
        yield slice(start, stop)
        start = stop
