"""How a stream progresses: the user's words for the generators of `core.generator`."""

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
    """Rows come in order of `attribute`: the newest value is the bound."""
    return Ordered(attribute)


def bounded_disorder(
    attribute: str,
    span: Span = None,
    *,
    rows: int | None = None,
    idle: Span | None = None,
    clock: Callable[[], Any] | None = None,
) -> Generator:
    """No row comes more than `span` behind the greatest value before it, or is delayed by more than `rows` rows.

    With `idle`, a stream that is silent holds nobody up: after so long without a row, by the clock, its bound moves on
    as fast as the clock does. Rows that come later are judged by it as by any other bound. `clock` returns a value of
    the attribute's type; the default is the system's time in UTC.

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
    """Rows come in order; a punctuation each time `attribute` has advanced by `every`."""
    return Step(attribute, every)


def timer(attribute: str, every: Span, *, lull: Span | None = None, clock: Callable[[], Any] | None = None) -> Timer:
    """A punctuation each `every` of the clock: the greatest value seen, or in a lull the clock less `lull`.

    `clock` returns a value of the attribute's type; the default is the system's time in UTC.
    """
    return Timer(attribute, every, lull, clock or _now)


def _now() -> datetime:
    return datetime.now(UTC)


def embedded(mark: str, attribute: str | None = None, *, per: str | list[str] | tuple[str, ...] = ()) -> Supplied:
    """The data carries its punctuation: rows where column `mark` is true, or holds a pattern as text.

    With a boolean mark, `attribute` is the one whose value is a bound; other values must be equal; null is any. `per`
    is as for `supplied`.
    """
    return Supplied(attribute, mark, _names(per))


def supplied(attribute: str | None = None, *, per: str | list[str] | tuple[str, ...] = ()) -> Supplied:
    """The caller hands punctuation over: in `ms.Epoch(rows, punctuations=[…])` or with `stream.punctuate(…)`.

    What is named here is promised, so that a query can count on it: a bound on `attribute`; with `per`, a bound for
    each group of these columns apart; with `per` alone, the end of each group.

    >>> supplied("ts", per="sensor")
    Supplied(attribute='ts', mark=None, per=('sensor',))
    """
    return Supplied(attribute, None, _names(per))


def _names(keys: str | list[str] | tuple[str, ...]) -> tuple[str, ...]:
    if not isinstance(keys, str | list | tuple) or not all(isinstance(key, str) for key in keys):
        raise PlanError(f"per={keys!r} names no columns", hint='Give a column or several, as in per="sensor".')
    return (keys,) if isinstance(keys, str) else tuple(dict.fromkeys(keys))


def per_group(keys: str | list[str] | tuple[str, ...], inner: Generator) -> PerGroup:
    """Each group of `keys` progresses by itself: a group that is done early leaves early."""
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
