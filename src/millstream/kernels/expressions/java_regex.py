"""Java's regular expressions as Python's, as far as both have them; what differs is refused."""

from __future__ import annotations

import re
from functools import lru_cache

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions.ambiguity import explodes

_ANY = r"[^\n\r\u0085\u2028\u2029]"
_END = r"(?=(?:\r\n|(?<!\r)\n|[\r\u0085\u2028\u2029])?\Z)"
_CLASSES = "dDwWsS"
_CONTROL = "tnrf"
_HINT = "Use letters, classes such as [a-z] and \\d, groups, |, and the repetitions * + ? {n,m}."


@lru_cache(maxsize=512)
def compiled(pattern: str) -> re.Pattern[str]:
    r"""The pattern, with Java's meaning.

    >>> bool(compiled("^a.c$").search("a\u2028c")), bool(compiled("c$").search("abc\n"))
    (False, True)
    """
    flags = re.ASCII
    body = pattern
    if body.startswith("(?i)"):
        flags, body = flags | re.IGNORECASE, body[4:]
    pieces = _translated(body, pattern)
    try:
        made = re.compile("".join(pieces), flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise ExpressionError(f"{pattern!r} is no pattern: {error}", hint=_HINT) from None
    if explodes(pieces, flags):
        raise ExpressionError(
            f"the pattern {pattern!r} can read the same text in so many ways that it might take for ever",
            hint="Let each repetition inside of another begin or end with a character of its own: ([a-z]+,)* instead "
            "of ([a-z]+)*.",
        )
    return made


def _translated(body: str, whole: str) -> list[str]:
    out: list[str] = []
    at = 0
    while at < len(body):
        one = body[at]
        if one == "\\":
            out.append(_escape(body[at : at + 2], whole))
            at += 2
            continue
        if one == "[":
            piece, at = _class(body, at, whole)
            out.append(piece)
            continue
        if one == "(" and body[at + 1 : at + 2] == "?" and body[at + 2 : at + 3] not in (":", "=", "!"):
            raise _refused(whole, body[at : at + 4])
        if one == "{" and not re.match(r"\{\d{1,4}(,\d{0,4})?\}", body[at:]):
            raise _refused(whole, "{")
        out.append({".": _ANY, "$": _END}.get(one, one))
        at += 1
    return out


def _escape(pair: str, whole: str) -> str:
    letter = pair[1:]
    if letter and (letter in _CLASSES or letter in _CONTROL):
        return pair
    if letter and not letter.isalnum():
        return "\\" + letter
    raise _refused(whole, pair)


def _class(body: str, at: int, whole: str) -> tuple[str, int]:
    end = at + 1
    out = ["["]
    if body[end : end + 1] == "^":
        out.append("^")
        end += 1
    if body[end : end + 1] == "]":
        raise _refused(whole, "[]")
    while end < len(body) and body[end] != "]":
        if body[end] == "[" or body[end : end + 2] == "&&":
            raise _refused(whole, body[end : end + 2])
        if body[end] == "\\":
            out.append(_escape(body[end : end + 2], whole))
            end += 2
        else:
            out.append("\\" + body[end] if body[end] in "|~&-" and body[end] != "-" else body[end])
            end += 1
    if end >= len(body):
        raise _refused(whole, "[")
    return "".join(out) + "]", end + 1


def replacement(text: str, made: re.Pattern[str]) -> str:
    r"""What Java writes in place of a match, as Python says it.

    >>> replacement("<$1>", re.compile("(a)"))
    '<\\g<1>>'
    """
    out: list[str] = []
    at = 0
    while at < len(text):
        one = text[at]
        if one == "\\":
            if at + 1 >= len(text):
                raise ExpressionError(f"the replacement {text!r} ends in a backslash", hint="Double it.")
            out.append(_plain(text[at + 1]))
            at += 2
        elif one == "$":
            found = re.match(r"\d", text[at + 1 :])
            if found is None or int(found[0]) > made.groups:
                raise ExpressionError(f"the replacement {text!r} names no group", hint="Write $1, or \\$ for a dollar.")
            if re.match(r"\d\d", text[at + 1 :]):
                raise ExpressionError(f"the replacement {text!r} has a digit after a group", hint="Use fewer groups.")
            out.append(f"\\g<{found[0]}>")
            at += 2
        else:
            out.append(_plain(one))
            at += 1
    return "".join(out)


def _plain(one: str) -> str:
    return "\\\\" if one == "\\" else one


def _refused(pattern: str, part: str) -> ExpressionError:
    return ExpressionError(f"{part} in the pattern {pattern!r} may mean something else in Java", hint=_HINT)
