"""Changes to a run: queries come and go, and readers send feedback, while it is at work; between two epochs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.core.errors import MillstreamError
from millstream.core.feedback import Feedback
from millstream.runtime.query import HostQuery


@dataclass(slots=True)
class Change:
    """Queries to run from the next epoch on, and queries to run no longer; feedback to heed, and to heed no longer."""

    add: Sequence[HostQuery] = ()
    sources: Mapping[str, Any] = field(default_factory=dict[str, Any])
    remove: Sequence[str] = ()
    send: Sequence[tuple[str, Feedback]] = ()
    """Feedback, each over the rows of a query."""
    cancel: Sequence[int] = ()
    """Feedback to withdraw, by number."""
    numbers: list[int] = field(default_factory=list[int])
    """Of the feedback that was sent, once it is in force."""
    done: threading.Event = field(default_factory=threading.Event)
    error: MillstreamError | None = None
    """Why it was refused, if it was; then nothing has changed."""


class Changes:
    """Changes that wait for the end of an epoch. Any thread may submit them."""

    def __init__(self) -> None:
        """None yet."""
        self._lock = threading.Lock()
        self._waiting: list[Change] = []

    @property
    def pending(self) -> bool:
        """Does one wait?"""
        return bool(self._waiting)

    def submit(self, change: Change) -> None:
        """Have a change take effect between two epochs."""
        with self._lock:
            self._waiting.append(change)

    def apply(self, make: Callable[[Change], None]) -> None:
        """Make the changes that wait, in order. One that is refused changes nothing, and the others are made."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for change in waiting:
            try:
                make(change)
            except MillstreamError as error:
                change.error = error
            finally:
                change.done.set()
