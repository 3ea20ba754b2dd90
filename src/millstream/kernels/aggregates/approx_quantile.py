"""approx_quantile(x, q): about the value below which a share q lies, from a KLL sketch of bounded size.

The sketch keeps a random sample that it thins out as it grows [Karnin, Lang, Liberty 2016]: once it thins,
two runs, or two orders of the same rows, may answer differently, both within the bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa

from millstream.kernels.aggregates.base import Work, floats
from millstream.kernels.aggregates.parts.objects import Sketches, slices


class ApproxQuantile(Sketches):
    """A value whose rank is within 1.33 % of `q` for k = 200, 99 times of 100; null where there is none.

    A cell of fewer than k values is not thinned: its answer is exact, the least value that at least a share q
    of the values do not exceed. NaN is passed over, as a null is.

    >>> median = ApproxQuantile(0.5)
    >>> work = median.gather([pa.array([4, 1, 7, None])], np.array([0, 0, 0, 1]), 2)
    >>> median.lower(median.close(work)).to_pylist()
    [4.0, None]
    """

    result_type = pa.float64()

    def __init__(self, q: float, k: int = 200) -> None:
        """The rank error falls as k grows, about as 1/k."""
        self.q = q
        self.k = k

    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """A sketch of each cell, updated with all its values at once."""
        rows, edges = slices(arguments, cells, n)
        values = floats(arguments[0])[0][rows]
        (out,) = self.identity(n)
        for cell in np.flatnonzero(edges[1:] > edges[:-1]):
            out[cell] = sketch = self.empty()
            sketch.update(values[edges[cell] : edges[cell + 1]])
        return Work((out,))

    def empty(self) -> Any:
        """A sketch of no values."""
        return datasketches.kll_doubles_sketch(self.k)

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The estimate."""
        (parts,) = self.open(partials).columns
        return pa.array([self._quantile(part) for part in parts], pa.float64())

    def _quantile(self, part: Any) -> float | None:
        # A sketch that saw nothing but NaN is empty.
        return None if part is None or part.is_empty() else part.get_quantile(self.q, inclusive=True)
