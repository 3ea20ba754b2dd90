"""When two values are one key: the one definition of equality that grouping, punctuation and joins share.

Null is a key of its own. NaN is one key, whatever its bits, and is greater than every other number. 0.0 and -0.0 are
one key. Decimals are equal by value, whatever their scale. Texts are equal to the letter, capitals included.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class NaN(float):
    """NaN that is equal to NaN, so that it can be a key.

    >>> NAN == float("nan"), float("nan") == NAN, NAN == 1.0, {(NAN,): "found"}[(NaN("nan"),)]
    (True, True, False, 'found')
    """

    def __eq__(self, other: object) -> bool:
        """Is the other one NaN too?"""
        return _is_nan(other)

    def __ne__(self, other: object) -> bool:
        """Is it anything else?"""
        return not self == other

    def __hash__(self) -> int:
        """The same for every NaN."""
        return 0

    def __reduce__(self) -> tuple[type[NaN], tuple[str]]:
        """On its way to another process it stays what it is."""
        return NaN, ("nan",)


NAN = NaN("nan")


def canonical(value: Any) -> Any:
    """The value that stands for all that are equal to it as keys.

    >>> canonical(float("nan")) is NAN, canonical(None), canonical(-0.0)
    (True, None, 0.0)
    """
    if not isinstance(value, float):
        return value
    return NAN if _is_nan(value) else value + 0.0  # which turns -0.0 into 0.0


def key_of(values: Iterable[Any]) -> tuple[Any, ...]:
    """Some values as a key.

    >>> key_of([float("nan"), "a"]) == key_of([float("nan"), "a"])
    True
    """
    return tuple(map(canonical, values))


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and float.__ne__(value, value)
