"""The progressing attribute: ticks as values of its type, and lengths as a user writes them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

BASE = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Clock:
    """One kind of time. A tick of the oracle is one unit: 1, a second, an hour, a day or 0.01."""

    kind: str

    @property
    def type(self) -> pa.DataType:
        """The column's type."""
        return {
            "int64": pa.int64(), "int32": pa.int32(), "us": pa.timestamp("us", "UTC"),
            "hour": pa.timestamp("us", "UTC"), "ms": pa.timestamp("ms"),
            "date": pa.date32(), "decimal": pa.decimal128(9, 2),
        }[self.kind]  # fmt: skip

    @property
    def ticks(self) -> int:
        """The engine's own ticks in one of these."""
        return {"us": 10**6, "ms": 10**3, "hour": 3600 * 10**6}.get(self.kind, 1)

    def value(self, tick: int | None) -> Any:
        """A tick as a value of the column."""
        if tick is None:
            return None
        match self.kind:
            case "us":
                return BASE + dt.timedelta(seconds=tick)
            case "hour":
                return BASE + dt.timedelta(hours=tick)
            case "ms":
                return (BASE + dt.timedelta(seconds=tick)).replace(tzinfo=None)
            case "date":
                return dt.date(1970, 1, 1) + dt.timedelta(days=tick)
            case "decimal":
                return Decimal(tick).scaleb(-2)
            case _:
                return tick

    def span(self, ticks: int) -> Any:
        """A length."""
        match self.kind:
            case "us" | "ms":
                return f"{ticks} seconds"
            case "hour":
                return f"{ticks} hours"
            case "date":
                return f"{ticks} days"
            case "decimal":
                return Decimal(ticks).scaleb(-2)
            case _:
                return ticks

    def sql_span(self, ticks: int) -> str:
        """A length in a window clause."""
        return str(self.span(ticks))

    def label(self, ticks: int) -> str:
        """A length below a minute or a day, in the name of a wide column."""
        match self.kind:
            case "us" | "ms":
                return f"{ticks}s"
            case "hour":
                return f"{ticks}h"
            case "date":
                return f"{ticks}d"
            case "decimal":
                return f"0_{ticks:02}"
            case _:
                return str(ticks)

    def interval(self, ticks: int) -> str:
        """A length as the table functions take it."""
        match self.kind:
            case "us" | "ms":
                return f"INTERVAL '{ticks}' SECOND"
            case "hour":
                return f"INTERVAL '{ticks}' HOUR"
            case "date":
                return f"INTERVAL '{ticks}' DAY"
            case _:
                return str(self.span(ticks))

    def literal(self, tick: int, zone: str) -> str:
        """A value of the column as SQL text: with a zone, or in one that is not UTC and goes without saying."""
        value = self.value(tick)
        match self.kind:
            case "us" | "hour":
                text = value.astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M:%S")
                return f"TIMESTAMP '{text}{'Z' if zone == 'UTC' else ''}'"
            case "ms":
                return f"TIMESTAMP_NTZ '{value}'"
            case "date":
                return f"DATE '{value}'"
            case _:
                return str(value)

    def shift(self, ticks: int) -> str:
        """`+ length` in an expression over the column."""
        sign, size = ("-" if ticks < 0 else "+"), abs(ticks)
        match self.kind:
            case "us" | "ms":
                return f"{sign} INTERVAL {size} SECONDS"
            case "hour":
                return f"{sign} INTERVAL {size} HOURS"
            case "date":
                return f"{sign} INTERVAL {size} DAYS"
            case "decimal":
                return f"{sign} {Decimal(size).scaleb(-2)}"
            case _:
                return f"{sign} {size}"


CLOCKS = tuple(map(Clock, ("int64", "int64", "int32", "us", "us", "hour", "hour", "ms", "date", "decimal")))
DST = tuple(
    (dt.datetime(*day, tzinfo=dt.UTC) - BASE) // dt.timedelta(hours=1)
    for day in ((2024, 3, 30), (2024, 10, 26), (2024, 3, 9), (2024, 11, 2), (1996, 10, 26))
)
"""The hours at which days begin whose next day has 23 or 25 hours somewhere."""
