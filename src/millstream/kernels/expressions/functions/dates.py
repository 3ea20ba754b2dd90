"""Parts of dates and times, and days moved and counted."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import (
    Binding,
    BoundTerm,
    Failed,
    Result,
    RowError,
    Value,
    is_null,
    rowwise,
    strict,
)
from millstream.kernels.expressions.casts import DAY, cast, numpy_of
from millstream.kernels.expressions.fit import date, fixed, stamp, text, whole
from millstream.kernels.expressions.function_registry import function
from millstream.kernels.expressions.intervals import months_later
from millstream.kernels.expressions.zones import civil, days_of, from_local, length_of_month, to_local

_FAMILY = "dates and times"
OfDays = Callable[[np.ndarray], np.ndarray]
_NAMES = {"su": 3, "mo": 4, "tu": 5, "we": 6, "th": 0, "fr": 1, "sa": 2}
_LONG = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")


def _iso_week(days: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The year and number of the week that has the day's Thursday."""
    thursday = days - np.mod(days + 3, 7) + 3
    year = civil(thursday)[0]
    first = days_of(year, np.ones_like(year), np.ones_like(year))
    return year, (thursday - first) // 7 + 1


def _of_year(days: np.ndarray) -> np.ndarray:
    year = civil(days)[0]
    return days - days_of(year, np.ones_like(year), np.ones_like(year)) + 1


PARTS: dict[str, OfDays] = {
    "year": lambda d: civil(d)[0],
    "quarter": lambda d: (civil(d)[1] + 2) // 3,
    "month": lambda d: civil(d)[1],
    "day": lambda d: civil(d)[2],
    "dayofweek": lambda d: np.mod(d + 4, 7) + 1,
    "weekday": lambda d: np.mod(d + 3, 7),
    "dayofyear": _of_year,
    "weekofyear": lambda d: _iso_week(d)[1],
    "yearofweek": lambda d: _iso_week(d)[0],
    "dayofweek_iso": lambda d: np.mod(d + 3, 7) + 1,
}


def _part(node: BoundTerm, name: str) -> BoundTerm:
    compute = PARTS[name]
    return strict(
        t.INT, [node], lambda v: numpy_of(lambda d: compute(d.astype(np.int64)).astype(np.int32), v.cast(t.INT), t.INT)
    )


def _registered(name: str, *aliases: str) -> None:
    @function(name, _FAMILY, (1, 1), *aliases)
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        return _part(date(parts[0], bound, name), name)


for _name in ("year", "quarter", "month", "dayofweek", "weekday", "dayofyear", "weekofyear"):
    _registered(_name)
_registered("day", "dayofmonth")

_CLOCK = {"hour": (3_600_000_000, 24), "minute": (60_000_000, 60), "second": (1_000_000, 60)}


def _clocked(node: BoundTerm, name: str, bound: Binding) -> BoundTerm:
    unit, most = _CLOCK[name]
    local = local_of(node, bound, name)
    return strict(
        t.INT, [local], lambda v: numpy_of(lambda m: (np.floor_divide(m, unit) % most).astype(np.int32), v, t.INT)
    )


def local_of(node: BoundTerm, bound: Binding, name: str) -> BoundTerm:
    """The microseconds of the wall clock."""
    if node.kind == t.LOCAL:
        return strict(t.LONG, [node], lambda value: value.cast(t.LONG))
    return strict(t.LONG, [stamp(node, bound, name)], lambda value: to_local(value, bound.zone))


def _of_clock(name: str) -> None:
    @function(name, _FAMILY, (1, 1))
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        return _clocked(parts[0], name, bound)


for _name in _CLOCK:
    _of_clock(_name)

