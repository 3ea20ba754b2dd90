"""Dates and timestamps moved by an interval: by months and days of the calendar, then by time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, Failed, Result, Value, is_null, strict
from millstream.kernels.expressions.casts import DAY, cast, numpy_of
from millstream.kernels.expressions.zones import civil, days_of, from_local, length_of_month, to_local

_MICROS = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
    "day": DAY, "week": 7 * DAY,
}  # fmt: skip
_MONTHS = {"month": 1, "quarter": 3, "year": 12}


@dataclass(frozen=True, slots=True)
class Interval:
    """Months of the calendar, or a length whose whole days are days of the calendar."""

    months: int
    micros: int
    days_only: bool


def read_interval(text: str) -> Interval:
    """The interval that a term says.

    >>> read_interval("'1 day 2 hour'")
    Interval(months=0, micros=93600000000, days_only=False)
    """
    months, micros, days_only = 0, 0, True
    parts = re.findall(r"([+-]?\d+(?:\.\d+)?) ([a-z]+)", text)
    for amount, unit in parts:
        if unit in _MONTHS:
            months += int(amount) * _MONTHS[unit]
        else:
            micros += int(Decimal(amount) * _MICROS[unit])
            days_only = days_only and unit in ("day", "week")
    if months and any(unit not in _MONTHS for _, unit in parts):
        raise ExpressionError(f"INTERVAL {text} has months and days", hint="Add one after the other.")
    return Interval(months, micros, days_only)


def moved(node: BoundTerm, text: str, bound: Binding, *, back: bool) -> BoundTerm:
    """A date or timestamp plus or minus an interval."""
    interval = read_interval(text)
    sign = -1 if back else 1
    if not t.is_time(node.kind):
        raise ExpressionError(
            f"an interval is added to a date or a timestamp, and not to {t.name_of(node.kind)}",
            hint="Cast it first: cast(x AS TIMESTAMP).",
        )
    if node.kind == t.DATE and (interval.months or interval.days_only):
        by = sign * (interval.months or interval.micros // DAY)
        months = bool(interval.months)
        return strict(t.DATE, [node], lambda value: dates_moved(value, by, months=months), total=False)
    if node.kind == t.DATE:
        node = cast(node, t.STAMP, bound)
    kind = node.kind
    zone = bound.zone if kind == t.STAMP else "UTC"

    def run(value: Value) -> Result:
        micros = value.cast(t.LONG)
        if interval.months:
            local = to_local(value, zone) if kind == t.STAMP else micros
            shifted = numpy_of(lambda m: _by_months(m, sign * interval.months), local, t.LONG)
            made = _same_offset(value, local, shifted, zone) if kind == t.STAMP else shifted
            return made.cast(kind), None
        whole, rest = divmod(abs(interval.micros), DAY)
        whole, rest = sign * _sign(interval.micros) * whole, sign * _sign(interval.micros) * rest
        if zone != "UTC" and whole and kind == t.STAMP:
            local = to_local(value, zone)
            micros = _same_offset(value, local, pc.add(local, whole * DAY), zone).cast(t.LONG)
            whole = 0
        return _added(micros, whole * DAY + rest, kind)

    return strict(kind, [node], run, total=False)


def _sign(number: int) -> int:
    return -1 if number < 0 else 1


def _added(micros: Value, by: int, kind: pa.DataType) -> Result:
    try:
        return pc.add_checked(micros, pa.scalar(by, t.LONG)).cast(kind), None
    except pa.ArrowInvalid:
        numbers = pc.fill_null(micros, 0).to_numpy(zero_copy_only=False)
        far = (numbers > 2**63 - 1 - by) if by > 0 else (numbers < -(2**63) - by)
        return pc.add(micros, by).cast(kind), Failed.where(far & ~is_null(micros), f"overflow of {t.name_of(kind)}")


def _same_offset(value: Value, local: Value, shifted: Value, zone: str) -> Value:
    """A wall clock as an instant; of two that it may be, the one with the offset that held before."""
    if zone == "UTC":
        return shifted.cast(t.STAMP)
    offset = pc.subtract(local, value.cast(t.LONG))
    kept = pc.subtract(shifted, offset)
    fits = pc.equal(to_local(kept.cast(t.STAMP), zone), shifted)
    return pc.if_else(fits, kept, from_local(shifted, zone).cast(t.LONG)).cast(t.STAMP)


def _by_months(micros: np.ndarray, months: int) -> np.ndarray:
    days = np.floor_divide(micros, DAY)
    return months_later(days, months) * DAY + (micros - days * DAY)


def months_later(days: np.ndarray, months: np.ndarray | int) -> np.ndarray:
    """The same day some months later, or the last of the month if it has no such day."""
    year, month, day = civil(days)
    total = year * 12 + month - 1 + months
    y, m = np.floor_divide(total, 12), np.mod(total, 12) + 1
    return days_of(y, m, np.minimum(day, length_of_month(y, m)))


def dates_moved(value: Value, by: int, *, months: bool) -> Result:
    """Dates some days or months later; what is no date any more fails."""
    days = pc.fill_null(value.cast(t.INT), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    made = months_later(days, by) if months else days + by
    far = (made < -(2**31)) | (made >= 2**31)
    nulls = is_null(value)
    out = pa.array(np.where(far, 0, made).astype(np.int32), t.INT, mask=nulls).cast(t.DATE)
    return out, Failed.where(far & ~nulls, "overflow of DATE")
