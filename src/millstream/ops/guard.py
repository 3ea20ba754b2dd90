"""Guards: rows that all readers ignore are dropped where they come in, and results where they would leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.core.feedback import Records
from millstream.kernels.match import matching
from millstream.kernels.ticks import ordered_columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """What an operator leaves out in an epoch. Punctuation passes every guard."""

    inputs: Mapping[int, Records]
    """By port."""
    output: Records = ()
    makes_rows: bool = False
    """Are the rows that leave others than those that come?"""
    sweeps: Records = ()
    """Of the results that do not leave, those by which partial ones are doomed already."""
    groups: tuple[str, ...] = ()
    """The columns that tell those apart, beside their windows."""
    desired: Records = ()
    """Rows that leave, of which readers want these first."""
    ignored: Mapping[int, Records]
    """By port: all rows that the operator has no use for, whoever drops them."""


def wanted(records: Records, rows: pa.Table) -> np.ndarray | None:
    """Which rows no record matches; None if that is so of all of them. A null is matched only where anything is.

    >>> from millstream.core.pattern import Pattern, UpTo
    >>> rows = pa.table({"a": [1, 5, None], "b": [2, 2, 2]})
    >>> wanted((Pattern({"a": UpTo(3)}), Pattern({"a": UpTo(9), "b": UpTo(2)})), rows).tolist()
    [False, True, True]
    """
    ordered = ordered_columns(rows.schema)
    drop = np.zeros(rows.num_rows, dtype=np.bool_)
    for one in records:
        drop |= matching(one, rows, ordered)
    return ~drop if drop.any() else None


def matched(records: Records, rows: pa.Table) -> pa.Table:
    """The rows that some record matches."""
    others = wanted(records, rows) if rows.num_rows else None
    return rows.slice(0, 0) if others is None else rows.filter(pa.array(~others))


def desired_first(rows: pa.Table, guards: Guards | None) -> pa.Table:
    """The same rows, those before the others that readers want first; otherwise in their order."""
    others = wanted(guards.desired, rows) if guards is not None and guards.desired and rows.num_rows else None
    return rows if others is None else pa.concat_tables([rows.filter(pa.array(~others)), rows.filter(pa.array(others))])
