"""What leaves a join: pairs, rows without a partner beside nulls, or rows of the left side alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from millstream.core.promise.join import LEFT
from millstream.kernels.pairs import BLOCK
from millstream.ops.join.join_spec import RIGHT, JoinSpec


class Leaving:
    """Tables of the join's schema, made of rows of its sides."""

    def __init__(self, spec: JoinSpec) -> None:
        self.spec = spec
        self._columns = {name: (side, column) for name, side, column in spec.columns}

    def pairs(
        self,
        port: int,
        mine: pa.Table,
        other: pa.Table,
        own: np.ndarray,
        theirs: np.ndarray,
        *,
        columns: Sequence[str] | None = None,
    ) -> pa.Table:
        """Rows `own` of one side beside rows `theirs` of the other; some columns, or all that leave."""
        names = self.spec.schema.names if columns is None else list(columns)
        sides = {port: (mine, pa.array(own)), 1 - port: (other, pa.array(theirs))}
        arrays: list[pa.ChunkedArray] = []
        for name in names:
            side, column = self._columns[name]
            table, places = sides[side]
            arrays.append(table[column].take(places))
        if not names:  # a table without columns has no rows: what is computed of none needs their number still
            return pa.table({"": np.zeros(len(own), dtype=np.bool_)})
        return pa.Table.from_arrays(arrays, names=names)

    def alone(self, side: int, rows: pa.Table) -> list[pa.Table]:
        """Rows that have no partner, as the join has them leave; nothing if it does not."""
        spec = self.spec
        if not rows.num_rows or spec.how == "semi" or not spec.preserved(side):
            return []
        arrays = [self._padded(side, name, rows) for name in spec.schema.names]
        return [pa.Table.from_arrays(arrays, names=spec.schema.names)]

    def matched(self, rows: pa.Table, found: np.ndarray) -> list[pa.Table]:
        """Rows of the left side that have a partner, where these leave by themselves."""
        if self.spec.how != "semi" or not found.any():
            return []
        some = rows.filter(pa.array(found))
        columns = [self._columns[name][1] for name in self.spec.schema.names]
        return [some.select(columns).rename_columns(self.spec.schema.names)]

    def _padded(self, side: int, name: str, rows: pa.Table) -> pa.Array | pa.ChunkedArray:
        of, column = self._columns[name]
        if of == side:
            return rows[column]
        # A key that both sides have under one name is known from either.
        if (of, side) == (LEFT, RIGHT) and column in self.spec.shared:
            return rows[self.spec.shared[column]]
        return pa.nulls(rows.num_rows, self.spec.schema.field(name).type)


def gathered(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """The same rows in fewer tables: what comes after is dear by the table, and cheap by the row."""
    out: list[pa.Table] = []
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(one.num_rows for one in waiting) >= BLOCK:
            out.append(pa.concat_tables(waiting))
            waiting = []
    return [*out, pa.concat_tables(waiting)] if waiting else out
