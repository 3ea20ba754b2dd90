"""quantile(x, q) and median(x), exactly: of numbers by linear interpolation, of times an actual value.

Numbers follow percentile_cont and answer with float64. Times follow percentile_disc: the least value that
at least a share q of the values do not exceed. NaN is the greatest value; between a number and NaN there is
only NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Holistic, floats, null_where, sum_by, to_numpy
from millstream.kernels.aggregates.parts.bag import fraction
from millstream.kernels.aggregates.parts.order import ordinals, sorted_by, temporal


class Quantile(Holistic):
    """The value below which a share `q` of the values lies; null where there are none.

    >>> median = Quantile(pa.int64(), 0.5)
    >>> numbers, times, cells = pa.array([1, 2, 9, 4]), np.array([1, 1, 1, 5]), np.array([0, 0, 0, 1])
    >>> median.evaluate([numbers], times, cells, 2).to_pylist()
    [2.0, 4.0]
    """

    def __init__(self, kind: pa.DataType, q: float) -> None:
        """Of values of type `kind`, with q from 0 (the least) to 1 (the greatest)."""
        self.value_types = (kind,)
        self.result_type = kind if temporal(kind) else pa.float64()
        self.q = fraction(q)

    def evaluate(self, values: Sequence[pa.Array], weights: np.ndarray, cells: np.ndarray, n: int) -> pa.Array:
        """Sort by cell and value, and look the place up in the running weights."""
        array = values[0]
        if array.null_count:
            there = to_numpy(array.is_valid())
            array, weights, cells = array.drop_null(), weights[there], cells[there]
        if not len(array):
            return pa.nulls(n, self.result_type)
        numbers = None if temporal(array.type) else floats(array)[0] + 0.0  # −0.0 becomes 0.0
        order = sorted_by(cells, ordinals(array if numbers is None else pa.array(numbers)))
        total = sum_by(weights, cells, n)
        before = np.cumsum(total) - total
        running = np.cumsum(weights[order])
        numerator, denominator = self.q

        def row(place: np.ndarray) -> np.ndarray:
            """The row at a place of its cell; of an empty cell, any."""
            at = np.searchsorted(running, before + place, side="right")
            return order[np.minimum(at, len(order) - 1)]

        last = np.maximum(total - 1, 0)
        if numbers is None:
            place = np.clip(-(-total * numerator // denominator) - 1, 0, last)
            return null_where(array.take(pa.array(row(place))), total == 0)
        place, rest = np.divmod(last * numerator, denominator)
        low, high = numbers[row(place)], numbers[row(np.minimum(place + 1, last))]
        return null_where(pa.array(_between(low, high, rest / denominator)), total == 0)


@np.errstate(invalid="ignore", over="ignore")
def _between(low: np.ndarray, high: np.ndarray, share: np.ndarray) -> np.ndarray:
    # Where nothing is to be added, nothing is computed: inf − inf would make NaN of a value that is there.
    return np.where((share == 0) | (low == high), low, low + (high - low) * share)
