"""Columns to order: odd names, every type, and for each type the values at which things break."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.quote import quoted, text

Row = dict[str, Any]
TICK = "__tick"
"""Where the oracle's rows keep their time as an integer."""
NAN, INF = float("nan"), float("inf")
NAMES = (
    "k", "v", "my col", "a.b", "a`b", "it's", 'q"q', "Preis €", "日本", "select", "order", "Key", "KEY", "x-y", "1st",
    "a;b", "--c", "window", "count", "[x]", "e\u0301", "__order", "nan", "from", "%", "a,b", "END", "ts2", "{x}", "😀",
)  # fmt: skip
TEXTS = ("", "a", "b", "A", "é", "日本", "x😀y", "it's", " a ", "null", "NaN", "a\nb", "\\", "ß", "a\x00b", "0")
_FINE: dict[str, tuple[float, ...]] = {"float32": (), "float64": (5e-324, 1e308, 0.1)}
FEW = {"int8": (-128, 127), "int16": (-32768, 32767), "int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
DATES = (dt.date(1970, 1, 1), dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31))
STAMPS = tuple(
    dt.datetime.fromisoformat(one).replace(tzinfo=dt.UTC)
    for one in ("1970-01-01", "2024-03-31T00:59:59.999999", "1969-12-31T23:59:59.999999", "2024-10-27T01:30:00")
)
KINDS = (
    "int8", "int16", "int32", "int64", "float32", "float64", "decimal", "string", "bool", "date", "timestamp", "ntz",
)  # fmt: skip
TYPES: dict[str, pa.DataType] = {
    "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(), "float32": pa.float32(),
    "float64": pa.float64(), "decimal": pa.decimal128(9, 2), "string": pa.string(), "bool": pa.bool_(),
    "date": pa.date32(), "timestamp": pa.timestamp("us", "UTC"), "ntz": pa.timestamp("us"),
}  # fmt: skip


@dataclass(frozen=True)
class Column:
    """A column, how its values are made, and whether sums of them are exact in any order (`tame`)."""

    name: str
    kind: str
    tame: bool
    pool: tuple[Any, ...]

    @property
    def type(self) -> pa.DataType:
        """Its Arrow type."""
        return TYPES[self.kind]

    @property
    def sql(self) -> str:
        """Its name in backticks."""
        return quoted(self.name)

    @property
    def numeric(self) -> bool:
        """Can it be summed?"""
        return self.kind.startswith(("int", "float")) or self.kind == "decimal"

    def literal(self, value: Any) -> str:
        """A value of it as SQL text."""
        match self.kind:
            case "string":
                return text(value)
            case "bool":
                return str(value).upper()
            case "date":
                return f"DATE '{value.isoformat()}'"
            case "timestamp":
                return f"TIMESTAMP '{value.strftime('%Y-%m-%d %H:%M:%S.%f')}Z'"
            case "ntz":
                return f"TIMESTAMP_NTZ '{value.strftime('%Y-%m-%d %H:%M:%S.%f')}'"
            case "float32" | "float64":
                return f"cast('{value}' AS {'FLOAT' if self.kind == 'float32' else 'DOUBLE'})"
            case "decimal":
                return str(value)
            case _:
                return str(value) if value != -(2**63) else "-9223372036854775808"


def column(rnd: random.Random, name: str, kind: str | None = None) -> Column:
    """A column of a random kind; a small pool of values, so that groups and keys meet."""
    chosen = kind or rnd.choice(KINDS)
    tame = rnd.random() < 0.75
    many = _pool(chosen, tame=tame)
    pool = tuple(rnd.sample(many, min(len(many), rnd.randint(2, 6))))
    nulls = rnd.choice([0, 0, 1, 1, 3])
    return Column(name, chosen, tame, (*pool, *([None] * nulls)))


def _pool(kind: str, *, tame: bool) -> list[Any]:
    match kind:
        case "int8" | "int16" | "int32" | "int64":
            return [*range(-3, 7), *(() if tame else (*FEW[kind], FEW[kind][1] - 1))]
        case "float32" | "float64":
            usual = [0.25, 1.5, -2.0, 0.0, -0.0, 7.0, NAN, INF, -INF]
            if tame:
                return usual
            return [*usual, *(float(np.float32(one)) for one in (0.1, 3e38, -0.1, 1e20)), *_FINE[kind]]
        case "decimal":
            return [Decimal(one) for one in ("0.00", "1.50", "-2.25", "0.01", "9999999.99", "-9999999.99")]
        case "string":
            return list(TEXTS)
        case "bool":
            return [True, False]
        case "date":
            return list(DATES)
        case "timestamp":
            return list(STAMPS)
        case _:
            return [one.replace(tzinfo=None) for one in STAMPS]


def names(rnd: random.Random, n: int) -> list[str]:
    """Names that differ, and once in a while in capitals only."""
    return rnd.sample(NAMES, n)
