"""Flush: how the results of closed windows leave, where they would otherwise all leave at once.

A window that closes lets go a row for every group: a burst. A slow flush lets at most so many rows go in an epoch, the
oldest windows first. A lazy flush lets a row go when its group gets another, and is not looked for before. Neither
keeps a row longer than it takes so many further windows to close.
"""

from __future__ import annotations

from dataclasses import dataclass

from millstream.core.errors import WindowError


@dataclass(frozen=True, slots=True, kw_only=True)
class Flush:
    """At most `rows` per epoch, or lazily if None; no row waits until more than `windows` windows after its own close.

    >>> str(Flush(rows=1000, windows=2)), str(Flush(windows=1))
    ('slow flush: at most 1000 rows per epoch, none later than 2 windows', 'lazy flush: a row with the next of its \
group, none later than 1 window')
    """

    windows: int
    rows: int | None = None

    def __post_init__(self) -> None:
        """Refuse numbers that are none."""
        _count("windows", self.windows, "Say by how many windows a row may be late, as in windows=2.")
        if self.rows is not None:
            _count("rows", self.rows, "Say how many rows may leave in an epoch, as in rows=1000.")

    @property
    def lazy(self) -> bool:
        """Do rows wait for the next row of their group?"""
        return self.rows is None

    def __str__(self) -> str:
        """For people, and equal only for what is the same."""
        late = f"none later than {self.windows} window{'' if self.windows == 1 else 's'}"
        if self.rows is None:
            return f"lazy flush: a row with the next of its group, {late}"
        return f"slow flush: at most {self.rows} row{'' if self.rows == 1 else 's'} per epoch, {late}"


def _count(what: str, value: object, hint: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise WindowError(f"a flush with {what}={value!r}, which is not a whole number from 1 up", hint=hint)
