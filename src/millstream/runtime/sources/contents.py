"""The bytes of a text file, unpacked if its suffix says that it is packed."""

from __future__ import annotations

from pathlib import Path, PurePath

import pyarrow as pa

from millstream.core.errors import SourceError

_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli"}
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def contents(path: Path) -> bytes:
    """All of the file; a file that cannot be read is an error that names it."""
    try:
        return unpacked(path.read_bytes(), path)
    except OSError as error:
        raise unreadable_file(path, error) from error


def unpacked(data: bytes, path: PurePath) -> bytes:
    """The text in the bytes of a file."""
    codec = _COMPRESSIONS.get(path.suffix.lower())
    try:
        with pa.input_stream(pa.BufferReader(data), compression=codec) as stream:
            text: bytes = stream.read()
    except (pa.ArrowException, OSError) as error:
        raise unreadable_file(path, error) from error
    return text.removeprefix(_BYTE_ORDER_MARK)


def unreadable_file(path: PurePath, error: Exception) -> SourceError:
    """The error for a file of which nothing can be trusted."""
    return SourceError(
        f'"{path}" cannot be read: {" ".join(str(error).split())}',
        hint="The run stopped before this file, and nothing of it was taken. Repair it, move it away, or "
        "leave it out with pattern=; then start again.",
    )


def count_lines(data: bytes) -> int:
    """Lines of the text, the last one with or without its line feed."""
    return data.count(b"\n") + (0 if not data or data.endswith(b"\n") else 1)


def printable(text: str) -> str:
    """Text for a reason or a raw row: bytes that are not UTF-8 are written as escapes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_utf8(text: str) -> bool:
    """Whether the text was decoded without surrogates for foreign bytes."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
