"""approx_distinct(x): about how many different values, from a HyperLogLog sketch of fixed size.

The estimate is read from the registers alone ("composite"). The sketch's more precise running estimate would
depend on the order in which rows came and partials merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Work
from millstream.kernels.aggregates.parts.bag import bounds, count_values
from millstream.kernels.aggregates.parts.objects import Objects
from millstream.kernels.aggregates.parts.order import decode, lasting, ordinals


class ApproxDistinct(Objects):
    """About how many different values there are, with a standard error of 1.04 / √(2^lg_k): 1.6 % for 12.

    Few values (some hundreds for lg_k 12) are counted exactly, but for collisions of their hashes.

    >>> sketch = ApproxDistinct(lg_k=12)
    >>> work = sketch.gather([pa.array(["a", "b", "a", None])], np.array([0, 0, 0, 1]), 2)
    >>> sketch.lower(sketch.close(work)).to_pylist()
    [2, 0]
    """

    result_type = pa.int64()

    def __init__(self, lg_k: int = 12) -> None:
        """The sketch has 2^lg_k registers of one byte."""
        self.lg_k = lg_k

    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """A sketch of each cell; repeated values are dropped first, which is faster than hashing them."""
        array = decode(arguments[0])
        bag = count_values(array, np.ones(len(array), dtype=np.int64), cells, n)
        items, edges = _hashable(bag.values), bounds(bag.cells, n)
        (out,) = self.identity(n)
        for cell in np.flatnonzero(edges[1:] > edges[:-1]):
            out[cell] = sketch = datasketches.hll_sketch(self.lg_k, datasketches.HLL_8)
            for item in items[edges[cell] : edges[cell + 1]]:
                sketch.update(item)
        return Work((out,))

    def merge(self, parts: Sequence[Any]) -> Any:
        """The sketch of all values of the parts."""
        union = datasketches.hll_union(self.lg_k)
        for part in parts:
            union.update(part)
        return union.get_result(datasketches.HLL_8)

    def store(self, part: Any) -> bytes:
        """The sketch's own bytes."""
        return part.serialize_compact()

    def restore(self, stored: bytes) -> Any:
        """From the sketch's own bytes."""
        return datasketches.hll_sketch.deserialize(stored)

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The estimate, to the nearest whole number; zero for nothing."""
        (parts,) = self.open(partials).columns
        # A sketch united with itself is the same sketch, but one that knows its running estimate is void.
        united = (None if part is None else self.merge((part, part)) for part in parts)
        return pa.array([0 if part is None else round(part.get_estimate()) for part in united], pa.int64())


def _hashable(values: pa.Array) -> list[Any]:
    """Integers or strings that stand for the values, the same for the same value in any column."""
    kind = values.type
    if lasting(kind):
        return ordinals(values).tolist()
    if pa.types.is_decimal(kind):
        return [str(value) for value in values.to_pylist()]
    texts = values.to_pylist()
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        texts = [value.hex() for value in texts]
    # The library passes over empty strings: an integer stands for them.
    return [text or 0 for text in texts]
