"""Cells: the distances of pairs, cut wherever some band ends, so that every band is a run of whole cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from millstream.core.promise.near import Reach

_SMALL = 256
_LARGEST = 1 << 14
"""Steps of the table by which cells are found, if edges are so far apart that each step has one at most."""


class DistanceCells:
    """Cells of distances, right less left. Each reach covers the cells of its span, from the first up to the last.

    >>> cells = DistanceCells([Reach(-1, 1), Reach(-3, 2)])
    >>> order, starts = cells.sorted(np.array([2, -3, 0]))
    >>> order.tolist(), [tuple(starts[list(span)].tolist()) for span in cells.spans]
    ([1, 2, 0], [(1, 2), (0, 3)])
    """

    def __init__(self, reaches: Sequence[Reach]) -> None:
        """All bounded at both ends, or all the same."""
        self._edges = np.zeros(0, dtype=np.int64)
        self.spans: list[tuple[int, int]] = [(0, 1)] * len(reaches)
        if len(set(reaches)) > 1:
            ends = [(one.low, one.high) for one in reaches if one.low is not None and one.high is not None]
            assert len(ends) == len(reaches)
            self._edges = np.unique([end for low, high in ends for end in (low, high + 1)])
            places = {int(edge): place + 1 for place, edge in enumerate(self._edges)}
            self.spans = [(places[low], places[high + 1]) for low, high in ends]
        self._count = len(self._edges) + 1
        self._kind = np.uint8 if self._count <= _SMALL else np.uint16 if self._count <= _SMALL**2 else np.int64
        self._table = self._steps()

    def _steps(self) -> tuple[int, np.ndarray, np.ndarray] | None:
        """How far to shift a distance to get its step; by step the cell at its start, and the edge in it."""
        if self.one:
            return None
        shift = int(np.diff(self._edges).min()).bit_length() - 1
        count = (int(self._edges[-1] - self._edges[0]) >> shift) + 1
        if count > _LARGEST:
            return None
        starts = np.arange(count, dtype=np.int64) * (1 << shift) + int(self._edges[0])
        cells = np.searchsorted(self._edges, starts, "left")
        return shift, cells.astype(self._kind), self._edges[np.minimum(cells, len(self._edges) - 1)]

    def _found(self, distances: np.ndarray) -> np.ndarray:
        if self._table is None:
            return np.searchsorted(self._edges, distances, "right").astype(self._kind)
        shift, cells, edges = self._table
        steps = (distances - self._edges[0]) >> shift
        out = cells[steps]
        out += distances >= edges[steps]
        return out

    @property
    def one(self) -> bool:
        """Are all reaches the same?"""
        return not len(self._edges)

    def sorted(self, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The order of pairs by their cell, and where each cell starts in that order; all lie in some reach's span."""
        cells = self._found(distances)
        starts = np.concatenate([[0], np.cumsum(np.bincount(cells, minlength=self._count))])
        return np.argsort(cells, kind="stable"), starts
