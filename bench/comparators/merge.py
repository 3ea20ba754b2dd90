"""Merge: the union of ordered inputs, in order.

A row leaves once no other input can bring an earlier one. Until the slowest input has got there, by a row or by
punctuation, the rows of all others wait: what is held grows with the rate and the distance between the inputs.
"""

from __future__ import annotations

from collections import deque

import numpy as np
import pyarrow as pa

from comparators.comparator import Comparator, Held, values


class Merge(Comparator):
    """Any number of inputs with one schema, each ordered by `attribute`; so is the output."""

    def __init__(self, ports: int, attribute: str, schema: pa.Schema) -> None:
        """Nothing is known of any input yet, so nothing can leave."""
        super().__init__()
        self.attribute = attribute
        self.schema = schema
        self.bounds: list[int | None] = [None] * ports
        self._waiting: list[deque[pa.Table]] = [deque() for _ in range(ports)]
        self._rows = 0
        self._bytes = 0

    @property
    def bound(self) -> int | None:
        """No later row of the output lies below it; None while an input has shown nothing."""
        known = [bound for bound in self.bounds if bound is not None]
        return min(known) if len(known) == len(self.bounds) else None

    def held(self) -> Held:
        """Rows that wait for another input."""
        return Held(self._rows, self._bytes)

    def _take(self, port: int, rows: pa.Table) -> pa.Table:
        if not rows.num_rows:
            return self.schema.empty_table()
        at = values(rows, self.attribute)
        known = self.bounds[port]
        if np.any(at[1:] < at[:-1]) or (known is not None and at[0] < known):
            raise ValueError(f"input {port} is not ordered by {self.attribute}: sort it first")
        self._waiting[port].append(rows)
        self._rows += rows.num_rows
        self._bytes += rows.nbytes
        self.bounds[port] = int(at[-1])
        return self._release()

    def _advance(self, port: int, bound: int) -> pa.Table:
        known = self.bounds[port]
        self.bounds[port] = bound if known is None else max(known, bound)
        return self._release()

    def _release(self) -> pa.Table:
        """Rows up to the bound, inclusive: later rows may be equal to it, and equal rows have no order."""
        bound = self.bound
        if bound is None:
            return self.schema.empty_table()
        ready: list[pa.Table] = []
        for queue in self._waiting:
            while queue and (n := int(np.searchsorted(values(queue[0], self.attribute), bound, side="right"))):
                table = queue.popleft()
                ready.append(table.slice(0, n))
                if n < table.num_rows:
                    queue.appendleft(table.slice(n))
                    break
        if not ready:
            return self.schema.empty_table()
        out = pa.concat_tables(ready)
        self._rows -= out.num_rows
        self._bytes = sum(table.nbytes for queue in self._waiting for table in queue)
        return out.take(np.argsort(values(out, self.attribute), kind="stable"))
