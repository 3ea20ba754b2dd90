"""Which files a path stands for, and what format they are in."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path, PurePath

from millstream.core.errors import SourceError, nearest
from millstream.state.paths import local_path

SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
}
_COMPRESSIONS = {".gz", ".bz2", ".zst", ".lz4", ".br"}


def named_path(given: str | Path) -> Path:
    """The path of a source, which must be there before the query starts.

    >>> named_path("")
    Traceback (most recent call last):
    millstream.core.errors.SourceError: "" names no file and no folder
    Hint: For the current folder, write ".".
    """
    if given == "":
        raise SourceError('"" names no file and no folder', hint='For the current folder, write ".".')
    path = local_path(given, "a source on this host", SourceError)
    if not path.exists():
        raise SourceError(
            f'"{given}" does not exist',
            hint=f"The current folder is {Path.cwd()}. Give the path of a file or a folder.",
        )
    return path


def names_in(path: Path, pattern: str) -> list[str]:
    """Names of the files, sorted, relative to the folder; a path to one file names just that.

    Hidden files, and those whose name starts with `_`, are somebody's work in progress and left alone, as is
    anything below a folder so named.
    """
    if path.is_file():
        return [path.name]
    start = len(path.parts)
    try:
        found = [file.parts[start:] for file in path.glob(pattern) if file.is_file()]
    except OSError as error:
        raise SourceError(f'folder "{path}" cannot be listed: {error}', hint="Check its permissions.") from error
    return sorted("/".join(parts) for parts in found if not any(part.startswith((".", "_")) for part in parts))


def would_name(path: Path, pattern: str, file: Path) -> bool:
    """Would a file, if it were there, be one of those that `names_in` names?

    >>> would_name(Path("/in"), "*", Path("/in/a.csv")), would_name(Path("/in"), "*", Path("/in/b/a.csv"))
    (True, False)
    >>> would_name(Path("/in"), "**/*.csv", Path("/in/b/a.csv")), would_name(Path("/in"), "*/*", Path("/in/b/a.csv"))
    (True, True)
    """
    if not file.is_relative_to(path):
        return False
    wanted, parts = [*PurePath(pattern).parts], [*file.relative_to(path).parts]
    if "**" in wanted:
        return fnmatchcase(parts[-1], wanted[-1]) and len(parts) >= len([one for one in wanted if one != "**"])
    return len(wanted) == len(parts) and all(map(fnmatchcase, parts, wanted))


def format_of(path: Path, pattern: str) -> str:
    """The format that the suffix of the file, or of all files in the folder, tells.

    >>> format_of(Path(__file__), "*")
    Traceback (most recent call last):
    millstream.core.errors.SourceError: the format of "...listing.py" is not known from its suffix ".py"
    Hint: Name it with format=, one of parquet, csv, json.
    """
    hint = "Name it with format=, one of parquet, csv, json."
    names = names_in(path, pattern)
    if not names:
        raise SourceError(f'folder "{path}" has no files that could tell their format', hint=hint)
    formats: dict[str, str] = {}
    for name in names:
        suffix = _suffix(name)
        if suffix not in SUFFIXES:
            file = path if path.is_file() else path / name
            raise SourceError(f'the format of "{file}" is not known from its suffix "{suffix}"', hint=hint)
        formats.setdefault(SUFFIXES[suffix], name)
    if len(formats) > 1:
        mixed = ", ".join(f"{kind} ({name})" for kind, name in sorted(formats.items()))
        raise SourceError(
            f'folder "{path}" holds files of several formats: {mixed}',
            hint='Name the format and a pattern="*.csv", say.',
        )
    return next(iter(formats))


def check_format(name: str) -> str:
    """The format, if there is a reader for it."""
    known = sorted(set(SUFFIXES.values()))
    if name not in known:
        raise SourceError(f'there is no file format "{name}"', hint=nearest(name, known))
    return name


def _suffix(name: str) -> str:
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""
