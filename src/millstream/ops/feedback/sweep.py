"""Sweeps of doomed groups: partial answers that can only become such as nobody reads.

A count that is ignored from 50 on is doomed once it has reached 50: it never falls. So is a maximum from a bound
on, and a minimum below one. What an operator holds of such a group and window can go, if none of it is taken in again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.pattern import Between, Equal, Pattern, ValuePattern
from millstream.core.progress import Progress
from millstream.kernels.ticks import ordered_columns, to_ticks
from millstream.ops.feedback.peek import undone
from millstream.ops.guard import matched
from millstream.ops.operator import Operator

MOST = 128
"""Doomed groups of a node that are told apart at a time; others are answered, and looked at when they are complete."""


def doomed(operator: Operator, records: Records, groups: Sequence[str]) -> Records:
    """The groups and windows of an aggregate whose partial answers match already."""
    return _cells(partial_answers(operator), records, groups)


def doomed_in_store(
    store: Operator,
    asked: Mapping[int, tuple[Records, Sequence[str]]],
    take: Callable[[int, pa.Table], Iterable[pa.Table]],
) -> dict[int, Records]:
    """The same by outlet of a store; `asked` are what is swept and the groups, `take` makes answers of what leaves."""
    with undone([store]):
        store.guards = None
        store.advance(0, Progress(ended=True))
        sent = list(store.sent)
    out: dict[int, Records] = {}
    for outlet, (records, groups) in asked.items():
        tables = [table for at, rows in sent if at == outlet for table in take(outlet, rows)]
        if found := _cells(tables, records, groups):
            out[outlet] = found
    return out


def partial_answers(operator: Operator) -> list[pa.Table]:
    """What an operator would answer if its stream ended now; it is as it was afterwards."""
    with undone([operator]):
        operator.guards = None
        return operator.advance(0, Progress(ended=True))


def _cells(tables: Iterable[pa.Table], records: Records, groups: Sequence[str]) -> Records:
    """The groups and windows of the answers that match, as patterns. Nulls are no values that a pattern can name."""
    names = [*groups, "window_start"]
    found = [matched(records, table).select(names).drop_null() for table in tables]
    rows = pa.concat_tables(found).slice(0, MOST) if found else None
    if rows is None or not rows.num_rows:
        return ()
    ordered = ordered_columns(rows.schema)
    columns = {name: _values(rows[name], ordered=name in ordered) for name in names}
    return tuple(Pattern(dict(zip(columns, values, strict=True))) for values in zip(*columns.values(), strict=True))


def _values(column: pa.ChunkedArray, *, ordered: bool) -> list[ValuePattern]:
    values: list[Any] = to_ticks(column).tolist() if ordered else column.to_pylist()
    return [Between(one, one + 1) if ordered else Equal(one) for one in values]
