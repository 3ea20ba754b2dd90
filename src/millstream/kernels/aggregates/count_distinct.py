"""count_distinct(x): how many different values that are not null, exactly.

Its bag holds each value of a cell once, so that the bag's size is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Holistic, to_numpy
from millstream.kernels.aggregates.parts.order import decoded_type


class CountDistinct(Holistic):
    """The number of values given to each cell; each is given once, as `distinct_only` asks.

    >>> distinct = CountDistinct(pa.string())
    >>> words, once, cells = pa.array(["a", "b", None, "a"]), np.ones(4, int), np.array([0, 0, 0, 1])
    >>> distinct.evaluate([words], once, cells, 3).to_pylist()
    [2, 1, 0]
    """

    distinct_only = True
    result_type = pa.int64()

    def __init__(self, kind: pa.DataType) -> None:
        """Count values of type `kind`."""
        self.value_types = (decoded_type(kind),)

    def evaluate(
        self,
        values: Sequence[pa.Array],
        weights: np.ndarray,
        cells: np.ndarray,
        n: int,
    ) -> pa.Array:
        """How many are not null."""
        array = values[0]
        there = cells[to_numpy(array.is_valid())] if array.null_count else cells
        return pa.array(np.bincount(there, minlength=n))
