"""Names and texts as Spark SQL reads them: the one place where they are quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millstream.core.errors import SchemaError

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def quoted(name: str) -> str:
    """A column's name in backticks.

    >>> print(quoted("a`b.c"))
    `a``b.c`
    """
    return "`" + name.replace("`", "``") + "`"


def shown(name: str) -> str:
    """A column's name as a person writes it: bare if it can be.

    >>> print(shown("price"), shown("my price"))
    price `my price`
    """
    return name if _BARE.fullmatch(name) else quoted(name)


RESERVED = "__ms_"
"""How the names begin that operators give to columns of their own."""


def apart(name: str, taken: Iterable[str]) -> str:
    """A name for a hidden column, made longer until nobody has it, in any capitals.

    >>> apart("__a0", ["x"]), apart("__a0", ["__A0"])
    ('__a0', '__a0_')
    """
    known = {one.lower() for one in taken}
    while name.lower() in known:
        name += "_"
    return name


def check_reserved(names: Iterable[str]) -> None:
    """Refuse names that operators use themselves.

    >>> check_reserved(["price", "__order"])
    """
    for name in names:
        if name.lower().startswith(RESERVED):
            raise SchemaError(
                f"the name {name!r} begins with {RESERVED}, as columns of the engine's own do",
                hint="Rename the column before it gets here.",
            )


def text(value: str) -> str:
    r"""A text as a literal; what could end it, or begin an escape, is escaped.

    >>> print(text("it's 5\\6"))
    'it\'s 5\\6'
    """
    out = value.replace("\\", "\\\\").replace("'", "\\'")
    out = out.replace("\n", "\\n").replace("\r", "\\r").replace("\0", "\\0")
    return f"'{out}'"


def read_text(literal: str) -> str:
    r"""What a literal of Spark's, with its quotes, says.

    >>> read_text(r"'it''s \u0041\101 \% \q'")
    "it's AA \\% q"
    >>> read_text(r"r'a\n'")
    'a\\n'
    """
    if literal[0] in "rR":
        return literal[2:-1]
    quote, body = literal[0], literal[1:-1]
    return _ESCAPED.sub(_meant, body.replace(quote * 2, "\\" + quote) if quote * 2 in body else body)


_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[01][0-7]{2}|.)", re.DOTALL)
_LETTERS = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}


def _meant(found: re.Match[str]) -> str:
    inner = found[1]
    if len(inner) == 1:
        return _LETTERS.get(inner, inner)
    return chr(int(inner[1:], 16) if inner[0] in "uU" else int(inner, 8))
