"""heavy_hitters(x, share): the values that make up at least a share of the rows, counted exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Holistic, sum_by
from millstream.kernels.aggregates.parts.bag import Bag, bounds, count_values, fraction
from millstream.kernels.aggregates.parts.order import decode, decoded_type, ordinals, sorted_by


class HeavyHitters(Holistic):
    """The frequent values of a cell, the most frequent first, then the smaller; an empty list for none.

    >>> heavy = HeavyHitters(pa.string(), 0.4)
    >>> heavy.evaluate([pa.array(["b", "a", "c"])], np.array([2, 2, 1]), np.zeros(3, int), 1).to_pylist()
    [[{'value': 'a', 'count': 2}, {'value': 'b', 'count': 2}]]
    """

    def __init__(self, kind: pa.DataType, share: float) -> None:
        """Of values of type `kind`, with a share in (0, 1] of the rows whose value is not null."""
        self.value_types = (decoded_type(kind),)
        self.result_type = hitters_type(self.value_types[0])
        self.share = fraction(share)

    def evaluate(self, values: Sequence[pa.Array], weights: np.ndarray, cells: np.ndarray, n: int) -> pa.Array:
        """Count, and keep what reaches the share."""
        bag = count_values(decode(values[0]), weights, cells, n)
        numerator, denominator = self.share
        total = sum_by(bag.counts, bag.cells, n)
        rows = np.flatnonzero(bag.counts * denominator >= total[bag.cells] * numerator)
        return hitters(Bag(bag.cells[rows], bag.values.take(pa.array(rows)), bag.counts[rows]), n)


def hitters_type(kind: pa.DataType) -> pa.DataType:
    """A list of values with their counts.

    >>> hitters_type(pa.string())
    ListType(list<item: struct<value: string, count: int64>>)
    """
    return pa.list_(pa.struct([pa.field("value", kind), pa.field("count", pa.int64())]))


def hitters(bag: Bag, n: int) -> pa.Array:
    """The values of a bag as one list a cell, the most frequent first, then the smaller."""
    order = sorted_by(bag.cells, -bag.counts, ordinals(bag.values))
    kind = hitters_type(bag.values.type)
    pairs = pa.StructArray.from_arrays(
        [bag.values.take(pa.array(order)), pa.array(bag.counts[order])], fields=list(kind.value_type)
    )
    return pa.ListArray.from_arrays(pa.array(bounds(bag.cells, n), pa.int32()), pairs, type=kind)
