"""When rows happen: the same rows with silences between them, or in bursts. Their order does not change.

Lengths are in the units of the attribute, from its least value: an integer, or a `timedelta` for timestamps and dates.
"""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.workload.disorder import distance_of, ticks_of


def lulls(table: pa.Table, attr: str, every: int | timedelta, length: int | timedelta) -> pa.Table:
    """After each `every` of the attribute comes a silence of `length`: later rows happen that much later.

    >>> lulls(pa.table({"t": range(6)}), "t", every=2, length=10)["t"].to_pylist()
    [0, 1, 12, 13, 24, 25]
    """
    since, period = _since_first(table, attr, every)
    return _later(table, attr, since // period * distance_of(table, attr, length, name="length"))


def bursts(table: pa.Table, attr: str, every: int | timedelta, share: float) -> pa.Table:
    """In each `every` of the attribute all rows happen in the first `share` of it, the rest is silent.

    >>> bursts(pa.table({"t": range(0, 80, 10)}), "t", every=40, share=0.1)["t"].to_pylist()
    [0, 1, 2, 3, 40, 41, 42, 43]
    """
    if not 0 < share <= 1:
        raise SourceError(f"share is {share}, which leaves no time to happen in", hint="Give a share above 0, up to 1.")
    since, period = _since_first(table, attr, every)
    place = since % period
    return _later(table, attr, np.floor(place * share).astype(np.int64) - place)


def _since_first(table: pa.Table, attr: str, every: int | timedelta) -> tuple[np.ndarray, int]:
    """How far each row is from the least value, and the period in the same unit."""
    period = distance_of(table, attr, every, name="every")
    if period == 0:
        raise SourceError("every is 0, so nothing happens in between", hint="Give at least 1.")
    at = ticks_of(table, attr)
    return at - (at.min() if len(at) else 0), period


def _later(table: pa.Table, attr: str, by: np.ndarray) -> pa.Table:
    """The same rows, each happening so much later."""
    field = table.schema.field(attr)
    whole = pa.int32() if pa.types.is_date32(field.type) else pa.int64()
    moved = pa.array(ticks_of(table, attr) + by).cast(whole).cast(field.type)
    return table.set_column(table.schema.get_field_index(attr), field, moved)
