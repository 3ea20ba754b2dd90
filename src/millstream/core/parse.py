"""Patterns as text: `ts < 15, sensor = 'a'`. The form in which data carries punctuation, and transcripts too."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

from millstream.core.errors import PatternError
from millstream.core.pattern import ANY, Between, Equal, From, OneOf, Pattern, UpTo, ValuePattern

_NAME = r"\s*(?P<name>[A-Za-z_][\w.]*)\s*"
_FORMS: tuple[tuple[re.Pattern[str], Callable[[str], ValuePattern]], ...] = (
    (re.compile(_NAME + r"<\s*(?P<value>.+)$"), lambda v: UpTo(_literal(v))),
    (re.compile(_NAME + r">=\s*(?P<value>.+)$"), lambda v: From(_literal(v))),
    (re.compile(_NAME + r"=\s*(?P<value>.+)$"), lambda v: Equal(_literal(v))),
    (re.compile(_NAME + r"in\s*\[(?P<value>.+)\)$"), lambda v: Between(*_pair(v))),
    (re.compile(_NAME + r"in\s*\((?P<value>.+)\)$"), lambda v: OneOf(frozenset(map(_literal, _split(v))))),
    (re.compile(_NAME + r"(?P<value>\*)$"), lambda _: ANY),
)


def parse_pattern(text: str) -> Pattern:
    """Read a pattern; values are Python literals, anything else is taken as a word.

    >>> parse_pattern("ts < 15, sensor = 'a'").matches({"ts": 3, "sensor": "a"})
    True
    >>> str(parse_pattern("*"))
    '*'
    >>> str(parse_pattern("k in (1, 2), v in [3, 9)"))
    'k in (1, 2), v in [3, 9)'
    """
    if text.strip() == "*":
        return Pattern()
    parts: dict[str, ValuePattern] = {}
    for piece in _split(text):
        for form, build in _FORMS:
            found = form.match(piece)
            if found:
                if found["name"] in parts:
                    raise PatternError(f"{text!r} names {found['name']!r} twice", hint="Say one thing of each.")
                try:
                    parts[found["name"]] = build(found["value"])
                except TypeError as error:  # values that do not compare, or cannot be in a set
                    raise PatternError(
                        f"{piece.strip()!r} is not a pattern: {error}", hint="Write values of one type."
                    ) from error
                break
        else:
            raise PatternError(
                f"{piece.strip()!r} is not a pattern of one attribute",
                hint="Write `ts < 15`, `ts >= 15`, `k = 3`, `k in (1, 2)`, `v in [3, 9)` or `*`, by commas.",
            )
    return Pattern(parts)


def _split(text: str) -> list[str]:
    """Cut at the commas that are in no bracket and in no quotes."""
    pieces: list[str] = []
    depth, quote, current = 0, "", ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        if char == "," and depth == 0 and not quote:
            pieces.append(current)
            current = ""
        else:
            current += char
    return [*pieces, current]


def _pair(text: str) -> tuple[Any, Any]:
    ends = [_literal(part) for part in _split(text)]
    if len(ends) != 2:
        raise PatternError(f"[{text}) has {len(ends)} ends", hint="A range has two: `v in [3, 9)`.")
    return ends[0], ends[1]


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text.strip()
