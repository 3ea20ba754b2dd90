"""Text as values of other types, as Spark casts it."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Result, RowError, Value, by_row
from millstream.kernels.expressions.decimals import rounded
from millstream.kernels.expressions.zones import days_of, from_local, length_of_month

_BLANK = "".join(map(chr, [*range(33), 127]))
_YES, _NO = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_FLOAT = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?[fFdD]?")
_WORDS = {
    "inf": "inf", "+inf": "inf", "-inf": "-inf", "infinity": "inf", "+infinity": "inf", "-infinity": "-inf",
    "nan": "nan",
}  # fmt: skip
_WHOLE = re.compile(r"[+-]?\d+")
_WHOLE_CUT = re.compile(r"([+-]?\d*)(\.\d*)?")
_DATE = re.compile(r"([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_STAMP = re.compile(
    r"([+-]?\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](?:(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?)?"
    r"\s*(Z|[A-Za-z][A-Za-z_/]*[A-Za-z0-9/_+-]*(?::?\d\d)?|[+-]\d{1,2}(?::?\d{1,2})?(?::?\d\d)?)?)?)?)?"
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::(\d{1,2})(?::(\d{2}))?)?|(?:UTC|GMT|UT)?([+-])(\d{2})(\d{2})")
_FAR = 2**63
_SECOND = 1_000_000


def from_text(value: Value, kind: pa.DataType, zone: str, *, ansi: bool) -> Result:
    """The values that texts say; with ANSI a text that says none fails, else it is null."""
    reader = _reader(kind, zone, ansi=ansi)
    name = t.name_of(kind)

    def run(text: str) -> Any:
        found = reader(text)
        if found is None and ansi:
            shown = text if len(text) <= 40 else text[:40] + "…"
            raise RowError(f"'{shown}' is no {name}")
        return found

    held = t.LONG if kind in (t.STAMP, t.LOCAL) else t.INT if kind == t.DATE else kind
    made, failed = by_row(held, run, value)
    return (made if held == kind else made.cast(kind)), failed


def _reader(kind: pa.DataType, zone: str, *, ansi: bool) -> Callable[[str], Any]:
    if kind == t.BINARY:
        return lambda text: text.encode()
    if kind == t.BOOL:
        return _bool
    if kind in t.INTEGERS:
        return lambda text: _whole(text, kind.bit_width, ansi=ansi)
    if t.is_float(kind):
        return _float if kind == t.DOUBLE else _short_float
    if t.is_decimal(kind):
        return lambda text: _decimal(text, kind)
    if kind == t.DATE:
        return read_date
    if kind == t.STAMP:
        return lambda text: read_stamp(text, zone)
    if kind == t.LOCAL:
        return lambda text: read_stamp(text, None)
    raise ExpressionError(
        f"a text cannot be cast to {t.name_of(kind)}", hint="Cast to a number, a date or a timestamp."
    )


def _bool(text: str) -> bool | None:
    word = text.strip(_BLANK).lower()
    return True if word in _YES else False if word in _NO else None


def _whole(text: str, bits: int, *, ansi: bool) -> int | None:
    word = text.strip(_BLANK)
    if ansi:
        found = _WHOLE.fullmatch(word)
        digits = word if found else None
    else:  # decimals are cut off
        found = _WHOLE_CUT.fullmatch(word)
        digits = None if found is None or not (found[1] or len(found[2] or "") > 1) else found[1] or "0"
        if digits in ("+", "-"):
            digits = "0" if found is not None and len(found[2] or "") > 1 else None
    if digits is None or not digits.isascii():
        return None
    figures = digits.lstrip("+-").lstrip("0") or "0"
    if len(figures) > 19:  # no BIGINT; and Python refuses to read a number of some thousand digits
        return None
    number = -int(figures) if digits.startswith("-") else int(figures)
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def _float(text: str) -> float | None:
    word = text.strip(_BLANK)
    if word.lower() in _WORDS:
        return float(_WORDS[word.lower()])
    if not word.isascii() or not _FLOAT.fullmatch(word):
        return None
    return float(word.rstrip("fFdD"))


def _short_float(text: str) -> float | None:
    word = text.strip(_BLANK)
    wide = _float(word)
    if wide is None or word.lower() in _WORDS:
        return wide
    with np.errstate(over="ignore"):
        return float(np.float32(word.rstrip("fFdD")))


def _decimal(text: str, kind: pa.DataType) -> Decimal | None:
    word = text.strip(_BLANK)
    if not word.isascii() or not re.fullmatch(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", word):
        return None
    try:
        sign, digits, exponent = Decimal(word).as_tuple()
    except InvalidOperation:
        return None
    if not any(digits):
        return Decimal(0).scaleb(-kind.scale)
    if len(digits) + int(exponent) > 40:
        return None
    shift = -int(exponent) - kind.scale
    if shift > 1:  # digits after the one that is rounded by say nothing, and there may be any number of them
        digits, shift = digits[: max(0, len(digits) - shift + 1)], 1
    number = rounded(int("0" + "".join(map(str, digits))) * (-1 if sign else 1), shift)
    if abs(number) >= 10**kind.precision:
        return None
    return Decimal((number < 0, tuple(map(int, str(abs(number)))), -kind.scale))


def read_date(text: str) -> int | None:
    """The day of a date, since 1970.

    >>> read_date("1970-1-2"), read_date("1970"), read_date("1970-02-30")
    (1, 0, None)
    """
    found = _DATE.fullmatch(text.strip(_BLANK))
    if found is None or not text.isascii():
        return None
    return _day(int(found[1]), int(found[2] or 1), int(found[3] or 1))


def _day(year: int, month: int, day: int) -> int | None:
    if not 1 <= month <= 12 or day < 1:
        return None
    y, m = np.array([year]), np.array([month])
    if day > length_of_month(y, m)[0]:
        return None
    return int(days_of(y, m, np.array([day]))[0])


def read_stamp(text: str, zone: str | None) -> int | None:
    """The instant of a time, in a zone unless it says its own; without one, the time of its wall clock.

    >>> read_stamp("1970-01-01 00:00:01.5", "UTC"), read_stamp("1970-01-01T01:00+01:00", "UTC")
    (1500000, 0)
    """
    word = text.strip(_BLANK)
    found = _STAMP.fullmatch(word) if word.isascii() else None
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, said = found.groups()
    days = _day(int(year), int(month or 1), int(day or 1))
    clock = [int(part or 0) for part in (hour, minute, second)]
    if days is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    micros = int((fraction or "")[:6].ljust(6, "0"))
    local = ((days * 24 + clock[0]) * 60 + clock[1]) * 60 * _SECOND + clock[2] * _SECOND + micros
    if not -_FAR < local < _FAR:
        return None
    if zone is None:
        return local
    return local if said is None and zone == "UTC" else _instant(local, said, zone)


def _instant(local: int, said: str | None, zone: str) -> int | None:
    if said is None:
        return from_local(pa.array([local]), zone).cast(t.LONG)[0].as_py()
    if said in ("Z", "UTC", "GMT", "UT"):
        return local
    found = _OFFSET.fullmatch(said)
    if found is None:
        raise RowError(f"'{said}' is a time zone inside a text, which is not read here")
    sign, hours, minutes, seconds = (found[1], found[2], found[3], found[4]) if found[1] else (
        found[5], found[6], found[7], None)  # fmt: skip
    offset = int(hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    if offset > 18 * 3600 or int(minutes or 0) > 59:
        return None
    return local - (offset if sign == "+" else -offset) * _SECOND