_FIELDS = {
    "year": "year", "y": "year", "years": "year", "yr": "year", "yrs": "year", "quarter": "quarter", "qtr": "quarter",
    "month": "month", "mon": "month", "mons": "month", "months": "month", "week": "weekofyear", "w": "weekofyear",
    "weeks": "weekofyear", "day": "day", "d": "day", "days": "day", "dayofweek": "dayofweek", "dow": "dayofweek",
    "dayofweek_iso": "dayofweek_iso", "dow_iso": "dayofweek_iso", "doy": "dayofyear", "yearofweek": "yearofweek",
    "hour": "hour", "h": "hour", "hours": "hour", "hr": "hour", "hrs": "hour", "minute": "minute", "m": "minute",
    "min": "minute", "mins": "minute", "minutes": "minute", "second": "second", "s": "second", "sec": "second",
    "seconds": "second", "secs": "second",
}  # fmt: skip


@function("date_part", _FAMILY, (2, 2), "datepart")
def _date_part(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    said = str(fixed(parts[0], "extract", "the field")).lower()
    name = _FIELDS.get(said)
    if name is None:
        raise ExpressionError(f"extract has no field {said!r}", hint=f"Choose one of {', '.join(sorted(_FIELDS))}.")
    if name == "second":
        local = local_of(parts[1], bound, "extract")
        kind = pa.decimal128(8, 6)
        return strict(kind, [local], lambda value: _seconds(value, kind))
    if name in _CLOCK:
        return _clocked(parts[1], name, bound)
    return _part(date(parts[1], bound, "extract"), name)


def _seconds(value: Value, kind: pa.DataType) -> Value:
    micros = [None if one is None else one % 60_000_000 for one in value.to_pylist()]
    return pa.array([None if one is None else Decimal(one).scaleb(-6) for one in micros], kind)


# --- days ------------------------------------------------------------------------------------------


def _shifted(name: str, sign: int, *aliases: str) -> None:
    @function(name, _FAMILY, (2, 2), *aliases)
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        by = whole(parts[1], bound, name)
        return strict(t.DATE, [date(parts[0], bound, name), by], lambda v, n: _plus(v, n, sign))


def _plus(value: Value, by: Value, sign: int) -> Value:
    nulls = is_null(value) | is_null(by)
    days, n = (pc.fill_null(one.cast(t.INT), 0).to_numpy(zero_copy_only=False).astype(np.int64) for one in (value, by))
    return pa.array((days + sign * n).astype(np.int32), t.INT, mask=nulls).cast(t.DATE)


_shifted("date_add", 1, "dateadd")
_shifted("date_sub", -1)


@function("datediff", _FAMILY, (2, 2), "date_diff")
def _datediff(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    one, other = (date(part, bound, "datediff") for part in parts)
    return strict(t.INT, [one, other], lambda a, b: pc.subtract(a.cast(t.INT), b.cast(t.INT)))


@function("add_months", _FAMILY, (2, 2))
def _add_months(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    def run(value: Value, by: Value) -> Result:
        nulls = is_null(value) | is_null(by)
        days = pc.fill_null(value.cast(t.INT), 0).to_numpy(zero_copy_only=False).astype(np.int64)
        months = pc.fill_null(by, 0).to_numpy(zero_copy_only=False).astype(np.int64)
        made = months_later(days, months)
        far = (made < -(2**31)) | (made >= 2**31)
        out = pa.array(np.where(far, 0, made).astype(np.int32), t.INT, mask=nulls).cast(t.DATE)
        return out, Failed.where(far & ~nulls, "overflow of DATE")

    return strict(t.DATE, [date(parts[0], bound, "add_months"), whole(parts[1], bound, "add_months")], run, total=False)


@function("last_day", _FAMILY, (1, 1))
def _last_day(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    def last(days: np.ndarray) -> np.ndarray:
        year, month, _ = civil(days)
        return days_of(year, month, length_of_month(year, month)).astype(np.int32)

    return strict(
        t.DATE, [date(parts[0], bound, "last_day")], lambda v: numpy_of(last, v.cast(t.INT), t.INT).cast(t.DATE)
    )


@function("next_day", _FAMILY, (2, 2))
def _next_day(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    def one(days: int, name: str) -> int | None:
        word = name.strip().lower()
        known = word in _LONG or (len(word) in (2, 3) and any(day.startswith(word) for day in _LONG))
        if not known:
            if bound.ansi:
                raise RowError(f"'{name}' is no day of the week")
            return None
        # Day 0 was a Thursday.
        wanted = _NAMES[word[:2]]
        return days + 1 + (wanted - days - 1) % 7

    made = rowwise(
        t.INT, [date(parts[0], bound, "next_day"), text(parts[1], bound, "next_day")], one, total=not bound.ansi
    )
    return strict(t.DATE, [made], lambda value: value.cast(t.DATE))


@function("months_between", _FAMILY, (2, 3))
def _months_between(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    one, other = (stamp(part, bound, "months_between") for part in parts[:2])
    rounds = bool(fixed(parts[2], "months_between", "the rounding")) if len(parts) == 3 else True

    def day(node: BoundTerm) -> BoundTerm:
        return strict(
            t.LONG, [node], lambda v: numpy_of(lambda m: np.floor_divide(m, DAY), to_local(v, bound.zone), t.LONG)
        )

    def since(node: BoundTerm) -> BoundTerm:
        """The time since the day began, which is not the wall clock's where that was moved."""
        start = strict(t.STAMP, [day(node)], lambda days: from_local(pc.multiply(days, DAY), bound.zone))
        return strict(t.LONG, [node, start], lambda a, b: pc.subtract(a.cast(t.LONG), b.cast(t.LONG)))

    def compute(days_a: int, rest_a: int, days_b: int, rest_b: int) -> float:
        (y1, m1, d1), (y2, m2, d2) = (tuple(int(p[0]) for p in civil(np.array([d]))) for d in (days_a, days_b))
        months = float((y1 - y2) * 12 + m1 - m2)
        ends = [d == int(length_of_month(np.array([y]), np.array([m]))[0]) for y, m, d in ((y1, m1, d1), (y2, m2, d2))]
        if d1 == d2 or all(ends):
            return months
        seconds = (d1 - d2) * 86_400 + rest_a // 1_000_000 - rest_b // 1_000_000
        found = months + seconds / (31.0 * 86_400)
        return round_half_up(found) if rounds else found

    return rowwise(t.DOUBLE, [day(one), since(one), day(other), since(other)], compute)


def round_half_up(number: float) -> float:
    """To eight places, as Java's BigDecimal."""
    from decimal import ROUND_HALF_UP  # noqa: PLC0415 - only here

    return float(Decimal(repr(number)).quantize(Decimal("1e-8"), ROUND_HALF_UP))


@function("make_date", _FAMILY, (3, 3))
def _make_date(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    def one(year: int, month: int, day: int) -> int | None:
        y, m = np.array([year]), np.array([month])
        if not 1 <= month <= 12 or not 1 <= day <= int(length_of_month(y, m)[0]) or abs(year) > 999_999_999:
            if bound.ansi:
                raise RowError(f"there is no date {year}-{month}-{day}")
            return None
        return int(days_of(y, m, np.array([day]))[0])

    made = rowwise(t.INT, [whole(part, bound, "make_date") for part in parts], one, total=not bound.ansi)
    return strict(t.DATE, [made], lambda value: value.cast(t.DATE))


@function("unix_date", _FAMILY, (1, 1))
def _unix_date(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return strict(t.INT, [date(parts[0], bound, "unix_date")], lambda value: value.cast(t.INT))


@function("date_from_unix_date", _FAMILY, (1, 1))
def _from_unix_date(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return strict(t.DATE, [whole(parts[0], bound, "date_from_unix_date")], lambda value: value.cast(t.DATE))


@function("trunc", _FAMILY, (2, 2))
def _trunc(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    from millstream.kernels.expressions.functions.times import LEVELS, truncated  # noqa: PLC0415 - they need parts

    level = LEVELS.get(str(fixed(parts[1], "trunc", "the unit")).lower())
    node = date(parts[0], bound, "trunc")
    if level not in ("year", "quarter", "month", "week"):
        return cast(strict(t.DATE, [node], lambda value: pa.nulls(len(value), t.DATE)), t.DATE, bound)

    def first(days: np.ndarray) -> np.ndarray:
        return truncated(days.astype(np.int64), level).astype(np.int32)

    return strict(t.DATE, [node], lambda value: numpy_of(first, value.cast(t.INT), t.INT).cast(t.DATE))
