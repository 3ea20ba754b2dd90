"""As-of: for a row of one side, the latest row of the other that has its group and is not after it.

Rows of the right side stand *in order*: by group, then tick, ties by their other columns, so that each has an
interval of ticks in which it is the latest: from its own up to that of the next row of its group.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM, END
from millstream.kernels.group import codes
from millstream.kernels.ordering import sorted_rows

_NONE = np.empty(0, dtype=np.int64)


def in_order(groups: np.ndarray, ticks: np.ndarray, others: pa.Table) -> np.ndarray:
    """The places of rows in order; of rows with one group and tick the greatest by `others` is last.

    The columns of `others` count from the first to the last, null is below every value, NaN above every number, and
    what Arrow cannot order is ordered as text. So the order does not depend on that of arrival.

    >>> in_order(np.array([1, 0, 0]), np.array([5, 7, 7]), pa.table({"v": [1, 9, 3]})).tolist()
    [2, 1, 0]
    """
    order = np.lexsort((ticks, groups))
    same = (np.diff(groups[order]) == 0) & (np.diff(ticks[order]) == 0)
    if not same.any() or not others.num_columns:
        return order
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = order[tied]
    keys = {"group": pa.array(groups[rows]), "tick": pa.array(ticks[rows])}
    keys |= {f"column {i}": _orderable(column.take(pa.array(rows))) for i, column in enumerate(others.columns)}
    table = pa.table(keys)
    order[tied] = rows[sorted_rows(table, [(name, False) for name in table.column_names], nulls="at_start")]
    return order


def latest(
    groups: np.ndarray,
    ticks: np.ndarray,
    group: np.ndarray,
    tick: np.ndarray,
    *,
    strict: bool = False,
    within: int | None = None,
) -> np.ndarray:
    """For each left row (`group`, `tick`) the place of its partner among right rows in order; −1 where it has none.

    `strict` leaves rows of the same tick out, `within` those that are more ticks away.

    >>> groups, ticks = np.array([0, 0, 1]), np.array([10, 20, 5])
    >>> latest(groups, ticks, np.array([0, 0, 0, 1]), np.array([9, 20, 25, 7])).tolist()
    [-1, 1, 1, 2]
    >>> latest(groups, ticks, np.array([0, 0]), np.array([20, 25]), strict=True, within=5).tolist()
    [-1, 1]
    """
    if not len(groups) or not len(group):
        return np.full(len(group), -1, dtype=np.int64)
    right, left = codes(groups, ticks, group, tick)
    place = np.searchsorted(right, left, "left" if strict else "right") - 1
    found = place >= 0
    found[found] = groups[place[found]] == group[found]
    if within is not None:
        # The difference of two ticks fits 64 bits without a sign: the partner is never the later one.
        away = tick[found].view(np.uint64) - ticks[place[found]].view(np.uint64)
        found[found] = away <= np.uint64(within)
    return np.where(found, place, -1)


def awaited(
    groups: np.ndarray, ticks: np.ndarray, bounds: np.ndarray, *, strict: bool = False, within: int | None = None
) -> np.ndarray:
    """Which right rows in order may be the partner of a later left row, whose tick is at or above its group's bound.

    >>> groups, ticks = np.array([0, 0, 0]), np.array([10, 20, 30])
    >>> awaited(groups, ticks, np.array([20, 20, 20])).tolist()
    [False, True, True]
    >>> awaited(groups, ticks, np.array([20, 20, 20]), strict=True).tolist()
    [True, True, True]
    >>> awaited(groups, ticks, np.array([50, 50, 50]), within=15).tolist()
    [False, False, False]
    """
    if not len(groups):
        return _NONE.astype(np.bool_)
    last = np.append(np.diff(groups) != 0, True)
    until = np.append(ticks[1:], END)
    # A later left row is at or above the bound; with `strict` its partner is below it by one tick at least.
    first = np.maximum(bounds, BOTTOM + 1) - 1 if strict else bounds
    out = (bounds < END) & (last | ((until > first) & (until > ticks)))
    if within is not None:
        old = bounds > ticks
        away = np.where(old, bounds, 0).view(np.uint64) - np.where(old, ticks, 0).view(np.uint64)
        out &= ~old | (away <= np.uint64(within))
    return out


def _orderable(column: pa.ChunkedArray) -> pa.Array:
    """The column, or its values as text where Arrow knows no order of them."""
    array = column.combine_chunks()
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    try:
        pc.sort_indices(pa.table({"a": array, "b": array}), sort_keys=[("a", "ascending"), ("b", "ascending")])
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        return pa.array([None if one is None else repr(one) for one in array.to_pylist()], pa.string())
    return array
