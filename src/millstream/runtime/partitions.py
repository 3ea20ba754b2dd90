"""How many partitions state is kept in."""

from __future__ import annotations

from typing import Any

from millstream.core.errors import PlanError


def check_partitions(asked: Any) -> int:
    """A number of partitions, if it is one.

    >>> check_partitions(2)
    2
    >>> check_partitions(0)
    Traceback (most recent call last):
    millstream.core.errors.PlanError: partitions=0 is not a number of partitions
    Hint: Give a whole number from 1 up.
    """
    if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:
        raise PlanError(f"partitions={asked!r} is not a number of partitions", hint="Give a whole number from 1 up.")
    return asked
