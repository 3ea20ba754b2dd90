"""Functions of text, by its characters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import (
    Binding,
    BoundTerm,
    Frame,
    Result,
    RowError,
    Value,
    both,
    by_row,
    constant,
    is_null,
    rowwise,
    strict,
)  # fmt: skip
from millstream.kernels.expressions.fit import long, text, whole, wrong
from millstream.kernels.expressions.function_registry import function
from millstream.kernels.expressions.logic import case, missing

_FAMILY = "texts"
_LONGEST = 16 << 20
"""No function makes a text longer than this: a row could fill the memory."""


def _registered(name: str, arguments: str, kind: pa.DataType, fn: Callable[..., Any], *aliases: str,
                least: int | None = None, total: bool = True) -> None:  # fmt: skip
    """A function of texts (`t`) and whole numbers (`i`)."""
    most = len(arguments)

    @function(name, _FAMILY, (most if least is None else least, most), *aliases)
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        fit = {"t": text, "i": whole}
        values = [fit[what](part, bound, name) for what, part in zip(arguments, parts, strict=False)]
        return rowwise(kind, values, fn, total=total)


def _ascii(value: Value) -> bool:
    return pc.all(pc.string_is_ascii(value)).as_py() is not False


def _case(name: str, plain: Callable[[Value], Value], fn: Callable[[str], str], *aliases: str) -> None:
    @function(name, _FAMILY, (1, 1), *aliases)
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        def run(value: Value) -> Value:
            return plain(value) if _ascii(value) else by_row(t.TEXT, fn, value)[0]

        return strict(t.TEXT, [text(parts[0], bound, name)], run)


_case("upper", pc.ascii_upper, str.upper, "ucase")
_case("lower", pc.ascii_lower, str.lower, "lcase")


@function("length", _FAMILY, (1, 1), "char_length", "character_length", "len")
def _length(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    if parts[0].kind == t.BINARY:
        return strict(t.INT, parts, lambda value: pc.binary_length(value).cast(t.INT))
    return strict(t.INT, [text(parts[0], bound, "length")], lambda value: pc.utf8_length(value).cast(t.INT))


@function("octet_length", _FAMILY, (1, 1))
def _octet_length(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    node = parts[0] if parts[0].kind == t.BINARY else text(parts[0], bound, "octet_length")
    return strict(t.INT, [node], lambda value: pc.binary_length(value).cast(t.INT))


@function("bit_length", _FAMILY, (1, 1))
def _bit_length(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    node = parts[0] if parts[0].kind == t.BINARY else text(parts[0], bound, "bit_length")
    return strict(t.INT, [node], lambda value: pc.multiply(pc.binary_length(value).cast(t.INT), 8).cast(t.INT))


@function("concat", _FAMILY, (1, None))
def _concat(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    if any(not (node.kind in (t.TEXT, t.NOTHING, t.BOOL) or t.is_number(node.kind) or t.is_time(node.kind))
           for node in parts):  # fmt: skip
        raise wrong("concat", next(n for n in parts if n.kind != t.TEXT), "STRINGs")
    values = [text(node, bound, "concat") for node in parts]
    if len(values) == 1:
        return values[0]
    return strict(t.TEXT, values, lambda *columns: pc.binary_join_element_wise(*columns, "").cast(t.TEXT))


@function("concat_ws", _FAMILY, (1, None))
def _concat_ws(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    by, *rest = [text(node, bound, "concat_ws") for node in parts]

    def run(frame: Frame) -> Result:
        sep, failed = by.run(frame)
        gone = is_null(sep)
        columns: list[Value] = []
        for node in rest:
            column, mine = node.run(frame)
            failed = both(failed, None if mine is None else mine.but(gone))
            columns.append(column)
        if columns and not any(column.null_count for column in (sep, *columns)):
            return pc.binary_join_element_wise(*columns, sep), failed
        rows = zip(*(column.to_pylist() for column in columns), strict=True) if columns else iter([()] * frame.n)
        joined = [
            None if by is None else by.join(one for one in row if one is not None)
            for by, row in zip(sep.to_pylist(), rows, strict=True)
        ]
        return pa.array(joined, t.TEXT), failed

    return BoundTerm(t.TEXT, run, all(node.total for node in (by, *rest)))


def _substring(value: str, start: int, length: int = 2**31 - 1) -> str:
    size = len(value)
    first = start - 1 if start > 0 else size + start if start < 0 else 0
    end = min(first + length, 2**31 - 1)
    return "" if end <= first else value[max(first, 0) : max(end, 0)]


def _left(value: str, n: int) -> str:
    return value[:n] if n > 0 else ""


def _right(value: str, n: int) -> str:
    return value[-n:] if n > 0 else ""


_registered("substring", "tii", t.TEXT, _substring, "substr", "mid", least=2)
_registered("left", "ti", t.TEXT, _left)
_registered("right", "ti", t.TEXT, _right)


def _stripped(name: str, fn: Callable[[str, str], str], *, source_first: bool) -> None:
    @function(name, _FAMILY, (1, 2))
    def _bind(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
        values = [text(node, bound, name) for node in parts]
        if len(values) == 1:
            return rowwise(t.TEXT, values, lambda value: fn(value, " "))
        if source_first:
            return rowwise(t.TEXT, values, fn)
        return rowwise(t.TEXT, values, lambda characters, value: fn(value, characters))


def _strip(value: str, characters: str) -> str:
    return value.strip(characters) if characters else value


def _lstrip(value: str, characters: str) -> str:
    return value.lstrip(characters) if characters else value


def _rstrip(value: str, characters: str) -> str:
    return value.rstrip(characters) if characters else value


_stripped("trim", _strip, source_first=False)
_stripped("ltrim", _lstrip, source_first=False)
_stripped("rtrim", _rstrip, source_first=False)
_stripped("btrim", _strip, source_first=True)


def _replace(value: str, old: str, new: str = "") -> str:
    return value.replace(old, new) if old else value


def _translate(value: str, old: str, new: str) -> str:
    table: dict[str, str] = {}
    for i, one in enumerate(old):
        table.setdefault(one, new[i] if i < len(new) else "")
    return "".join(table.get(one, one) for one in value)


def _locate(part: str, value: str, start: int = 1) -> int:
    if start < 1:
        return 0
    return (value.find(part, start - 1) + 1) if part else 1


def _padded(value: str, length: int, pad: str, *, left: bool) -> str:
    if length <= 0:
        return ""
    if length > _LONGEST:
        raise RowError(f"a text of {length} characters")
    missing = length - len(value)
    if missing <= 0 or not pad:
        return value[:length]
    filler = (pad * (missing // len(pad) + 1))[:missing]
    return filler + value if left else value + filler


def _repeat(value: str, n: int) -> str:
    if len(value) * n > _LONGEST:
        raise RowError(f"a text of {len(value) * n} characters")
    return value * n


def _space(n: int) -> str:
    return _repeat(" ", n)


def _split_part(value: str, by: str, n: int) -> str:
    if n == 0:
        raise RowError("part 0: parts count from 1")
    parts = value.split(by) if by else [value]
    index = n - 1 if n > 0 else len(parts) + n
    return parts[index] if 0 <= index < len(parts) else ""


def _substring_index(value: str, by: str, n: int) -> str:
    if not by or n == 0:
        return ""
    if n > 0:
        at = -1
        for _ in range(n):
            at = value.find(by, at + 1)
            if at < 0:
                return value
        return value[:at]
    at = len(value) - len(by) + 1
    for _ in range(-n):
        at = value.rfind(by, 0, at + len(by) - 1) if at > 0 else -1
        if at < 0:
            return value
    return value[at + len(by) :]


def _chr(n: int) -> str:
    return "" if n < 0 else chr(n & 0xFF)


def _levenshtein(one: str, other: str) -> int:
    letters = np.fromiter(map(ord, other), np.int64, len(other))
    place = np.arange(len(other) + 1)
    row = place.copy()
    for a in one:
        best = row + 1
        np.minimum(best[1:], row[:-1] + (letters != ord(a)), out=best[1:])
        row = np.minimum.accumulate(best - place) + place  # what is inserted after each of them
    return int(row[-1])


_registered("replace", "ttt", t.TEXT, _replace, least=2)
_registered("translate", "ttt", t.TEXT, _translate)
_registered("instr", "tt", t.INT, lambda value, part: _locate(part, value))
_registered("lpad", "tit", t.TEXT, lambda v, n, pad=" ": _padded(v, n, pad, left=True), least=2, total=False)
_registered("rpad", "tit", t.TEXT, lambda v, n, pad=" ": _padded(v, n, pad, left=False), least=2, total=False)
_registered("repeat", "ti", t.TEXT, _repeat, total=False)
_registered("reverse", "t", t.TEXT, lambda value: value[::-1])
_registered("split_part", "tti", t.TEXT, _split_part, total=False)
_registered("substring_index", "tti", t.TEXT, _substring_index)
_registered("startswith", "tt", t.BOOL, str.startswith)
_registered("endswith", "tt", t.BOOL, str.endswith)
_registered("contains", "tt", t.BOOL, lambda value, part: part in value)
_registered("ascii", "t", t.INT, lambda value: ord(value[0]) if value else 0)
_registered("space", "i", t.TEXT, _space, total=False)
_registered("levenshtein", "tt", t.INT, _levenshtein)


@function("locate", _FAMILY, (2, 3), "position")
def _located(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    texts = [text(part, bound, "locate") for part in parts[:2]]
    if len(parts) == 2:
        return rowwise(t.INT, texts, _locate)
    start = whole(parts[2], bound, "locate")
    # A start that is null finds nothing, whatever the texts are.
    return case([missing(start), constant(0, t.INT), rowwise(t.INT, [*texts, start], _locate)], bound)


@function("chr", _FAMILY, (1, 1), "char")
def _chr_of(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return rowwise(t.TEXT, [long(parts[0], bound, "chr")], _chr)
