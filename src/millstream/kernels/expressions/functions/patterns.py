"""LIKE and regular expressions; patterns are constants, and mean what they mean in Java."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, Value, rowwise, strict
from millstream.kernels.expressions.fit import fixed, text, whole
from millstream.kernels.expressions.function_registry import function
from millstream.kernels.expressions.java_regex import compiled, replacement

_FAMILY = "patterns"


@function("like", _FAMILY, (2, 3))
def _like(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _likened("like", parts, bound, folded=False)


@function("ilike", _FAMILY, (2, 3))
def _ilike(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    return _likened("ilike", parts, bound, folded=True)


def _likened(name: str, parts: list[BoundTerm], bound: Binding, *, folded: bool) -> BoundTerm:
    value = text(parts[0], bound, name)
    if parts[1].kind == t.NOTHING:
        from millstream.kernels.expressions.bound_term import constant  # noqa: PLC0415 - only here

        return constant(None, t.BOOL)
    pattern = str(fixed(parts[1], name, "the pattern"))
    escape = str(fixed(parts[2], name, "the escape")) if len(parts) == 3 else "\\"
    if len(escape) != 1:
        raise ExpressionError(f"the escape {escape!r} is not one character", hint="Write ESCAPE '/'.")
    pieces = _pieces(pattern.lower() if folded else pattern, escape)
    if not folded and (fast := _fast(pieces)) is not None:
        return strict(t.BOOL, [value], fast)
    made = re.compile(_expression(pieces), re.DOTALL)
    if folded:
        return rowwise(t.BOOL, [value], lambda one: made.fullmatch(one.lower()) is not None)
    return rowwise(t.BOOL, [value], lambda one: made.fullmatch(one) is not None)


def _pieces(pattern: str, escape: str) -> list[tuple[bool, str]]:
    """The pattern as texts and wildcards."""
    out: list[tuple[bool, str]] = []
    at = 0
    while at < len(pattern):
        one = pattern[at]
        if one == escape:
            at += 1
            if at >= len(pattern) or pattern[at] not in ("%", "_", escape):
                raise ExpressionError(
                    f"the pattern {pattern!r} escapes nothing", hint=f"After {escape} comes %, _ or {escape} itself."
                )
            out.append((False, pattern[at]))
        else:
            out.append((one in "%_", one))
        at += 1
    joined: list[tuple[bool, str]] = []
    for wild, one in out:
        if joined and not wild and not joined[-1][0]:
            joined[-1] = (False, joined[-1][1] + one)
        else:
            joined.append((wild, one))
    return joined


def _expression(pieces: list[tuple[bool, str]]) -> str:
    """The pattern as a regular expression that never goes back beyond a %.

    What stands between two % may be taken where it is found first: whatever a later place allows, this one does too.

    >>> _expression(_pieces("a%b_%c", "/"))
    'a(?>.*?b.).*c'
    """
    groups = [""]
    for wild, one in pieces:
        if wild and one == "%":
            groups.append("")
        else:
            groups[-1] += "." if wild else re.escape(one)
    if len(groups) == 1:
        return groups[0]
    first, *middle = groups[:-1]
    found = "".join(f"(?>.*?{one})" for one in middle if one)
    return f"{first}{found}.*{groups[-1]}"


def _fast(pieces: list[tuple[bool, str]]) -> Any:
    any_, inner = (True, "%"), [one for wild, one in pieces if not wild]
    if len(inner) != 1:
        return None
    match [piece == any_ for piece in pieces]:
        case [False]:
            return lambda value: pc.equal(value, inner[0])
        case [False, True]:
            return lambda value: pc.starts_with(value, inner[0])
        case [True, False]:
            return lambda value: pc.ends_with(value, inner[0])
        case [True, False, True]:
            return lambda value: pc.match_substring(value, inner[0])
        case _:
            return None


@function("rlike", _FAMILY, (2, 2), "regexp", "regexp_like")
def _rlike(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    made = compiled(str(fixed(parts[1], "rlike", "the pattern")))
    return rowwise(t.BOOL, [text(parts[0], bound, "rlike")], lambda one: made.search(one) is not None)


@function("regexp_extract", _FAMILY, (2, 3))
def _extract(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    made = compiled(str(fixed(parts[1], "regexp_extract", "the pattern")))
    group = fixed(parts[2], "regexp_extract", "the group") if len(parts) == 3 else 1
    if not isinstance(group, int) or not 0 <= group <= made.groups:
        raise ExpressionError(f"there is no group {group} in {made.pattern!r}", hint=f"It has {made.groups}.")

    def one(value: str) -> str:
        found = made.search(value)
        return "" if found is None else found[group] or ""

    return rowwise(t.TEXT, [text(parts[0], bound, "regexp_extract")], one)


@function("regexp_replace", _FAMILY, (3, 3))
def _replace(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    made = compiled(str(fixed(parts[1], "regexp_replace", "the pattern")))
    _check_filled(made, "regexp_replace")
    by = replacement(str(fixed(parts[2], "regexp_replace", "the replacement")), made)
    return rowwise(t.TEXT, [text(parts[0], bound, "regexp_replace")], lambda one: made.sub(by, one))


@function("regexp_count", _FAMILY, (2, 2))
def _count(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    made = compiled(str(fixed(parts[1], "regexp_count", "the pattern")))
    _check_filled(made, "regexp_count")
    return rowwise(t.INT, [text(parts[0], bound, "regexp_count")], lambda one: sum(1 for _ in made.finditer(one)))


@function("split", _FAMILY, (2, 3))
def _split(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    made = compiled(str(fixed(parts[1], "split", "the pattern")))
    _check_filled(made, "split")
    limit = fixed(whole(parts[2], bound, "split"), "split", "the limit") if len(parts) == 3 else -1
    kind = pa.list_(t.TEXT)

    def run(value: Value) -> Value:
        return pa.array([None if one is None else _cut(made, one, limit) for one in value.to_pylist()], kind)

    return strict(kind, [text(parts[0], bound, "split")], run)


def _check_filled(made: re.Pattern[str], name: str) -> None:
    """Java finds nothing in the middle of what it holds as two characters, and we as one."""
    if made.search("") is not None:
        raise ExpressionError(f"the pattern of {name} matches the empty text", hint="Write one that needs a character.")


def _cut(made: re.Pattern[str], value: str, limit: int) -> list[str]:
    out: list[str] = []
    at = 0
    for found in made.finditer(value):
        if limit > 0 and len(out) == limit - 1:
            break
        out.append(value[at : found.start()])
        at = found.end()
    out.append(value[at:])
    return out
