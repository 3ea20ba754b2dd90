"""Streams that arrive out of order by a known amount.

Every function gives each row an arrival time, no earlier than its attribute, and sorts by it: so a row
arrives before another only if its own delay allows it, and the greatest delay bounds the disorder.
Distances are in the units of the attribute: an integer, or a `timedelta` for timestamps and dates.
tests/laws/test_disorder.py holds each function to the promise in its first line.
"""

from collections.abc import Mapping
from datetime import timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from millstream.core.errors import SchemaError, SourceError, nearest

_STRETCH = 100  # rows that stray by one pattern
_NANOSECONDS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "day": 86_400_000_000_000}


def bounded(table: pa.Table, attr: str, span: int | timedelta, seed: int = 0) -> pa.Table:
    """Each row is delayed by less than `span`, so `attr` >= the greatest `attr` before it − `span`.

    >>> ordered = pa.table({"t": range(8)})
    >>> arrived = bounded(ordered, "t", 4, seed=1)
    >>> arrived["t"].to_pylist(), greatest(arrived, "t")
    ([0, 1, 4, 2, 5, 3, 6, 7], 2)
    """
    at = ticks_of(table, attr)
    distance = distance_of(table, attr, span, name="span")
    return _arrive(table, at + _dice(seed).integers(0, max(distance, 1), len(at)))


