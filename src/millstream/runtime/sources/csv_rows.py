"""CSV text to rows, one by one, with the line each starts on: the careful way.

A field is quoted or it is not: an empty field without quotes is a null, one in quotes is empty text. A quote
that is opened and not closed where a field may end spoils its own line only; reading resumes on the next.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_QUOTED = re.compile(r'"((?:[^"]|"")*+)"')
_PLAIN = re.compile(r"[^,\r\n]*")
_LINE = re.compile(r"[^\r\n]*")
_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row: where it starts, its text, and its fields or what is wrong with it."""

    line: int
    text: str
    fields: tuple[str | None, ...]
    fault: str | None = None


class _UnclosedError(Exception):
    """A field starts with a quote and has no end."""


def csv_rows(text: str) -> Iterator[CsvRow]:
    r"""The rows of a CSV text; empty lines are none.

    >>> [(r.line, r.fields) for r in csv_rows('a,b\n1,\n\n"x\ny",""\n')]
    [(1, ('a', 'b')), (2, ('1', None)), (4, ('x\ny', ''))]
    >>> [(r.text, r.fault) for r in csv_rows('1,"x\n2,y\n')]
    [('1,"x', 'a quote is not closed'), ('2,y', None)]
    """
    at, line = 0, 1
    while at < len(text):
        row, end = _row(text, at, line)
        if row.text:
            yield row
        ending = _BREAK.match(text, end)
        line += 1 + (len(_BREAK.findall(row.text)) if row.text else 0)
        at = ending.end() if ending else len(text)


def _row(text: str, start: int, line: int) -> tuple[CsvRow, int]:
    end = _end(_LINE, text, start)
    if text.find('"', start, end) < 0:  # most lines: nothing is quoted
        plain = text[start:end]
        return CsvRow(line, plain, tuple([field or None for field in plain.split(",")])), end
    fields: list[str | None] = []
    at = start
    while True:
        try:
            field, at = _field(text, at)
        except _UnclosedError:
            return CsvRow(line, text[start:end], (), "a quote is not closed"), end
        fields.append(field)
        if text[at : at + 1] != ",":
            return CsvRow(line, text[start:at], tuple(fields)), at
        at += 1


def _field(text: str, start: int) -> tuple[str | None, int]:
    """The field and where it ends."""
    if text[start : start + 1] != '"':
        end = _end(_PLAIN, text, start)
        return text[start:end] or None, end
    quoted = _QUOTED.match(text, start)
    if quoted is None:
        raise _UnclosedError
    end = _end(_PLAIN, text, quoted.end())
    # Text after the closing quote belongs to the field, unless the quotes span lines: then one was stray.
    if end > quoted.end() and _BREAK.search(quoted[1]):
        raise _UnclosedError
    return quoted[1].replace('""', '"') + text[quoted.end() : end], end


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return start if found is None else found.end()
