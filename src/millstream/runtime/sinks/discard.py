"""Results that nobody wants: to measure what a query costs without what a sink costs."""

from __future__ import annotations

import pyarrow as pa


class DiscardSink:
    """Takes rows and forgets them.

    >>> DiscardSink().write(pa.table({"x": [1]}), epoch=0)
    """

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Forget the rows."""

    def close(self) -> None:
        """Nothing to let go of."""
