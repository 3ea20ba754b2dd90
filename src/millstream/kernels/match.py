"""Patterns over tables: which rows a punctuation rules out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.pattern import Between, From, Pattern, UpTo, ValuePattern, value_matches
from millstream.kernels.ticks import to_ticks


def matching(pattern: Pattern, rows: pa.Table, ordered: set[str]) -> np.ndarray:
    """Which rows match; `ordered` names the attributes whose ranges are in ticks (constants never are).

    >>> from millstream.core.pattern import Equal
    >>> rows = pa.table({"ts": [1, 5], "k": ["a", "b"]})
    >>> matching(Pattern({"ts": UpTo(3), "k": Equal("a")}), rows, {"ts"}).tolist()
    [True, False]
    """
    mask = np.ones(rows.num_rows, dtype=np.bool_)
    for name, value in pattern.attributes.items():
        column = rows[name].combine_chunks()
        there = column.is_valid().to_numpy(zero_copy_only=False)
        found = np.zeros(rows.num_rows, dtype=np.bool_)
        known = column.filter(pa.array(there))
        if name in ordered and isinstance(value, UpTo | From | Between):
            found[there] = _in_ticks(value, to_ticks(known))
        else:
            found[there] = _plainly(value, known)
        mask &= found
    return mask


def _in_ticks(value: UpTo | From | Between, ticks: np.ndarray) -> np.ndarray:
    match value:
        case UpTo(bound):
            return ticks < bound
        case From(bound):
            return ticks >= bound
        case Between(low, high):
            return (ticks >= low) & (ticks < high)


def _plainly(value: ValuePattern, column: pa.Array) -> np.ndarray:
    encoded = column.dictionary_encode()
    verdict = np.array([_holds(value, item) for item in encoded.dictionary.to_pylist()], dtype=np.bool_)
    return verdict[encoded.indices.to_numpy(zero_copy_only=False)]


def _holds(value: ValuePattern, item: Any) -> bool:
    try:
        return value_matches(value, item)
    except TypeError:  # a pattern of another type matches nothing
        return False
