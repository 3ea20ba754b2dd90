"""Models of disorder, each with the true progress of the stream that it makes.

`disorder` and `pace` say how rows stray and when they happen; these functions give the stream together with how far it
has come after each row, which is what punctuation is measured by.

    bounded         each row is delayed by chance, by less than a span
    banded          the same by recurring patterns, as traces stray
    block_sorted    blocks one after another, in any order inside
    late_minority   a few rows are late by one delay
    lagging         the rows of some sources are late, each source by its own
    skewed_keys     every key has a delay of its own
    with_lulls      silences, after which the stream goes on
    in_bursts       rows crowd together, then nothing

>>> ordered = pa.table({"t": range(8)})
>>> stream = bounded(ordered, "t", 4, seed=1)
>>> stream.rows["t"].to_pylist(), stream.bounds.tolist()
([0, 1, 4, 2, 5, 3, 6, 7], [1, 2, 2, 3, 3, 6, 7, 8])
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pyarrow as pa

from millstream.workload import disorder, pace
from millstream.workload.arrival import Arrival, arrive

Span = int | timedelta


def bounded(table: pa.Table, attr: str, span: Span, seed: int = 0) -> Arrival:
    """Each row delayed by less than `span`."""
    return arrive(disorder.bounded(table, attr, span, seed), attr)


def banded(table: pa.Table, attr: str, span: Span, *, patterns: int = 10, seed: int = 0) -> Arrival:
    """Delays below `span` in recurring patterns."""
    return arrive(disorder.banded(table, attr, span, patterns=patterns, seed=seed), attr)


def block_sorted(table: pa.Table, attr: str, block: Span, seed: int = 0) -> Arrival:
    """Blocks of `block` one after another, shuffled inside."""
    return arrive(disorder.block_sorted(table, attr, block, seed), attr)


def late_minority(table: pa.Table, attr: str, delay: Span, share: float = 0.01, seed: int = 0) -> Arrival:
    """The `share` of the rows late by `delay`."""
    return arrive(disorder.late_minority(table, attr, delay, share, seed), attr)


def lagging(table: pa.Table, attr: str, key: str, behind: Mapping[str, Span] | Mapping[int, Span]) -> Arrival:
    """Rows whose `key` is in `behind` late by that much; `bounds_of(key)` is the progress of each source."""
    return arrive(disorder.lag(table, attr, key, behind), attr)


def skewed_keys(table: pa.Table, attr: str, key: str, span: Span, seed: int = 0) -> Arrival:
    """Every value of `key` late by a delay of its own, below `span`; `bounds_of(key)` is the progress of each."""
    return arrive(disorder.key_skew(table, attr, key, span, seed), attr)


def with_lulls(table: pa.Table, attr: str, every: Span, length: Span) -> Arrival:
    """Silences of `length` after each `every`: before one, the true progress is already beyond it."""
    return arrive(pace.lulls(table, attr, every, length), attr)


def in_bursts(table: pa.Table, attr: str, every: Span, share: float) -> Arrival:
    """All rows of each `every` in the first `share` of it."""
    return arrive(pace.bursts(table, attr, every, share), attr)
