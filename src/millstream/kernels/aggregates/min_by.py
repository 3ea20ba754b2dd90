"""min_by(value, key) and max_by(value, key): the value of the row whose key is the least, or the greatest.

first(value) and last(value) are the same with the window attribute as key: the earliest row by its own
time, whenever it arrived. Among rows with that key the smallest value wins, in any order of arrival.
"""

from __future__ import annotations

import pyarrow as pa

from millstream.kernels.aggregates.parts.selection import Selection


class MinBy(Selection):
    """The value at the least key; rows where either is null are skipped.

    >>> import numpy as np
    >>> first = MinBy(pa.string(), pa.int64())
    >>> work = first.gather([pa.array(["b", "c", "a"]), pa.array([1, 1, 2])], np.zeros(3, int), 1)
    >>> first.lower(first.close(work)).to_pylist()
    ['b']
    """

    def __init__(self, value: pa.DataType, key: pa.DataType) -> None:
        """Select values of type `value` by keys of type `key`."""
        super().__init__([value, key], wants_greatest=[False, False])


class MaxBy(Selection):
    """The value at the greatest key; rows where either is null are skipped.

    >>> import numpy as np
    >>> last = MaxBy(pa.string(), pa.int64())
    >>> work = last.gather([pa.array(["b", "c", "a"]), pa.array([1, 2, 2])], np.zeros(3, int), 1)
    >>> last.lower(last.close(work)).to_pylist()
    ['a']
    """

    def __init__(self, value: pa.DataType, key: pa.DataType) -> None:
        """Select values of type `value` by keys of type `key`."""
        super().__init__([value, key], wants_greatest=[False, True])
