"""Triggers: when the engine takes the next epoch."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.core.domain import nanoseconds
from millstream.core.errors import PlanError

if TYPE_CHECKING:
    from millstream.runtime.changes import Changes


@dataclass(frozen=True, slots=True)
class AvailableNow:
    """Take everything that is there, epoch by epoch, then stop."""


@dataclass(frozen=True, slots=True)
class Once:
    """Take one epoch, then stop; of a streaming frame, all that is there."""


_LONGEST = 100 * 366 * 86400
"""Seconds between two epochs."""


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
        length = nanoseconds(interval)
        if length > _LONGEST * 10**9:
            raise PlanError(f"interval {interval[:40]!r} is longer than a century", hint='Give one such as "1 second".')
        seconds = length / 10**9
        if seconds <= 0:
            raise PlanError(f"interval {interval!r} is not positive", hint='Give one such as "1 second".')
        return cls(seconds)


Trigger = AvailableNow | Once | Every


def wait_until(
    when: float,
    stopping: Callable[[], bool],
    changes: Changes | None = None,
    apply: Callable[[], None] | None = None,
) -> None:
    """Wait until the monotonic clock says `when`; a run that is told to stop does not wait any longer.

    Changes that come meanwhile are applied.
    """
    while not stopping() and (left := when - time.monotonic()) > 0:
        if changes is not None and apply is not None and changes.pending:
            apply()
        time.sleep(min(left, 0.05))
