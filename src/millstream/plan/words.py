"""Words that nodes of several kinds have in common."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from millstream.core.expression import Expression

KEPT = {"inner": "", "left": "left "}
"""By how a look for partners goes: what is said of it."""


def listed(names: Iterable[str]) -> str:
    """Names by commas."""
    return ", ".join(names)


def either(*ways: str) -> str:
    """What can be done, as a sentence.

    >>> either("bound it", "or let it end")
    'Bound it; or let it end.'
    """
    said = "; or ".join(way.removeprefix("or ") for way in ways)
    return f"{said[:1].upper()}{said[1:]}."


def all_of(keys: Sequence[tuple[str, str]], condition: Expression | None) -> str:
    """Everything that must hold of a pair."""
    parts = [f"{left} = {right}" for left, right in keys]
    return " and ".join([*parts, *([] if condition is None else [str(condition)])])
