"""Which groups are complete: no later row can have their keys, by what progress says of these columns alone."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.progress import Progress
from millstream.kernels.group import encode, tuples
from millstream.kernels.match import matching


def complete(progress: Progress, rows: pa.Table, keys: tuple[str, ...], ordered: set[str]) -> np.ndarray:
    """Which rows no later row can share all `keys` with; `ordered` are the attributes whose punctuation is in ticks.

    >>> complete(Progress({"ts": 3}), pa.table({"ts": [1, 5], "k": ["a", "b"]}), ("ts", "k"), {"ts"}).tolist()
    [True, False]
    """
    out = over_groups(progress, rows, keys, rows.num_rows)
    if progress.ended:
        return out
    for punctuation in replace(progress, over={}).punctuations():
        if set(punctuation.pattern.attributes) <= set(keys):
            out |= matching(punctuation.pattern, rows, ordered)
    return out


def over_groups(progress: Progress, rows: pa.Table, keys: tuple[str, ...], number: int) -> np.ndarray:
    """Which of a `number` of rows are of groups of `keys` that will send nothing more."""
    out = np.full(number, progress.ended, dtype=np.bool_)
    if not progress.ended:
        for names, over in progress.over.items():
            if set(names) <= set(keys):
                out |= _over(rows, names, over)
    return out


def _over(rows: pa.Table, names: tuple[str, ...], over: Set[tuple[Any, ...]]) -> np.ndarray:
    """Which rows are of a group that is over: groups that are over add up, so the groups of the rows are looked up."""
    found = encode([rows[name] for name in names], rows.num_rows)
    keys = rows.select(list(names)).take(pa.array(found.first))
    groups = tuples(keys, names)
    # A null key can be named by no punctuation.
    return np.array([None not in key and key in over for key in groups], dtype=np.bool_)[found.codes]
