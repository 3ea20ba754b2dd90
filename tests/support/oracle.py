"""The naive answer: what each window holds, by the definition, one row at a time."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Row = dict[str, Any]
Answer = tuple[Any, ...]


def sliding(
    rows: Iterable[Row], attribute: str, size: int, slide: int, start: int | None = None
) -> dict[int, list[Row]]:
    """The rows of each window that has any, by trying every window near a row."""
    out: dict[int, list[Row]] = {}
    base = start or 0
    for row in rows:
        value = row[attribute]
        near = (value - base) // slide
        for wid in range(near - 1, near + size // slide + 3):
            low, high = base + (wid + 1) * slide - size, base + (wid + 1) * slide
            if low <= value < high and (start is None or wid >= 0):
                out.setdefault(wid, []).append(row)
    return out


def landmark(rows: list[Row], attribute: str, slide: int, until: int) -> dict[int, list[Row]]:
    """Everything below the end of each window, up to window `until`."""
    first = min(row[attribute] for row in rows) // slide
    return {wid: [row for row in rows if row[attribute] < (wid + 1) * slide] for wid in range(first, until + 1)}


def by_tuple(rows: list[Row], attribute: str, size: int, every: int, *, rank: bool) -> dict[int, list[Row]]:
    """The rows that each n-th row, by arrival or by rank, looks back on."""
    values = [row[attribute] for row in rows]
    ordered = sorted(values) if rank else values
    ends = {value for i, value in enumerate(ordered, 1) if i % every == 0}
    return {end: [row for row in rows if end - size < row[attribute] <= end] for end in ends}


def sessions(rows: list[Row], attribute: str, gap: int) -> dict[int, list[Row]]:
    """Rows chained by gaps, under the value of the first."""
    out: dict[int, list[Row]] = {}
    last: int | None = None
    start = 0
    for row in sorted(rows, key=lambda one: one[attribute]):
        if last is None or row[attribute] > last + gap:
            start = row[attribute]
        last = row[attribute]
        out.setdefault(start, []).append(row)
    return out


def answers(
    windows: Mapping[int, list[Row]],
    groups: tuple[str, ...],
    aggregates: Mapping[str, Callable[[list[Row]], Any]],
) -> list[Answer]:
    """(window, group…, aggregate…) for every non-empty (window, group)."""
    out: list[Answer] = []
    for wid, rows in windows.items():
        cells: dict[tuple[Any, ...], list[Row]] = {}
        for row in rows:
            cells.setdefault(tuple(row[name] for name in groups), []).append(row)
        out += [(wid, *key, *(fn(cell) for fn in aggregates.values())) for key, cell in cells.items()]
    return sorted(out, key=repr)


def result(found: Any, groups: tuple[str, ...], names: Iterable[str]) -> list[Answer]:
    """A query's results, as a table or as rows, in the same form."""
    columns = ["window_id", *groups, *names]
    rows = found if isinstance(found, list) else found.to_pylist()
    return sorted((tuple(row[name] for name in columns) for row in rows), key=repr)


def values_of(rows: list[Row], name: str) -> list[Any]:
    """The values that are there."""
    return [row[name] for row in rows if row[name] is not None]


def median(rows: list[Row], name: str) -> float | None:
    """The middle, or the mean of the two."""
    found = values_of(rows, name)
    return float(statistics.median(found)) if found else None
