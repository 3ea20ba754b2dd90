"""Dates and times as text of a pattern, and from it; of Spark's letters those that are the same everywhere."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, RowError, by_row, rowwise, strict
from millstream.kernels.expressions.casts import DAY, cast
from millstream.kernels.expressions.fit import fixed, long, stamp, text
from millstream.kernels.expressions.function_registry import function
from millstream.kernels.expressions.functions.dates import local_of
from millstream.kernels.expressions.read_text import read_stamp
from millstream.kernels.expressions.write_text import year_text
from millstream.kernels.expressions.zones import civil, from_local, to_local

_FAMILY = "dates and times"
_PIECE = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|[^a-zA-Z']+")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DEFAULT = "yyyy-MM-dd HH:mm:ss"
_HINT = "Known letters: yyyy yy y M MM MMM MMMM d dd H HH h hh m mm s ss S… a E EEEE, and texts in single quotes."


class _Time:
    """A wall clock taken apart."""

    def __init__(self, micros: int) -> None:
        days, rest = divmod(micros, DAY)
        self.year, self.month, self.day = (int(part[0]) for part in civil(np.array([days])))
        self.weekday = (days + 3) % 7
        self.hour, rest = divmod(rest, 3_600_000_000)
        self.minute, rest = divmod(rest, 60_000_000)
        self.second, self.micros = divmod(rest, 1_000_000)


_LETTERS: dict[str, Callable[[_Time], str]] = {
    "yyyy": lambda x: year_text(x.year),
    "yy": lambda x: f"{x.year % 100:02d}",
    "M": lambda x: str(x.month),
    "MM": lambda x: f"{x.month:02d}",
    "MMM": lambda x: _MONTHS[x.month - 1][:3],
    "MMMM": lambda x: _MONTHS[x.month - 1],
    "d": lambda x: str(x.day),
    "dd": lambda x: f"{x.day:02d}",
    "H": lambda x: str(x.hour),
    "HH": lambda x: f"{x.hour:02d}",
    "h": lambda x: str(x.hour % 12 or 12),
    "hh": lambda x: f"{x.hour % 12 or 12:02d}",
    "m": lambda x: str(x.minute),
    "mm": lambda x: f"{x.minute:02d}",
    "s": lambda x: str(x.second),
    "ss": lambda x: f"{x.second:02d}",
    "a": lambda x: "AM" if x.hour < 12 else "PM",
    "E": lambda x: _DAYS[x.weekday][:3],
    "EE": lambda x: _DAYS[x.weekday][:3],
    "EEE": lambda x: _DAYS[x.weekday][:3],
    "EEEE": lambda x: _DAYS[x.weekday],
}


def _pieces(pattern: str) -> list[tuple[str, str]]:
    """Letters, and texts between them."""
    out: list[tuple[str, str]] = []
    at = 0
    while at < len(pattern):
        found = _PIECE.match(pattern, at)
        if found is None:
            raise ExpressionError(f"the format {pattern!r} has a quote that does not end", hint=_HINT)
        if found[1] is not None:
            out.append(("text", found[1].replace("''", "'") or "'"))
        elif found[2]:
            out.append(("letters", found[0]))
        elif any(one in found[0] for one in "[]{}#"):
            raise ExpressionError(f"the format {pattern!r} has {found[0]!r}", hint=_HINT)
        else:
            out.append(("text", found[0]))
        at = found.end()
    return out


def _writer(pattern: str) -> Callable[[int], str]:
    parts: list[Callable[[_Time], str]] = []
    for kind, piece in _pieces(pattern):
        if kind == "text":
            parts.append(lambda _, piece=piece: piece)
        elif set(piece) == {"S"} and len(piece) <= 9:
            parts.append(lambda x, piece=piece: f"{x.micros:06d}000"[: len(piece)])
        elif piece in _LETTERS:
            parts.append(_LETTERS[piece])
        else:
            raise ExpressionError(f"the format {pattern!r} has {piece}, which is not written here", hint=_HINT)

    def write(micros: int) -> str:
        time = _Time(micros)
        return "".join(part(time) for part in parts)

    return write


@function("date_format", _FAMILY, (2, 2))
def _date_format(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    write = _writer(str(fixed(parts[1], "date_format", "the format")))
    # A time without a zone passes through the session's first, where some times are not.
    return rowwise(t.TEXT, [local_of(stamp(parts[0], bound, "date_format"), bound, "date_format")], write)


@function("from_unixtime", _FAMILY, (1, 2))
def _from_unixtime(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    write = _writer(str(fixed(parts[1], "from_unixtime", "the format")) if len(parts) == 2 else _DEFAULT)
    seconds = long(parts[0], bound, "from_unixtime")
    most = (2**63 - 1) // 1_000_000 - 200_000

    def local(value: pa.Array) -> pa.Array:
        clipped = [None if one is None else max(-most, min(most, one)) * 1_000_000 for one in value.to_pylist()]
        return to_local(pa.array(clipped, t.LONG).cast(t.STAMP), bound.zone)

    return rowwise(t.TEXT, [strict(t.LONG, [seconds], local)], write)


# --- reading ---------------------------------------------------------------------------------------

_READ = {
    "yyyy": r"(?P<y>\d{4})", "MM": r"(?P<M>\d\d)", "dd": r"(?P<d>\d\d)", "HH": r"(?P<H>\d\d)",
    "mm": r"(?P<m>\d\d)", "ss": r"(?P<s>\d\d)",
}  # fmt: skip


def _reader(pattern: str, name: str) -> Callable[[str], int | None]:
    """What reads a text of fixed width as a wall clock."""
    said = [piece for kind, piece in _pieces(pattern) if kind == "letters"]
    if any(piece not in _READ for piece in said) or len(set(said)) < len(said) or "yyyy" not in said:
        raise ExpressionError(f"{name} does not read the format {pattern!r}", hint="It reads yyyy MM dd HH mm ss.")
    order = ["yyyy", "MM", "dd", "HH", "mm", "ss"]
    if set(said) != set(order[: len(said)]):
        raise ExpressionError(f"{name} does not read the format {pattern!r}", hint="A part is missing before another.")
    made = re.compile(
        "".join(_READ[p] if kind == "letters" else re.escape(p) for kind, p in _pieces(pattern)), re.ASCII
    )

    def read(value: str) -> int | None:
        found = made.fullmatch(value)
        if found is None:
            return None
        part = {"M": "01", "d": "01", "H": "00", "m": "00", "s": "00", **found.groupdict()}
        return read_stamp(f"{part['y']}-{part['M']}-{part['d']} {part['H']}:{part['m']}:{part['s']}", None)

    return read


def _to_local_time(parts: list[BoundTerm], bound: Binding, name: str) -> BoundTerm:
    pattern = str(fixed(parts[1], name, "the format"))
    read = _reader(pattern, name)

    def one(value: str) -> int | None:
        found = read(value)
        if found is None and bound.ansi:
            raise RowError(f"'{value}' is not of the format {pattern}")
        return found

    node = text(parts[0], bound, name)
    return strict(t.LONG, [node], lambda value: by_row(t.LONG, one, value), total=not bound.ansi)


@function("to_date", _FAMILY, (1, 2))
def _to_date(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    if len(parts) == 1 or parts[0].kind in (t.DATE, t.STAMP, t.LOCAL):
        from millstream.kernels.expressions.fit import date  # noqa: PLC0415 - only here

        return date(parts[0], bound, "to_date")
    local = _to_local_time(parts, bound, "to_date")
    return cast(strict(t.LOCAL, [local], lambda value: value.cast(t.LOCAL)), t.DATE, bound)


@function("to_timestamp", _FAMILY, (1, 2))
def _to_timestamp(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    if len(parts) == 1 or parts[0].kind in (t.DATE, t.STAMP, t.LOCAL):
        return stamp(parts[0], bound, "to_timestamp")
    local = _to_local_time(parts, bound, "to_timestamp")
    return strict(t.STAMP, [local], lambda value: from_local(value, bound.zone))
