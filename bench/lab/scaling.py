"""What a short run leaves out: of the values that are varied only the ends are tried, and nothing is repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def some(values: Sequence[T], scale: float) -> list[T]:
    """All of them at half of the usual scale or more, else the first and the last.

    >>> some([1, 3, 5, 9], 1), some([1, 3, 5, 9], 0.1)
    ([1, 3, 5, 9], [1, 9])
    """
    return list(values) if scale >= 0.5 else [values[0], values[-1]]


def rounds(usual: int, scale: float) -> int:
    """How often to repeat what is timed: once in a short run, whose times say little anyway."""
    return usual if scale >= 0.5 else 1
