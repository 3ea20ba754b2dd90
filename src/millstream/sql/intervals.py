"""Lengths of time in expressions: `INTERVAL 3 DAYS` as months, days and microseconds."""

from __future__ import annotations

import re

from sqlglot import exp

from millstream.core.errors import ExpressionError

_MICROS = {
    "microsecond": 1, "millisecond": 1_000, "second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000,
}  # fmt: skip
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_PART = re.compile(r"([+-]?\d+(?:\.\d+)?)\s*([a-zA-Z]+)")


def interval_of(tree: exp.Interval) -> str:
    """The interval in a form that Spark reads, of units that are in it.

    >>> import sqlglot
    >>> interval_of(sqlglot.parse_one("INTERVAL '90' MINUTES", dialect="spark"))
    "'90 minute'"
    """
    unit = tree.args.get("unit")
    if isinstance(unit, exp.IntervalSpan) or not isinstance(tree.this, exp.Literal):
        _refuse(tree)
    written = tree.this.name if unit is None else f"{tree.this.name} {unit.name}"
    parts = _PART.findall(written)
    if not parts or _PART.sub("", written).strip():
        _refuse(tree)
    out: list[str] = []
    for amount, word in parts:
        name = word.lower().removesuffix("s")
        if name not in {*_MICROS, *_DAYS, *_MONTHS} or ("." in amount and name != "second"):
            _refuse(tree)
        out.append(f"{amount} {name}")
    return "'" + " ".join(out) + "'"


def _refuse(tree: exp.Expr) -> None:
    raise ExpressionError(
        f"{tree.sql(dialect='spark')} is no length that is known here",
        hint="Write INTERVAL 5 MINUTES or INTERVAL 1 DAY.",
    )
