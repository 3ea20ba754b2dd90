"""The order of rows by several columns: NaN is greater than every other number, and null stands where it is told to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

By = tuple[str, bool]
"""A column, and whether the greatest comes first."""


def sorted_rows(rows: pa.Table, by: Sequence[By], *, nulls: str = "at_end") -> np.ndarray:
    """The places of rows in order, ties in the order they stand in.

    Arrow by itself puts NaN beside the nulls, wherever these are.

    >>> some = pa.table({"x": [float("nan"), 1.0, None, float("inf")]})
    >>> sorted_rows(some, [("x", True)]).tolist(), sorted_rows(some, [("x", False)], nulls="at_start").tolist()
    ([0, 3, 1, 2], [2, 1, 3, 0])
    """
    columns: dict[str, pa.ChunkedArray] = {}
    keys: list[tuple[str, str, str]] = []
    for number, (name, down) in enumerate(by):
        column, order = rows[name], "descending" if down else "ascending"
        if pa.types.is_floating(column.type):
            apart = pc.is_nan(column)
            columns[f"{number} nan"] = apart
            keys.append((f"{number} nan", order, nulls))
            column = pc.if_else(apart, pa.scalar(0.0, column.type), column)
        columns[str(number)] = column
        keys.append((str(number), order, nulls))
    # In one chunk: Arrow sorts chunks one by one and merges them, which takes longer.
    return pc.sort_indices(pa.table(columns).combine_chunks(), sort_keys=keys).to_numpy()
