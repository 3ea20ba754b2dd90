"""bool_and(x) and bool_or(x): whether x holds in every row, or in any; null where it never has a value.

False is less than true, so that "every" is the minimum and "any" the maximum.
"""

from __future__ import annotations

import pyarrow as pa

from millstream.kernels.aggregates.extreme import Extreme


class BoolAnd(Extreme):
    """Whether all values are true.

    >>> import numpy as np
    >>> every = BoolAnd()
    >>> work = every.gather([pa.array([True, None, True, False])], np.array([0, 0, 1, 1]), 2)
    >>> every.lower(every.close(work)).to_pylist()
    [True, False]
    """

    def __init__(self) -> None:
        """Over truth values."""
        super().__init__(pa.bool_(), greatest=False)


class BoolOr(Extreme):
    """Whether one value is true.

    >>> import numpy as np
    >>> some = BoolOr()
    >>> work = some.gather([pa.array([False, None, True, False])], np.array([0, 0, 1, 1]), 2)
    >>> some.lower(some.close(work)).to_pylist()
    [False, True]
    """

    def __init__(self) -> None:
        """Over truth values."""
        super().__init__(pa.bool_(), greatest=True)
