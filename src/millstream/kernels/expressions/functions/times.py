"""Timestamps: truncated, from and to numbers, and between zones."""

from __future__ import annotations

from collections.abc import Callable

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
    constant,
    is_null,
    rowwise,
    strict,
)  # fmt: skip
from millstream.kernels.expressions.casts import DAY, cast, numpy_of
from millstream.kernels.expressions.fit import double, fixed, long, stamp, whole, wrong
from millstream.kernels.expressions.function_registry import function
from millstream.kernels.expressions.zones import civil, days_of, from_local, known, length_of_month, to_local

_FAMILY = "dates and times"
LEVELS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
    "mm": "month", "week": "week", "day": "day", "dd": "day", "hour": "hour", "minute": "minute", "second": "second",
    "millisecond": "millisecond", "microsecond": "microsecond",
}  # fmt: skip
_UNITS = {"day": DAY, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000, "millisecond": 1_000}


def truncated(days: np.ndarray, level: str) -> np.ndarray:
    """The first day of the year, quarter, month or week."""
    if level == "week":
        return days - np.mod(days + 3, 7)
    year, month, _ = civil(days)
    first = {"year": np.ones_like(month), "quarter": (month - 1) // 3 * 3 + 1, "month": month}[level]
    return days_of(year, first, np.ones_like(month))


@function("date_trunc", _FAMILY, (2, 2))
def _date_trunc(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    level = LEVELS.get(str(fixed(parts[0], "date_trunc", "the unit")).lower())
    node = stamp(parts[1], bound, "date_trunc")
    if level is None:
        return constant(None, t.STAMP)
    zone = bound.zone

    def run(value: Value) -> Value:
        micros = value.cast(t.LONG)
        if level == "microsecond":
            return value
        if level in ("millisecond", "second") or (zone == "UTC" and level in _UNITS):
            unit = _UNITS[level]
            return numpy_of(lambda m: m - np.mod(m, unit), micros, t.LONG).cast(t.STAMP)
        local = to_local(value, zone)
        if level in ("hour", "minute"):
            unit = _UNITS[level]
            cut = numpy_of(lambda m: m - np.mod(m, unit), local, t.LONG)
            # Of two instants of one wall clock, the one with the offset that holds.
            kept = pc.subtract(cut, pc.subtract(local, micros))
            fits = pc.equal(to_local(kept.cast(t.STAMP), zone), cut)
            return pc.if_else(fits, kept, from_local(cut, zone).cast(t.LONG)).cast(t.STAMP)
        days = numpy_of(lambda m: np.floor_divide(m, DAY), local, t.LONG)
        first = days if level == "day" else numpy_of(lambda d: truncated(d, level), days, t.LONG)
        return from_local(pc.multiply(first, DAY), zone)

    return strict(t.STAMP, [node], run)


# --- numbers ---------------------------------------------------------------------------------------


def _counted(name: str, unit: int) -> None:
    @function(name, _FAMILY, (1, 1))
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        node = stamp(parts[0], bound, name)
        return strict(t.LONG, [node], lambda v: numpy_of(lambda m: np.floor_divide(m, unit), v.cast(t.LONG), t.LONG))


for _name, _unit in (("unix_seconds", 1_000_000), ("unix_millis", 1_000), ("unix_micros", 1)):
    _counted(_name, _unit)


@function("unix_timestamp", _FAMILY, (1, 1), "to_unix_timestamp")
def _unix_timestamp(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    if not t.is_time(parts[0].kind):
        raise wrong("unix_timestamp", parts[0], "a DATE or TIMESTAMP")
    node = parts[0] if parts[0].kind == t.LOCAL else stamp(parts[0], bound, "unix_timestamp")
    # Towards zero, where unix_seconds goes down.
    return strict(
        t.LONG,
        [node],
        lambda v: numpy_of(lambda m: -(-m // 1_000_000) * (m < 0) + m // 1_000_000 * (m >= 0), v.cast(t.LONG), t.LONG),
    )


def _stamped(name: str, unit: int) -> None:
    @function(name, _FAMILY, (1, 1))
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        node = long(parts[0], bound, name)
        return strict(t.STAMP, [node], lambda value: _scaled(value, unit), total=unit == 1)


def _scaled(value: Value, unit: int) -> Result:
    try:
        return pc.multiply_checked(value, pa.scalar(unit, t.LONG)).cast(t.STAMP), None
    except pa.ArrowInvalid:
        numbers = pc.fill_null(value, 0).to_numpy(zero_copy_only=False)
        most = (2**63 - 1) // unit
        far = (numbers > most) | (numbers < -most - 1)
        made = np.where(far, 0, numbers) * unit
        return pa.array(made, t.LONG, mask=is_null(value)).cast(t.STAMP), Failed.where(far, "overflow of TIMESTAMP")


for _name, _unit in (("timestamp_seconds", 1_000_000), ("timestamp_millis", 1_000), ("timestamp_micros", 1)):
    _stamped(_name, _unit)


@function("make_timestamp", _FAMILY, (6, 6))
def _make_timestamp(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    fields = [whole(part, bound, "make_timestamp") for part in parts[:5]]
    seconds = parts[5]
    if seconds.kind not in t.INTEGERS and not t.is_decimal(seconds.kind):
        seconds = double(seconds, bound, "make_timestamp")
    micros = cast(seconds, pa.decimal128(16, 6), bound)

    def one(year: int, month: int, day: int, hour: int, minute: int, second) -> int | None:
        y, m = np.array([year]), np.array([month])
        fine = 1 <= month <= 12 and 1 <= day <= int(length_of_month(y, m)[0]) and 0 <= hour < 24 and 0 <= minute < 60
        if not fine or not (0 <= second < 60 or second == 60) or abs(year) > 290_000:
            if bound.ansi:
                raise RowError(f"there is no time {year}-{month}-{day} {hour}:{minute}:{second}")
            return None
        days = int(days_of(y, m, np.array([day]))[0])
        return days * DAY + (hour * 60 + minute) * 60_000_000 + int(second * 1_000_000)

    local = rowwise(t.LONG, [*fields, micros], one, total=not bound.ansi)
    return strict(t.STAMP, [local], lambda value: from_local(value, bound.zone))


# --- zones -----------------------------------------------------------------------------------------


def _zoned(name: str, compute: Callable[[Value, str], Value]) -> None:
    @function(name, _FAMILY, (2, 2))
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        zone = str(fixed(parts[1], name, "the zone"))
        try:
            known(zone)
        except (KeyError, ValueError, OSError):
            raise ExpressionError(
                f"there is no time zone {zone!r}", hint="Write one such as 'Europe/Berlin'."
            ) from None
        return strict(t.STAMP, [stamp(parts[0], bound, name)], lambda value: compute(value, zone))


_zoned("from_utc_timestamp", lambda value, zone: to_local(value, zone).cast(t.STAMP))
_zoned("to_utc_timestamp", lambda value, zone: from_local(value.cast(t.LONG), zone))
