"""Compute: a function over batches of rows, with a backlog that is state and that feedback prunes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.errors import RunError
from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.core.promise.columns import of_attribute
from millstream.core.punctuation import Punctuation
from millstream.kernels.ticks import to_ticks
from millstream.ops.guard import wanted
from millstream.ops.operator import Operator
from millstream.ops.turn import Turn
from millstream.ops.windowing.smoothed import HELD
from millstream.state.store import Segment


class Compute(Operator):
    """Rows wait in order of arrival; each epoch computes the first of them, desired ones before the others."""

    holds_back = True

    def __init__(
        self,
        function: Callable[[pa.Table], Any],
        made: tuple[str, ...],
        attribute: str,
        rows: int,
        schema: pa.Schema,
    ) -> None:
        """`function` gives the columns `made` of a table; `rows` an epoch are computed."""
        super().__init__()
        self.function = function
        self.made = made
        self.attribute = attribute
        self.rows = rows
        self.schema = schema

    @property
    def holds(self) -> bool:
        """Does any row wait?"""
        return bool(self.store.segments)

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        self._hold([*self._waiting(), rows])
        self.meter.accepted += rows.num_rows
        return []

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        return self._computed(self.store.rows) if now.ended else []

    def _end(self, turn: Turn) -> list[pa.Table]:
        return self._computed(self.store.rows if turn.let == "all" else turn.share(self.rows))

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Rows that wait and that nobody reads; the others keep their places."""
        waiting = self._waiting()
        if waiting:
            rows = pa.concat_tables(waiting)
            keep = wanted(ignored.get(0, ()), rows)
            if keep is not None:
                self._hold([rows.filter(pa.array(keep))])
                self.meter.accepted -= int((~keep).sum())
                self.meter.guarded += int((~keep).sum())

    def skip_costly(self) -> None:
        """Rows that wait are not computed for a look."""
        self.store.replace([])

    def promises(self) -> Progress:
        """The bound on its attribute, but never beyond a row that waits."""
        out = of_attribute(self.progress[0], self.attribute)
        if not self.store.segments or out.ended:
            return out
        least = min(segment.low for segment in self.store.segments) - 1
        held = Progress()
        if out.bound(self.attribute) > least:
            held.accept(Punctuation.linear(self.attribute, least))
            return held
        return out

    def _computed(self, number: int) -> list[pa.Table]:
        waiting = self._waiting()
        if not waiting or not number:
            return []
        rows = pa.concat_tables(waiting)
        order = self._order(rows)
        chosen = np.sort(order[:number])
        left = np.ones(rows.num_rows, dtype=np.bool_)
        left[chosen] = False
        self._hold([rows.filter(pa.array(left))])
        return [self._apply(rows.take(pa.array(chosen)).combine_chunks())]

    def _order(self, rows: pa.Table) -> np.ndarray:
        """The places of rows, those first that are desired."""
        desired = () if self.guards is None else self.guards.desired
        others = wanted(desired, rows) if desired else None
        places: np.ndarray = np.arange(int(rows.num_rows))
        return places if others is None else np.concatenate([places[~others], places[others]])

    def _apply(self, rows: pa.Table) -> pa.Table:
        made = self.function(rows)
        columns = {name: made[name] for name in self.made}
        for name, column in columns.items():
            if len(column) != rows.num_rows:
                raise RunError(
                    f"{name} has {len(column)} values for {rows.num_rows} rows",
                    hint="The function must give one value for each row, in the same order.",
                )
        found = {name: columns[name] if name in columns else rows[name] for name in self.schema.names}
        arrays = [
            one if isinstance(one, pa.Array | pa.ChunkedArray) else pa.array(one, self.schema.field(name).type)
            for name, one in found.items()
        ]
        return pa.Table.from_arrays(arrays, names=self.schema.names).cast(self.schema)

    def _waiting(self) -> list[pa.Table]:
        return [segment.tables[HELD] for segment in self.store.segments]

    def _hold(self, tables: list[pa.Table]) -> None:
        rows = pa.concat_tables(tables).combine_chunks()
        if not rows.num_rows:
            self.store.replace([])
            return
        ticks = to_ticks(rows[self.attribute])
        # What a reader may count on ends before the least value that waits, as for windows that end there.
        self.store.replace([Segment({HELD: rows}, int(ticks.min()) + 1, int(ticks.max()) + 1)])
