"""mode(x): the most frequent value that is not null; of several, the smallest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Holistic
from millstream.kernels.aggregates.parts.bag import count_values
from millstream.kernels.aggregates.parts.order import decode, decoded_type, greatest, ordinals


class Mode(Holistic):
    """The value that stands most often in a cell; null where there is none.

    >>> mode = Mode(pa.string())
    >>> words, once, cells = pa.array(["b", "a", "b", "a"]), np.ones(4, int), np.array([0, 0, 0, 1])
    >>> mode.evaluate([words], once, cells, 3).to_pylist()
    ['b', 'a', None]
    """

    def __init__(self, kind: pa.DataType) -> None:
        """Of values of type `kind`."""
        self.value_types = (decoded_type(kind),)
        self.result_type = self.value_types[0]

    def evaluate(self, values: Sequence[pa.Array], weights: np.ndarray, cells: np.ndarray, n: int) -> pa.Array:
        """Count, keep the most frequent, and of those the smallest."""
        bag = count_values(decode(values[0]), weights, cells, n)
        rows = np.flatnonzero(greatest(bag.counts, bag.cells, n))
        codes = ~ordinals(bag.values.take(pa.array(rows)))  # turned over: the smallest is the greatest
        rows = rows[greatest(codes, bag.cells[rows], n)]
        winner = np.full(n, -1, dtype=np.int64)
        winner[bag.cells[rows]] = rows
        return bag.values.take(pa.array(winner, mask=winner < 0))
