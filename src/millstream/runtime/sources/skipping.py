"""What a source may leave unread: parts of files all of whose rows are ignored, by the statistics of their columns.

Late and rejected rows are judged, and progress is taken, before any row is dropped. So a part is left unread only if
its statistics say that it has no such rows, how many rows it has, and how far its times go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.core.domain import BOTTOM, END
from millstream.core.feedback import Records
from millstream.core.generator import BoundedDisorder, Ordered, Step
from millstream.core.pattern import AnyValue, Between, Equal, From, OneOf, UpTo, ValuePattern
from millstream.core.progress import Progress
from millstream.kernels.ticks import ordered_columns, to_ticks
from millstream.ops.guard import Guards
from millstream.plan import nodes
from millstream.runtime.batch import Unread


@dataclass(frozen=True, slots=True)
class Extremes:
    """The least and the greatest value of a column in a part of a file, none of which is null."""

    low: Any
    high: Any


@dataclass(frozen=True, slots=True)
class Skips:
    """Which rows of a stream are ignored, and by what others are judged."""

    records: Records
    attribute: str
    bound: int
    """Rows below are late."""

    @classmethod
    def of(cls, node: nodes.Source, guards: Guards | None, known: Progress) -> Skips | None:
        """For a stream that progresses by the greatest value of a column; None if all of it must be read."""
        if guards is None or not guards.output or not by_greatest(node) or not linear(known):
            return None
        return cls(guards.output, node.progress.attribute, max(known.bound(node.progress.attribute), BOTTOM))

    def unread(self, rows: int, columns: Mapping[str, Extremes], schema: pa.Schema) -> Unread | None:
        """What is known of a part that need not be read; None if it must be. Columns with nulls are not given."""
        if self.attribute not in columns or not rows:
            return None
        ordered = ordered_columns(schema)
        ticks = {
            name: _ticks(one, schema.field(name).type) if name in ordered else one for name, one in columns.items()
        }
        time = ticks[self.attribute]
        if time is None or time.low < max(self.bound, BOTTOM + 1) or time.high >= END:
            return None
        for record in self.records:
            found = {name: ticks.get(name) for name in record.attributes}
            if all(one is not None and _holds(record.attributes[name], one) for name, one in found.items()):
                return Unread(rows, time.high)
        return None


def by_greatest(node: nodes.Source) -> bool:
    """Does a stream progress by the greatest value of a column that has come, and by nothing else?"""
    return not node.raw and isinstance(node.progress, Ordered | BoundedDisorder | Step)


def linear(progress: Progress) -> bool:
    """Is all that was promised a bound on columns, so that rows are late by that alone?"""
    return not (progress.ended or progress.grouped or progress.over or progress.others)


def _ticks(one: Extremes, kind: pa.DataType) -> Extremes | None:
    try:
        low, high = to_ticks(pa.array([one.low, one.high], kind)).tolist()
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return Extremes(low, high)


def _holds(said: ValuePattern, one: Extremes) -> bool:
    """Does a pattern match every value from the least to the greatest?

    >>> _holds(UpTo(5), Extremes(1, 4)), _holds(UpTo(5), Extremes(1, 5)), _holds(Equal("a"), Extremes("a", "a"))
    (True, False, True)
    """
    try:
        match said:
            case AnyValue():
                return True
            case UpTo(bound):
                return bool(one.high < bound)
            case From(bound):
                return bool(one.low >= bound)
            case Between(low, high):
                return bool(one.low >= low and one.high < high)
            case Equal(value):
                return bool(one.low == one.high == value)
            case OneOf(values):
                return one.low == one.high and one.low in values
    except TypeError:  # values of two types
        return False
