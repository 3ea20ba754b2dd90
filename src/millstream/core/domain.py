"""Ordered attributes as integers: a value is a tick, a length is a number of ticks.

Windows, panes and punctuation do integer arithmetic only. A `Domain` says how a timestamp, a date, an
integer or a decimal of fixed scale becomes ticks, and back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

from millstream.core.errors import PatternError, WindowError

BOTTOM = -(2**63)
"""The bound that says nothing: every tick may still come."""
END = 2**63 - 1
"""The bound after which nothing comes: end of stream."""

LONGEST = 2**61
"""No length has so many ticks or more, so that a few of them added to a value stay within 64 bits."""

TICKS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

_NANOS = {
    "nanosecond": 1, "ns": 1,
    "microsecond": 10**3, "us": 10**3,
    "millisecond": 10**6, "ms": 10**6, "milli": 10**6,
    "second": 10**9, "sec": 10**9, "s": 10**9,
    "minute": 60 * 10**9, "min": 60 * 10**9, "m": 60 * 10**9,
    "hour": 3600 * 10**9, "hr": 3600 * 10**9, "h": 3600 * 10**9,
    "day": 86400 * 10**9, "d": 86400 * 10**9,
    "week": 7 * 86400 * 10**9, "w": 7 * 86400 * 10**9,
}  # fmt: skip
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Kind(Enum):
    """What an ordered attribute is made of."""

    TIMESTAMP = "timestamp"
    DATE = "date"
    INTEGER = "integer"
    DECIMAL = "decimal"


def nanoseconds(duration: Any) -> int:
    """The length of a duration, text or a timedelta, in nanoseconds.

    >>> nanoseconds("1 minute 30 seconds") == 90 * 10**9
    True
    >>> nanoseconds("0.5 ms")
    500000
    """
    if isinstance(duration, timedelta):
        return ((duration.days * 86400 + duration.seconds) * 10**6 + duration.microseconds) * 1000
    if not isinstance(duration, str):
        raise WindowError(f"{duration!r} is not a duration", hint='Write one as "5 seconds".')
    total, position = Decimal(0), 0
    text = duration.removeprefix("INTERVAL").removeprefix("interval")
    while position < len(text):
        part = _PART.match(text, position)
        unit = "" if part is None else part[2].lower()
        scale = _NANOS.get(unit) or _NANOS.get(unit.removesuffix("s"))
        if part is None or scale is None:
            raise WindowError(
                f"{duration!r} is not a duration",
                hint='Write a number and a unit, as in "5 seconds", "1 minute 30 seconds" or "250 ms".',
            )
        total += Decimal(part[1]) * scale
        position = part.end()
    if position == 0 or total != int(total):
        raise WindowError(f"{duration!r} is not a duration", hint='Write one as "5 seconds".')
    return int(total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """How the values of one ordered attribute become ticks.

    >>> Domain(kind=Kind.TIMESTAMP, unit="ms").span("5 seconds")
    5000
    >>> Domain(kind=Kind.DECIMAL, scale=2).span("1.25")
    125
    """

    kind: Kind
    unit: str = "us"
    zone: str | None = None
    scale: int = 0

    def span(self, value: Any, *, what: str = "range") -> int:
        """The number of ticks in a length; durations for times, numbers for numbers."""
        ticks = self._span(value, what)
        if abs(ticks) >= LONGEST:
            raise WindowError(
                f"{what} {_shown(value)} is more than a {self.describe()} can span",
                hint="Give a shorter length." if self.kind is not Kind.TIMESTAMP else "Use a coarser timestamp type.",
            )
        return ticks

    def _span(self, value: Any, what: str) -> int:
        match self.kind:
            case Kind.TIMESTAMP:
                return self._time_span(value, TICKS_PER_SECOND[self.unit], what)
            case Kind.DATE:
                if isinstance(value, int) and not isinstance(value, bool):
                    return value
                return self._time_span(value, Decimal(1) / 86400, what)
            case Kind.INTEGER:
                if isinstance(value, bool) or not isinstance(value, int):
                    raise WindowError(
                        f"{what} {value!r} is not a whole number, and the attribute is an integer",
                        hint="A duration belongs to a timestamp; an integer attribute takes an integer.",
                    )
                return value
            case Kind.DECIMAL:
                return self._scaled(value, what)

    def point(self, value: Any, *, what: str = "value") -> int:
        """The tick of a value: a datetime, ISO text, a date, an integer or a decimal."""
        tick = self._point(value, what)
        if not BOTTOM < tick < END:
            raise PatternError(
                f"{what} {_shown(value)} is beyond every {self.describe()}", hint="Give a value nearer to zero."
            )
        return tick

    def _point(self, value: Any, what: str) -> int:
        try:
            match self.kind:
                case Kind.TIMESTAMP:
                    return self._instant(value)
                case Kind.DATE:
                    day = date.fromisoformat(value) if isinstance(value, str) else value
                    if isinstance(day, datetime):
                        day = day.date()
                    return day if isinstance(day, int) else (day - date(1970, 1, 1)).days
                case Kind.INTEGER:
                    if isinstance(value, float | Decimal) and value != int(value):
                        raise ValueError(value)
                    return int(value)
                case Kind.DECIMAL:
                    return self._scaled(value, what)
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise PatternError(
                f"{what} {value!r} is not {'an' if self.kind is Kind.INTEGER else 'a'} {self.kind.value}",
                hint=f"Give a value of the attribute's own type ({self.describe()}).",
            ) from error

    def value(self, tick: int) -> Any:
        """The Python value of a tick.

        >>> Domain(kind=Kind.DATE).value(1)
        datetime.date(1970, 1, 2)
        """
        match self.kind:
            case Kind.TIMESTAMP:
                micros = tick * 1_000_000 // TICKS_PER_SECOND[self.unit]
                moment = _EPOCH + timedelta(microseconds=micros)
                return moment if self.zone else moment.replace(tzinfo=None)
            case Kind.DATE:
                return date(1970, 1, 1) + timedelta(days=tick)
            case Kind.INTEGER:
                return tick
            case Kind.DECIMAL:
                return Decimal(tick).scaleb(-self.scale)

    def show(self, tick: int) -> str:
        """Text for people; the two ends are −∞ and ∞.

        >>> Domain(kind=Kind.INTEGER).show(7), Domain(kind=Kind.INTEGER).show(END)
        ('7', '∞')
        """
        if tick in (BOTTOM, END):
            return "∞" if tick == END else "−∞"
        try:
            value = self.value(tick)
        except OverflowError:
            return str(tick)
        return value.isoformat() if isinstance(value, date) else str(value)

    def show_span(self, ticks: int) -> str:
        """A length for people.

        >>> Domain(kind=Kind.TIMESTAMP).show_span(90_000_000), Domain(kind=Kind.DATE).show_span(2)
        ('90 s', '2 days')
        """
        match self.kind:
            case Kind.TIMESTAMP:
                return f"{Decimal(ticks) / TICKS_PER_SECOND[self.unit]:f} s"
            case Kind.DATE:
                return f"{ticks} days"
            case Kind.INTEGER:
                return str(ticks)
            case Kind.DECIMAL:
                return str(Decimal(ticks).scaleb(-self.scale))

    @property
    def tick_unit(self) -> str:
        """What one tick is: `us`, `days`, `1`, `0.01`."""
        match self.kind:
            case Kind.TIMESTAMP:
                return self.unit
            case Kind.DATE:
                return "days"
            case Kind.INTEGER:
                return "1"
            case Kind.DECIMAL:
                return str(Decimal(1).scaleb(-self.scale))

    def seconds(self, ticks: int) -> float | None:
        """A length in seconds; None for numbers, which have none.

        >>> Domain(kind=Kind.TIMESTAMP, unit="ms").seconds(2500), Domain(kind=Kind.INTEGER).seconds(5)
        (2.5, None)
        """
        match self.kind:
            case Kind.TIMESTAMP:
                return ticks / TICKS_PER_SECOND[self.unit]
            case Kind.DATE:
                return ticks * 86400.0
            case Kind.INTEGER | Kind.DECIMAL:
                return None

    def describe(self) -> str:
        """The type in a word or two: `timestamp[us, UTC]`, `decimal of scale 2`."""
        match self.kind:
            case Kind.TIMESTAMP:
                return f"timestamp[{self.unit}{', ' + self.zone if self.zone else ''}]"
            case Kind.DECIMAL:
                return f"decimal of scale {self.scale}"
            case _:
                return self.kind.value

    def _time_span(self, value: Any, per_second: int | Decimal, what: str) -> int:
        if not isinstance(value, str | timedelta):
            raise WindowError(
                f"{what} {value!r} has no unit, and the attribute is a {self.kind.value}",
                hint='Write a duration such as "5 seconds".',
            )
        ticks = Decimal(nanoseconds(value)) * per_second / 10**9
        whole = int(ticks.to_integral_value())
        if abs(ticks - whole) > Decimal("1e-9"):
            raise WindowError(
                f"{what} {value!r} is finer than the attribute's unit ({self.describe()})",
                hint="Use a coarser duration, or a finer timestamp type.",
            )
        return whole

    def _instant(self, value: Any) -> int:
        if isinstance(value, bool):
            raise TypeError(value)
        if isinstance(value, int):
            return value
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        micros = (moment - _EPOCH) // timedelta(microseconds=1)
        return micros * TICKS_PER_SECOND[self.unit] // 1_000_000

    def _scaled(self, value: Any, what: str) -> int:
        try:
            exact = Decimal(str(value)).scaleb(self.scale)
        except InvalidOperation:
            exact = Decimal("nan")
        if not exact.is_finite():
            raise WindowError(
                f"{what} {value!r} is not a number, and the attribute is a {self.describe()}",
                hint="Give a number no finer than the attribute's scale.",
            )
        if exact != int(exact):
            raise WindowError(
                f"{what} {value!r} is finer than the attribute's scale ({self.scale})",
                hint="Use at most that many digits after the point.",
            )
        return int(exact)


def _shown(value: Any) -> str:
    """A value for an error; Python refuses to write a number of some thousand digits."""
    long = isinstance(value, int) and value.bit_length() > 1000
    return f"of {value.bit_length()} bits" if long else repr(value)
