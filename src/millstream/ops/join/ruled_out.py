"""Which rows of one side can have no later partner, by what the other side promises of its keys and their groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from millstream.core.domain import BOTTOM, END
from millstream.core.pattern import Pattern
from millstream.core.progress import Key, Progress
from millstream.kernels.group import encode, tuples
from millstream.kernels.match import matching
from millstream.kernels.ticks import to_ticks
from millstream.ops.join.join_spec import Partners


def by_keys(
    spec: Partners, side: int, other: Progress, rows: pa.Table, at: np.ndarray, ordered: set[str]
) -> np.ndarray:
    """Which rows no later row of the other side can be equal to; `ordered` are the columns with ticks."""
    here = {pair[1 - side]: pair[side] for pair in spec.keys}
    gone = np.zeros(rows.num_rows, dtype=np.bool_)
    for attribute, bound in other.linear.items():
        if here.get(attribute) in ordered:
            gone |= _below(rows[here[attribute]], bound)
    for (attribute, names), bounds in other.grouped.items():
        if set(names) <= here.keys():
            own = _by_group(rows, [here[name] for name in names], bounds)
            if spec.near is not None and attribute == spec.near.names[1 - side]:
                done = {bound: spec.near.complete(side, bound) for bound in np.unique(own).tolist()}
                gone |= at < np.array([done[bound] for bound in own.tolist()], dtype=np.int64)
            elif here.get(attribute) in ordered:
                gone |= to_ticks(rows[here[attribute]]) < own
    for names, over in other.over.items():
        if set(names) <= here.keys():
            gone |= _by_group(rows, [here[name] for name in names], dict.fromkeys(over, END)) == END
    for punctuation in other.others:
        parts = punctuation.pattern.attributes
        if parts.keys() <= here.keys():
            gone |= matching(Pattern({here[name]: part for name, part in parts.items()}), rows, ordered)
    return gone


def says_of_keys(spec: Partners, side: int, other: Progress) -> bool:
    """Does the other side promise anything of its keys?"""
    names = spec.key_columns(1 - side)
    return bool(other.grouped or other.over or other.others) or any(name in other.linear for name in names)


def _below(column: pa.ChunkedArray, bound: int) -> np.ndarray:
    if not column.null_count:
        return to_ticks(column) < bound
    out = np.zeros(len(column), dtype=np.bool_)
    there = column.is_valid().combine_chunks()
    out[there.to_numpy(zero_copy_only=False)] = to_ticks(column.filter(there)) < bound
    return out


def _by_group(rows: pa.Table, names: Iterable[str], bounds: Mapping[Key, int]) -> np.ndarray:
    """The bound of each row's group."""
    names = list(names)
    found = encode([rows[name] for name in names], rows.num_rows)
    groups = rows.select(names).take(pa.array(found.first))
    keys = tuples(groups, names)
    return np.array([bounds.get(key, BOTTOM) for key in keys], dtype=np.int64)[found.codes]