def banded(table: pa.Table, attr: str, span: int | timedelta, *, patterns: int = 10, seed: int = 0) -> pa.Table:
    """Delays below `span` in recurring patterns: each stretch of the stream strays as one of `patterns` does.

    A pattern is a hundred delays, drawn once; stretch after stretch of a hundred rows gets one of them at random. So
    some stretches stray little and others much, as traces of one network do.

    >>> banded(pa.table({"t": range(8)}), "t", 4, patterns=1, seed=1)["t"].to_pylist()
    [0, 2, 1, 4, 3, 5, 7, 6]
    """
    if patterns < 1:
        raise SourceError(f"patterns is {patterns}, so no row has a delay", hint="Give at least 1.")
    at = ticks_of(table, attr)
    distance = distance_of(table, attr, span, name="span")
    chance = _dice(seed)
    # A pattern has a reach of its own, and one of them the whole: else all stretches would stray alike.
    reach = np.maximum(1, distance * np.arange(1, patterns + 1) // patterns)
    delays = (chance.random((patterns, _STRETCH)) * reach[:, None]).astype(np.int64)
    picked = delays[chance.integers(0, patterns, -(-len(at) // _STRETCH))].reshape(-1)[: len(at)]
    return _arrive(table, at + picked)


def block_sorted(table: pa.Table, attr: str, block: int | timedelta, seed: int = 0) -> pa.Table:
    """Blocks of `block`, from multiples of it, arrive one after another; inside a block, in any order.

    So when the first row of a block arrives, a punctuation at the block's start is grammatical.

    >>> block_sorted(pa.table({"t": range(8)}), "t", 4, seed=2)["t"].to_pylist()
    [2, 3, 0, 1, 6, 5, 7, 4]
    """
    at = ticks_of(table, attr)
    distance = distance_of(table, attr, block, name="block")
    if distance == 0:
        raise SourceError("block is 0, so no row is in any block", hint="Give a block of at least 1.")
    shuffled = _dice(seed).permutation(len(at))
    return table.take(shuffled[np.argsort(at[shuffled] // distance, kind="stable")])


def late_minority(table: pa.Table, attr: str, delay: int | timedelta, share: float = 0.01, seed: int = 0) -> pa.Table:
    """The `share` of the rows, picked at random, arrive late by `delay`; all others arrive in order.

    >>> late_minority(pa.table({"t": range(8)}), "t", 3, share=0.25, seed=1)["t"].to_pylist()
    [0, 1, 2, 5, 3, 6, 4, 7]
    """
    if not 0 <= share <= 1:
        raise SourceError(f"share is {share}, which is not a share", hint="Give a number from 0 to 1.")
    at = ticks_of(table, attr)
    late = _dice(seed).choice(len(at), size=round(share * len(at)), replace=False)
    arrival = at.copy()
    arrival[late] += distance_of(table, attr, delay, name="delay")
    return _arrive(table, arrival)


def lag(
    table: pa.Table,
    attr: str,
    key: str,
    behind: Mapping[str, int | timedelta] | Mapping[int, int | timedelta],
) -> pa.Table:
    """Rows whose `key` is in `behind` arrive that much late; rows of one key stay in order.

    This is a union of sources whose clocks agree and whose delays do not.

    >>> both = pa.table({"t": range(6), "site": ["a", "b"] * 3})
    >>> lag(both, "t", "site", {"b": 3})["t"].to_pylist()
    [0, 2, 1, 4, 3, 5]
    """
    arrival = ticks_of(table, attr).copy()
    keys = _column(table, key)
    for value, span in behind.items():
        lagging = pc.fill_null(pc.equal(keys, pa.scalar(value, keys.type)), fill_value=False)
        arrival[lagging.to_numpy()] += distance_of(table, attr, span, name=f"lag of {value!r}")
    return _arrive(table, arrival)


def key_skew(table: pa.Table, attr: str, key: str, span: int | timedelta, seed: int = 0) -> pa.Table:
    """Each value of `key` arrives late by a delay of its own, below `span`; rows of one key stay in order.

    >>> both = pa.table({"t": range(6), "site": ["a", "b"] * 3})
    >>> key_skew(both, "t", "site", 4, seed=3)["t"].to_pylist()
    [1, 0, 3, 2, 5, 4]
    """
    at = ticks_of(table, attr)
    distance = distance_of(table, attr, span, name="span")
    codes = _column(table, key).combine_chunks().dictionary_encode(null_encoding="encode")
    delay = _dice(seed).integers(0, max(distance, 1), len(codes.dictionary))
    return _arrive(table, at + delay[codes.indices.to_numpy()])


def greatest(table: pa.Table, attr: str) -> int:
    """How far rows stray: the most, in units of `attr`, that one falls behind the greatest before it.

    >>> greatest(pa.table({"t": [1, 5, 2, 6]}), "t")
    3
    """
    at = ticks_of(table, attr)
    return int((np.maximum.accumulate(at) - at).max(initial=0))


def _dice(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed))


def _arrive(table: pa.Table, arrival: np.ndarray) -> pa.Table:
    return table.take(np.argsort(arrival, kind="stable"))


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise SchemaError(f'no column "{name}"', hint=nearest(name, table.column_names))
    return table.column(name)


def ticks_of(table: pa.Table, attr: str) -> np.ndarray:
    """The attribute as whole numbers of its own unit.

    >>> ticks_of(pa.table({"t": pa.array([5, 7], pa.timestamp("ms"))}), "t").tolist()
    [5, 7]
    """
    column = _column(table, attr)
    if column.null_count:
        raise SchemaError(f'"{attr}" has {column.null_count} nulls', hint="Fill or drop them first.")
    if pt.is_date32(column.type):
        column = column.cast(pa.int32())
    elif not (pt.is_integer(column.type) or pt.is_timestamp(column.type)):
        raise SchemaError(
            f'"{attr}" is {column.type}, which has no whole-number distance',
            hint="Use an integer, a date32 or a timestamp column.",
        )
    return column.cast(pa.int64()).to_numpy()


def distance_of(table: pa.Table, attr: str, span: int | timedelta, *, name: str) -> int:
    """`span` in the unit of the attribute."""
    kind = table.schema.field(attr).type
    if isinstance(span, int):
        distance = span
    elif pt.is_timestamp(kind) or pt.is_date32(kind):
        unit = kind.unit if pt.is_timestamp(kind) else "day"
        distance = span // timedelta(microseconds=1) * 1_000 // _NANOSECONDS[unit]
    else:
        raise SchemaError(f'{name} is a duration, but "{attr}" is {kind}', hint="Give a whole number.")
    if distance < 0:
        raise SourceError(f"{name} is {span}, which is negative", hint="Give 0 or more.")
    return distance
