"""When to take the next epoch, in the user's words."""

from __future__ import annotations

from millstream.runtime.trigger import AvailableNow, Every, Once


def available_now() -> AvailableNow:
    """Everything that is there, epoch by epoch, then stop."""
    return AvailableNow()


def once() -> Once:
    """One epoch, then stop."""
    return Once()


def every(interval: str) -> Every:
    """An epoch at each interval, until stopped: `every("1 second")`."""
    return Every.of(interval)
