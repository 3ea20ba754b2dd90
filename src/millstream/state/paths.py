"""Paths that a user gives: on a disk of this machine, whole from the start, and nothing that only looks like one."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from millstream.core.errors import MillstreamError, PlanError

# pathlib folds the two slashes of "s3://store" into one.
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):/")


def local_path(given: Any, what: str, error: type[MillstreamError] = PlanError) -> Path:
    """The whole path that `given` means now, whatever the current folder is later.

    >>> local_path("file:///data/out%201", "a checkpoint").as_posix()
    '/data/out 1'
    >>> local_path("s3a://store/ck", "a checkpoint")
    Traceback (most recent call last):
    millstream.core.errors.PlanError: "s3a://store/ck" is no path of this machine, which a checkpoint must be
    Hint: "s3a:" is not supported here. Give a folder on a local or shared disk, or file:///path.
    """
    if not isinstance(given, str | Path):
        raise error(f"{given!r} is not a path", hint="Give the path of a folder, as text or pathlib.Path.")
    text = str(given)
    if not text.strip():
        raise error(f'"{text}" is no path', hint='For the current folder, write ".".')
    if "\x00" in text:
        raise error(f"{text!r} is no path: it has a null character", hint="Leave it out.")
    if text.startswith("file:"):
        return _whole(Path(_of_uri(text, what, error)))
    found = _SCHEME.match(text)
    if found:
        shown = text if isinstance(given, str) else text.replace(":/", "://", 1)
        raise error(
            f'"{shown}" is no path of this machine, which {what} must be',
            hint=f'"{found[1]}:" is not supported here. Give a folder on a local or shared disk, or file:///path.',
        )
    return _whole(Path(text).expanduser())


def identity(path: Path) -> Path:
    """The one path of a folder, whatever links and dots lead to it.

    >>> identity(Path("/x/../tmp")) == identity(Path("/tmp"))
    True
    """
    return Path(os.path.realpath(path))


def inside(root: Path, name: str) -> Path | None:
    """The file that a name relative to a folder means; None if it lies outside of the folder.

    >>> inside(Path("/ck"), "state/a.arrow").as_posix(), inside(Path("/ck"), "../x"), inside(Path("/ck"), "/etc/x")
    ('/ck/state/a.arrow', None, None)
    """
    path = Path(name)
    if path.is_absolute() or ".." in path.parts or "\x00" in name:
        return None
    return root / path


def _whole(path: Path) -> Path:
    # Without ".." and still with its links: a link may lead elsewhere tomorrow, and that is what links are for.
    return Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def _of_uri(text: str, what: str, error: type[MillstreamError]) -> str:
    parts = urlsplit(text)
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        raise error(f'"{text}" is no path of this machine, which {what} must be', hint="Write file:///the/path.")
    return unquote(parts.path)
