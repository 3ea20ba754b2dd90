"""Aggregates by what a strategy may do with them, each with its definition over plain rows.

Rows have `ts` and `v` (nullable integers) and `f` (nullable quarters: sums of them are exact in any order).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import millstream as ms
from millstream.core.aggregate import AggregateCall
from support.oracle import Row, median, values_of


class Aggregate(NamedTuple):
    """An aggregate as a user calls it, and as it is defined."""

    call: AggregateCall
    define: Callable[[list[Row]], Any]


def total(rows: list[Row], name: str) -> Any:
    """The sum, or null of nothing."""
    return sum(values_of(rows, name)) if values_of(rows, name) else None


def mode(rows: list[Row]) -> Any:
    """The most frequent, the smallest of several."""
    times = Counter(values_of(rows, "v"))
    return min((v for v in times if times[v] == max(times.values())), default=None)


def at_greatest(rows: list[Row], by: str) -> Any:
    """The smallest value among the rows with the greatest key."""
    there = [row for row in rows if row["v"] is not None]
    return min((row["v"] for row in there if row[by] == max(one[by] for one in there)), default=None)


def hitters(rows: list[Row], share: float) -> Any:
    """The values with at least that share of the rows, the most frequent first."""
    times = Counter(values_of(rows, "v"))
    found = [(v, n) for v, n in times.items() if n >= share * sum(times.values())]
    return [{"value": v, "count": n} for v, n in sorted(found, key=lambda one: (-one[1], one[0]))]


DIFFERENTIAL = {
    "n": Aggregate(ms.count(), len),
    "nv": Aggregate(ms.count("v"), lambda rows: len(values_of(rows, "v"))),
    "s": Aggregate(ms.sum("v"), lambda rows: total(rows, "v")),
    "a": Aggregate(
        ms.avg("v"), lambda rows: total(rows, "v") / len(values_of(rows, "v")) if values_of(rows, "v") else None
    ),
}
BOUNDED = {
    "mx": Aggregate(ms.max("v"), lambda rows: max(values_of(rows, "v"), default=None)),
    "mn": Aggregate(ms.min("v"), lambda rows: min(values_of(rows, "v"), default=None)),
    "fs": Aggregate(ms.sum("f"), lambda rows: total(rows, "f")),
    "lb": Aggregate(ms.max_by("v", "ts"), lambda rows: at_greatest(rows, "ts")),
}
HOLISTIC = {
    "d": Aggregate(ms.count_distinct("v"), lambda rows: len(set(values_of(rows, "v")))),
    "md": Aggregate(ms.median("v"), lambda rows: median(rows, "v")),
    "mo": Aggregate(ms.mode("v"), mode),
}
COMPUTED = {
    "ok": Aggregate(
        ms.bool_or("v > 4"), lambda rows: any(v > 4 for v in values_of(rows, "v")) if values_of(rows, "v") else None
    ),
    "sf": Aggregate(ms.sum("v", filter="v > 3"), lambda rows: total([row for row in rows if (row["v"] or 0) > 3], "v")),
}
FAMILIES = {"differential": DIFFERENTIAL, "bounded": BOUNDED, "holistic": HOLISTIC, "computed": COMPUTED}
