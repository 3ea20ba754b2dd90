"""How results of closed windows leave: the public functions for `core.flush`."""

from __future__ import annotations

from millstream.core.flush import Flush


def slow_flush(*, rows: int, windows: int = 2) -> Flush:
    """At most `rows` results leave per epoch, the oldest first, and none more than `windows` windows late.

    >>> slow_flush(rows=1000)
    Flush(windows=2, rows=1000)
    """
    return Flush(rows=rows, windows=windows)


def lazy_flush(*, windows: int = 2) -> Flush:
    """A result leaves when its group gets another row, or when `windows` further windows have closed."""
    return Flush(windows=windows)
