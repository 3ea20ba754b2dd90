"""Where the time of an epoch goes, phase by phase."""

from __future__ import annotations

import time


class Phases:
    """A watch: each phase is what has passed since the one before.

    >>> phases = Phases()
    >>> phases.done("plan"), phases.done("job"), phases.moved("job", "plan", 0.0)
    (None, None, None)
    >>> list(phases.seconds)
    ['plan', 'job']
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.monotonic()

    def done(self, phase: str) -> None:
        """A phase is over."""
        now = time.monotonic()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now

    def moved(self, phase: str, to: str, seconds: float) -> None:
        """So much of a phase belongs to another."""
        self.seconds[phase] -= seconds
        self.seconds[to] = self.seconds.get(to, 0.0) + seconds
