"""Triggers: when to run the next epoch."""

from __future__ import annotations

from millstream.runtime.trigger import AvailableNow, Every, Once


def available_now() -> AvailableNow:
    """Read everything that exists now, epoch by epoch, then stop."""
    return AvailableNow()


def once() -> Once:
    """One epoch, then stop."""
    return Once()


def every(interval: str) -> Every:
    """One epoch per interval, until stopped: `every("1 second")`."""
    return Every.of(interval)
