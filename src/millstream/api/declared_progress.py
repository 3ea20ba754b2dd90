"""How a stream makes progress: the public functions for the generators of `core.generator`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from millstream.core.errors import PlanError
from millstream.core.generator import (
    BoundedDisorder,
    BoundedRows,
    Generator,
    IdleDisorder,
    Ordered,
    PerGroup,
    Step,
    Supplied,
    Timer,
)
from millstream.core.pattern import Equal, Pattern, UpTo
from millstream.runtime.punctuate import UserPunctuation

Span = str | int | timedelta | Any


def ordered(attribute: str) -> Ordered:
    """Rows arrive in order of `attribute`: the newest value is the bound."""
    return Ordered(attribute)


def bounded_disorder(
    attribute: str,
    span: Span = None,
    *,
    rows: int | None = None,
    idle: Span | None = None,
    clock: Callable[[], Any] | None = None,
) -> Generator:
    """No row is more than `span` behind the greatest value before it, or is overtaken by more than `rows` rows.

    With `idle`, a silent stream does not block others: after this time without a row, by the clock, its bound moves as
    fast as the clock. Later rows below the bound are late, as always. `clock` returns a value of the type of the
    attribute; the default is the system time in UTC.

    >>> bounded_disorder("ts", "5 seconds")
    BoundedDisorder(attribute='ts', span='5 seconds')
    >>> bounded_disorder("ts", rows=2)
    BoundedRows(attribute='ts', rows=2)
    """
    if (span is None) == (rows is None):
        raise PlanError(
            "bounded_disorder needs either a span or a number of rows",
            hint='Write bounded_disorder("ts", "5 seconds") or bounded_disorder("ts", rows=100).',
        )
    if idle is None:
        return BoundedDisorder(attribute, span) if rows is None else BoundedRows(attribute, rows)
    if rows is not None:
        raise PlanError(
            "disorder in rows has no idle: rows that do not come are not counted",
            hint='Give a span: bounded_disorder("ts", "5 seconds", idle="30 seconds").',
        )
    return IdleDisorder(attribute, span, idle, clock or _now)


def step(attribute: str, every: Span) -> Step:
    """Rows arrive in order; one punctuation each time `attribute` has advanced by `every`."""
    return Step(attribute, every)


def timer(attribute: str, every: Span, *, lull: Span | None = None, clock: Callable[[], Any] | None = None) -> Timer:
    """One punctuation per `every` of the clock: the greatest value so far, or in a lull the clock minus `lull`.

    `clock` returns a value of the type of the attribute; the default is the system time in UTC.
    """
    return Timer(attribute, every, lull, clock or _now)


def _now() -> datetime:
    return datetime.now(UTC)


def embedded(mark: str, attribute: str | None = None, *, per: str | list[str] | tuple[str, ...] = ()) -> Supplied:
    """The data contains punctuation: rows where column `mark` is true, or holds a pattern as text.

    With a boolean mark, the value of `attribute` is a bound, and other values must be equal; null means any value. For
    `per`, see `supplied`.
    """
    return Supplied(attribute, mark, _names(per))


def supplied(attribute: str | None = None, *, per: str | list[str] | tuple[str, ...] = ()) -> Supplied:
    """The caller supplies punctuation: in `ms.Epoch(rows, punctuations=[…])` or with `stream.punctuate(…)`.

    The arguments are a promise that queries rely on: bounds on `attribute`; with `per`, bounds per group of these
    columns; with `per` alone, the end of each group.

    >>> supplied("ts", per="sensor")
    Supplied(attribute='ts', mark=None, per=('sensor',))
    """
    return Supplied(attribute, None, _names(per))


def _names(keys: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(keys, str | list | tuple) or not all(isinstance(key, str) for key in keys):
        raise PlanError(f"per={keys!r} names no columns", hint='Give a column or several, as in per="sensor".')
    return (keys,) if isinstance(keys, str) else tuple(dict.fromkeys(keys))


def per_group(keys: str | list[str] | tuple[str, ...], inner: Generator) -> PerGroup:
    """Each group of `keys` makes progress on its own: a group that is complete early leaves early."""
    names = (keys,) if isinstance(keys, str) else tuple(dict.fromkeys(keys)) if isinstance(keys, list | tuple) else ()
    if not names or isinstance(inner, Supplied | PerGroup) or not hasattr(inner, "step"):
        raise PlanError(
            f"per_group({keys!r}, {type(inner).__name__}) makes no sense",
            hint="Give at least one key, and ordered(…), bounded_disorder(…), step(…) or timer(…).",
        )
    return PerGroup(names, inner)


def punctuation(attribute: str | None = None, *, before: Any = None, **equal: Any) -> UserPunctuation:
    """No later row (with these values) has `attribute` below `before`.

    >>> str(punctuation("ts", before=15, sensor="a").pattern)
    'sensor = a, ts < 15'
    """
    parts: dict[str, Any] = {name: Equal(value) for name, value in equal.items()}
    if attribute is not None:
        parts[attribute] = UpTo(before)
    return UserPunctuation(Pattern(parts))
