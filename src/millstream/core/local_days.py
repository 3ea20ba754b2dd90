"""Windows of whole days in a time zone: they begin and end at local midnight, and some days have 23 or 25 hours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

_EPOCH = date(1970, 1, 1).toordinal()
_FIRST, _LAST = date(1, 1, 3).toordinal() - _EPOCH, date(9999, 12, 29).toordinal() - _EPOCH


@dataclass(frozen=True, slots=True)
class LocalDays:
    """Window w ends with local day (w + 1) · every − 1 and covers `days` days; days are counted from 1970-01-01.

    >>> days = LocalDays(zone="Europe/Berlin", days=1, every=1, second=1)
    >>> summer = int(datetime(2026, 3, 29, 12, tzinfo=UTC).timestamp())
    >>> (wid,) = days.wids(summer)
    >>> low, high = days.extent(wid)
    >>> (high - low) // 3600, low <= summer < high
    (23, True)
    """

    zone: str
    days: int
    every: int
    second: int
    """Ticks in a second."""

    def label(self, span: Callable[[int], str]) -> str:
        """The windows in words."""
        day = 86400 * self.second
        return f"range {span(self.days * day)} slide {span(self.every * day)} of local days, {self.zone}"

    def day_of(self, tick: int) -> int:
        """The local day of a tick; beyond the years that have names, the day in UTC."""
        day = tick // (86400 * self.second)
        if not _FIRST <= day <= _LAST:
            return day
        moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=tick // self.second)
        return moment.astimezone(ZoneInfo(self.zone)).date().toordinal() - _EPOCH

    def extent(self, wid: int) -> tuple[int, int]:
        """From the midnight that begins the first day to the one that ends the last."""
        last = (wid + 1) * self.every
        return self._midnight(last - self.days), self._midnight(last)

    def wids(self, value: int) -> list[int]:
        """Every window that has the day of the value."""
        day = self.day_of(value)
        return list(range(day // self.every, (day + self.days) // self.every))

    def _midnight(self, day: int) -> int:
        """The tick at which a local day begins."""
        if not _FIRST <= day <= _LAST:
            return day * 86400 * self.second
        named = date.fromordinal(day + _EPOCH)
        # Where midnight is left out, fold 0 gives the moment at which the clocks change.
        begins = datetime(named.year, named.month, named.day, tzinfo=ZoneInfo(self.zone))
        return round((begins.astimezone(UTC) - datetime.fromtimestamp(0, UTC)) / timedelta(seconds=1)) * self.second
