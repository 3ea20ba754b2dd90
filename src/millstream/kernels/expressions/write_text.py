"""Values as text, as Spark casts them."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Result, RowError, Value, by_row
from millstream.kernels.expressions.decimals import units
from millstream.kernels.expressions.zones import civil, to_local

_DAY = 86_400_000_000


def to_text(value: Value, zone: str, *, ansi: bool) -> Value | Result:
    """The text of each value.

    >>> to_text(pa.array([1.0, 1e20]), "UTC", ansi=True).to_pylist()
    ['1.0', '1.0E20']
    """
    kind = value.type
    if kind == t.BOOL or kind in t.INTEGERS:
        return value.cast(t.TEXT)
    if kind == t.DOUBLE:
        return by_row(t.TEXT, number_text, value)[0]
    if kind == t.FLOAT:
        texts = [None if one is None else number_text(float(np.format_float_scientific(one)), one)
                 for one in value.to_numpy(zero_copy_only=False)] if not value.null_count else [
            None if one is None else number_text(one, np.float32(one)) for one in value.to_pylist()]  # fmt: skip
        return pa.array(texts, t.TEXT)
    if t.is_decimal(kind):
        return pa.array(
            [None if one is None else decimal_text(one, kind.scale, plain=ansi) for one in units(value)], t.TEXT
        )
    if kind == t.BINARY:
        return by_row(t.TEXT, _decoded, value)
    if kind == t.DATE:
        return by_row(t.TEXT, date_text, value)[0]
    if kind in (t.STAMP, t.LOCAL):
        local = to_local(value, zone) if kind == t.STAMP else value.cast(t.LONG)
        return by_row(t.TEXT, stamp_text, local)[0]
    raise ExpressionError(f"{t.name_of(kind)} has no text here", hint="Take the values out of it first.")


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:  # Spark keeps such bytes, and no column of text can
        raise RowError("bytes that are no text in UTF-8") from None


def number_text(number: float, short: np.float32 | None = None) -> str:
    """A floating number as Java writes it.

    >>> number_text(0.001), number_text(123456789.0), number_text(float("-inf"))
    ('0.001', '1.23456789E8', '-Infinity')
    """
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "Infinity" if number > 0 else "-Infinity"
    written = repr(number) if short is None else np.format_float_scientific(short, unique=True)
    if short is None and float(f"{number:.1e}") == number:  # Java looks at two digits at least
        written = f"{number:.1e}"
    exact = Decimal(written)
    sign, digits, exponent = exact.as_tuple()
    if not exact:
        return "-0.0" if sign else "0.0"
    figures = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) + int(exponent) - 1
    if -3 <= power < 7:
        if power >= 0:
            whole, rest = figures[: power + 1].ljust(power + 1, "0"), figures[power + 1 :]
        else:
            whole, rest = "0", "0" * (-power - 1) + figures
        body = f"{whole}.{rest or '0'}"
    else:
        body = f"{figures[0]}.{figures[1:] or '0'}E{power}"
    return f"-{body}" if sign else body


def decimal_text(number: int, scale: int, *, plain: bool) -> str:
    """A decimal; without ANSI very small ones are written with an exponent.

    >>> decimal_text(-5, 2, plain=True), decimal_text(1, 7, plain=False)
    ('-0.05', '1E-7')
    """
    sign, digits = "-" if number < 0 else "", str(abs(number))
    power = len(digits) - 1 - scale
    if not plain and power < -6:
        head = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{head}E{power}"
    if not scale:
        return sign + digits
    digits = digits.rjust(scale + 1, "0")
    return f"{sign}{digits[:-scale]}.{digits[-scale:]}"


def year_text(year: int) -> str:
    """A year of at least four digits, with a sign where it has more."""
    if year > 9999:
        return f"+{year}"
    return f"{year:04d}" if year >= 0 else f"-{-year:04d}"


def date_text(days: int) -> str:
    """A date.

    >>> date_text(0)
    '1970-01-01'
    """
    year, month, day = (int(part[0]) for part in civil(np.array([days])))
    return f"{year_text(year)}-{month:02d}-{day:02d}"


def stamp_text(micros: int) -> str:
    """A local time, its fraction without zeros at the end.

    >>> stamp_text(1_500_000)
    '1970-01-01 00:00:01.5'
    """
    days, rest = divmod(micros, _DAY)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{date_text(days)} {clock}{tail}"
