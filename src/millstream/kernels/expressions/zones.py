"""Local times: microseconds of a zone's wall clock, from and to those of UTC."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.expressions.types import LOCAL, LONG, STAMP

_FIXED = ("UTC", "Etc/UTC", "GMT", "Z", "Etc/GMT", "UCT", "Zulu", "Universal")
# Beyond these the wall clock does not fit 64 bits.
_FAR = 2**63 - 1 - 2 * 86_400_000_000
_LISTED = 2_114_380_800_000_000  # 2037
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - a wall clock


def to_local(value: pa.Array, zone: str) -> pa.Array:
    """Instants as microseconds of the wall clock in a zone.

    >>> to_local(pa.array([0], pa.timestamp("us", "UTC")), "Asia/Kathmandu").to_pylist()
    [19800000000]
    """
    if zone in _FIXED:
        return value.cast(LONG)
    near = _near(value.cast(LONG))
    local = pc.local_timestamp(near.cast(STAMP).cast(pa.timestamp("us", tz=zone))).cast(LONG)
    return _by_rule(near, local, lambda at: at + _offset(at, zone))


def from_local(micros: pa.Array, zone: str) -> pa.Array:
    """Microseconds of the wall clock as instants: the first of two, and past a gap as far as the clock moved.

    >>> from_local(pa.array([0]), "Asia/Kathmandu").cast(pa.int64()).to_pylist()
    [-19800000000]
    """
    if zone in _FIXED:
        return micros.cast(STAMP)
    local = _near(micros)
    made = pc.assume_timezone(local.cast(LOCAL), zone, ambiguous="earliest", nonexistent="earliest").cast(STAMP)
    back = to_local(made, zone)
    gone = pc.not_equal(back, local)
    if pc.any(gone).as_py():
        # `made` is the last instant before the gap: the offset that held then is kept.
        before = pc.subtract(back, made.cast(LONG))
        made = pc.if_else(gone, pc.subtract(local, before), made.cast(LONG)).cast(STAMP)
    return _by_rule(local, made.cast(LONG), lambda at: at - _offset_of_clock(at, zone)).cast(STAMP)


def _by_rule(given: pa.Array, made: pa.Array, one: Callable[[int], int]) -> pa.Array:
    """Arrow knows the clock's changes to 2037; after that its rule is asked, value by value."""
    far = pc.fill_null(pc.greater_equal(given, _LISTED), False)  # noqa: FBT003 - pyarrow's own
    if not pc.any(far).as_py():
        return made
    out = made.to_pylist()
    for i in np.flatnonzero(far.to_numpy(zero_copy_only=False)):
        out[i] = one(given[int(i)].as_py())
    return pa.array(out, LONG)


def _offset(micros: int, zone: str) -> int:
    when = _EPOCH.replace(tzinfo=UTC) + timedelta(microseconds=_within(micros))
    return _micros(when.astimezone(known(zone)).utcoffset())


def _offset_of_clock(micros: int, zone: str) -> int:
    # The first of two instants, and in a gap the offset before it: as Python has it without a fold.
    return _micros((_EPOCH + timedelta(microseconds=_within(micros))).replace(tzinfo=known(zone)).utcoffset())


def _within(micros: int) -> int:
    """The same day of the calendar's cycle of 400 years, in years that Python has."""
    return _LISTED + (micros - _LISTED) % (146_097 * 86_400_000_000)


def _micros(offset: timedelta | None) -> int:
    return 0 if offset is None else offset // timedelta(microseconds=1)


def _near(micros: pa.Array) -> pa.Array:
    return pc.min_element_wise(pc.max_element_wise(micros, -_FAR, skip_nulls=False), _FAR, skip_nulls=False)


@lru_cache(maxsize=64)
def known(zone: str) -> ZoneInfo:
    """The zone of a name."""
    return ZoneInfo(zone)


def civil(days: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Year, month and day of days since 1970, by the calendar that is used today, for all years.

    >>> [int(part[0]) for part in civil(np.array([11016]))]
    [2000, 2, 29]
    """
    z = days.astype(np.int64) + 719_468
    era = np.floor_divide(z, 146_097)
    doe = z - era * 146_097
    yoe = (doe - doe // 1_460 + doe // 36_524 - doe // 146_096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = np.where(mp < 10, mp + 3, mp - 9)
    return yoe + era * 400 + (month <= 2), month, doy - (153 * mp + 2) // 5 + 1


def days_of(year: np.ndarray, month: np.ndarray, day: np.ndarray) -> np.ndarray:
    """Days since 1970 of a date.

    >>> int(days_of(np.array([2000]), np.array([2]), np.array([29]))[0])
    11016
    """
    y = year.astype(np.int64) - (month <= 2)
    era = np.floor_divide(y, 400)
    yoe = y - era * 400
    doy = (153 * (month + np.where(month > 2, -3, 9)) + 2) // 5 + day - 1
    return era * 146_097 + yoe * 365 + yoe // 4 - yoe // 100 + doy - 719_468


def length_of_month(year: np.ndarray, month: np.ndarray) -> np.ndarray:
    """How many days a month has."""
    leap = (year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0))
    lengths = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
    return lengths[month - 1] + ((month == 2) & leap)
