"""Bags of rows compared: one NaN, one zero, and floats to ten digits where an answer is said to be `near`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from support.bags import difference


def key_of(value: Any) -> Any:
    """A value by which rows are equal: NaN equals itself, -0.0 equals 0.0, and true is not 1."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list | tuple):
        return tuple(map(key_of, value))
    if isinstance(value, dict):
        return tuple((name, key_of(one)) for name, one in value.items())
    return value


def near_of(value: Any) -> Any:
    """A float to ten digits: variances are merged in any order, and logarithms differ in the last bit."""
    if isinstance(value, float) and math.isfinite(value) and value != 0:
        return 0.0 if abs(value) < 1e-7 else float(f"{value:.9e}")
    return key_of(value)


def frozen(row: Mapping[str, Any], near: Iterable[str] = ()) -> tuple[Any, ...]:
    """A row that can be counted."""
    rough = set(near)
    return tuple((name, near_of(value) if name in rough else key_of(value)) for name, value in sorted(row.items()))


def differs(
    expected: Iterable[Mapping[str, Any]], actual: Iterable[Mapping[str, Any]], near: Iterable[str] = ()
) -> dict[str, list[Any]]:
    """Empty if the bags are the same, else the first few rows on each side."""
    found = difference((frozen(row, near) for row in expected), (frozen(row, near) for row in actual))
    return {side: rows[:4] for side, rows in found.items()}
