"""The progressing attribute: ticks as values of its type, and lengths as a user writes them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

BASE = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


@dataclass(frozen=True)
class Clock:
    """One kind of time. A tick of the oracle is one unit: 1, a second, a day or 0.01."""

    kind: str

    @property
    def type(self) -> pa.DataType:
        """The column's type."""
        return {
            "int64": pa.int64(), "int32": pa.int32(), "us": pa.timestamp("us", "UTC"), "ms": pa.timestamp("ms"),
            "date": pa.date32(), "decimal": pa.decimal128(9, 2),
        }[self.kind]  # fmt: skip

    def value(self, tick: int | None) -> Any:
        """A tick as a value of the column."""
        if tick is None:
            return None
        match self.kind:
            case "us":
                return BASE + dt.timedelta(seconds=tick)
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
            case "date":
                return f"{ticks} days"
            case "decimal":
                return Decimal(ticks).scaleb(-2)
            case _:
                return ticks

    def sql_span(self, ticks: int) -> str:
        """A length in a window clause."""
        return str(self.span(ticks))

    def shift(self, ticks: int) -> str:
        """`+ length` in an expression over the column."""
        sign, size = ("-" if ticks < 0 else "+"), abs(ticks)
        match self.kind:
            case "us" | "ms":
                return f"{sign} INTERVAL {size} SECONDS"
            case "date":
                return f"{sign} INTERVAL {size} DAYS"
            case "decimal":
                return f"{sign} {Decimal(size).scaleb(-2)}"
            case _:
                return f"{sign} {size}"


CLOCKS = tuple(map(Clock, ("int64", "int64", "int32", "us", "us", "ms", "date", "decimal")))
