"""Bags compared whole: what is missing, and what should not be there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


def difference(expected: Iterable[Any], actual: Iterable[Any]) -> dict[str, list[Any]]:
    """Empty if the two bags are the same: `assert {} == difference(expected, actual)` prints what is not."""
    wanted, got = Counter(map(freeze, expected)), Counter(map(freeze, actual))
    sides = {"missing": wanted - got, "unexpected": got - wanted}
    return {name: sorted(side.elements(), key=repr) for name, side in sides.items() if side}


def freeze(value: Any) -> Any:
    """The same value, hashable: dicts as sorted pairs, lists as tuples."""
    if isinstance(value, dict):
        return tuple((name, freeze(one)) for name, one in sorted(value.items()))
    if isinstance(value, list | tuple):
        return tuple(map(freeze, value))
    return value
