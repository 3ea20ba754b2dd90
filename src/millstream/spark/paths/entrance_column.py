"""The entrance as a column of Spark: what becomes of a row, by the tick of its progressing attribute."""

from __future__ import annotations

import pyarrow as pa

from millstream.core.entrance import Fate, cases
from millstream.core.quote import quoted
from millstream.spark.paths.native import INTEGERS


def is_ordered(kind: pa.DataType) -> bool:
    """Can Spark find the ticks of a column?"""
    return kind in INTEGERS or kind == pa.timestamp("us", tz="UTC") or pa.types.is_date32(kind)


def ticks(name: str, kind: pa.DataType) -> str:
    """The ticks of a column, as kernels have them.

    >>> ticks("ts", pa.timestamp("us", tz="UTC")), ticks("n", pa.int32())
    ('unix_micros(`ts`)', 'cast(`n` as bigint)')
    """
    if pa.types.is_timestamp(kind):
        return f"unix_micros({quoted(name)})"
    return f"cast({f'unix_date({quoted(name)})' if pa.types.is_date32(kind) else quoted(name)} as bigint)"


def fate(tick: str, bound: int, reach: int) -> str:
    """What becomes of a row with this tick, where earlier epochs gave this bound and windows above have this reach."""
    # A bound written into the code would make Spark compile anew every epoch; an array is passed by reference,
    # and one that is indexed by the row is not folded into a constant.
    known = f"element_at(array({bound}L, {bound}L), IF({tick} IS NULL, 2, 1))"
    texts = [f"WHEN {tick} IS NULL THEN {Fate.REJECTED:d}"]
    for case in cases(reach):
        limit = known if case.limit is None else f"{case.limit}L"
        texts.append(f"WHEN {tick} {'<' if case.below else '>='} {limit} THEN {case.fate:d}")
    return f"CASE {' '.join(texts)} ELSE {Fate.GOOD:d} END"
