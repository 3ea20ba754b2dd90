"""approx_heavy_hitters(x, share): no less than the values that reach a share, from a bounded sketch.

The frequent-items sketch [Anderson et al. 2017] keeps counts for a limited number of values. It leaves out no
value that reaches the share. It may add one that comes close: a count may be too high, but never too low.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Work
from millstream.kernels.aggregates.heavy_hitters import hitters, hitters_type
from millstream.kernels.aggregates.parts.bag import Bag, bounds, count_values, fraction
from millstream.kernels.aggregates.parts.objects import Sketches
from millstream.kernels.aggregates.parts.order import decode, decoded_type, storage, temporal

# The sketch's error is at most 3.5 / 2^lg of the rows; a quarter of the share leaves few values in doubt.
_ERROR = 3.5
_PART_OF_SHARE = 4
_LEAST_LG = 8


class ApproxHeavyHitters(Sketches):
    """The frequent values of a cell with upper bounds of their counts, off by at most a quarter of the share.

    As long as a cell has no more different values than its sketch has room for (10 / share, and never less
    than 190), everything is exact. Beyond it the counts may depend on the order of rows and merges.

    >>> heavy = ApproxHeavyHitters(pa.string(), 0.5)
    >>> work = heavy.gather([pa.array(["a", "b", "a"])], np.zeros(3, int), 1)
    >>> heavy.lower(heavy.close(work)).to_pylist()
    [[{'value': 'a', 'count': 2}]]
    """

    def __init__(self, kind: pa.DataType, share: float) -> None:
        """Of values of type `kind`, with a share in (0, 1]; the smaller, the larger the sketch."""
        self.kind = decoded_type(kind)
        self.result_type = hitters_type(self.kind)
        self.share = fraction(share)
        self.lg_k = max(_LEAST_LG, math.ceil(math.log2(_ERROR * _PART_OF_SHARE / share)))

    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """A sketch of each cell; equal values are counted first, and put in once."""
        array = decode(arguments[0])
        bag = count_values(array, np.ones(len(array), dtype=np.int64), cells, n)
        texts, counts, edges = to_text(bag.values).to_pylist(), bag.counts.tolist(), bounds(bag.cells, n)
        (out,) = self.identity(n)
        for cell in np.flatnonzero(edges[1:] > edges[:-1]):
            out[cell] = sketch = self.empty()
            for row in range(edges[cell], edges[cell + 1]):
                sketch.update(texts[row], counts[row])
        return Work((out,))

    def empty(self) -> Any:
        """A sketch of no values."""
        return datasketches.frequent_strings_sketch(self.lg_k)

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The values whose upper bound reaches the share; an empty list for nothing."""
        cells: list[int] = []
        texts: list[str] = []
        counts: list[int] = []
        (parts,) = self.open(partials).columns
        for cell, part in enumerate(parts):
            for text, upper in self._frequent(part):
                cells.append(cell)
                texts.append(text)
                counts.append(upper)
        values = from_text(pa.array(texts, pa.string()), self.kind)
        bag = Bag(np.array(cells, dtype=np.int64), values, np.array(counts, dtype=np.int64))
        return hitters(bag, len(parts))

    def _frequent(self, part: Any) -> list[tuple[str, int]]:
        if part is None:
            return []
        numerator, denominator = self.share
        least = -(-part.total_weight * numerator // denominator)
        # The library wants more than its threshold, and takes 0 for "by your own error".
        some = part.get_frequent_items(datasketches.frequent_items_error_type.NO_FALSE_NEGATIVES, least - 1)
        return [(text, upper) for text, _estimate, _lower, upper in some if upper >= least]


def to_text(values: pa.Array) -> pa.Array:
    """Decoded values as strings that `from_text` reads back.

    >>> to_text(pa.array([3, -1])).to_pylist()
    ['3', '-1']
    """
    return storage(values).cast(pa.string())


def from_text(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """The values that were written by `to_text`.

    >>> from_text(pa.array(["7"]), pa.date32()).type
    DataType(date32[day])
    """
    if temporal(kind):
        return texts.cast(storage(pa.array([], kind)).type).view(kind)
    return texts.cast(kind)
