"""Triggers: when the engine takes the next epoch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from millstream.core.domain import nanoseconds
from millstream.core.errors import PlanError


@dataclass(frozen=True, slots=True)
class AvailableNow:
    """Take everything that is there, epoch by epoch, then stop."""


@dataclass(frozen=True, slots=True)
class Once:
    """Take one epoch, then stop; of a streaming frame, all that is there."""


@dataclass(frozen=True, slots=True)
class Every:
    """Take an epoch at each interval, until stopped.

    >>> Every.of("250 ms").seconds
    0.25
    """

    seconds: float

    @classmethod
    def of(cls, interval: str) -> Every:
        """From a duration such as "1 second"."""
        seconds = nanoseconds(interval) / 10**9
        if seconds <= 0:
            raise PlanError(f"interval {interval!r} is not positive", hint='Give one such as "1 second".')
        return cls(seconds)


Trigger = AvailableNow | Once | Every


def wait_until(when: float, stopping: Callable[[], bool]) -> None:
    """Wait until the monotonic clock says `when`; a run that is told to stop does not wait any longer."""
    while not stopping() and (left := when - time.monotonic()) > 0:
        time.sleep(min(left, 0.05))
