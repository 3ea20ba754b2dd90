"""Driving a durable host: when an epoch is taken, and from which sources its rows are."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from millstream.runtime.batch import Batch
from millstream.runtime.durable.heeding import skip
from millstream.runtime.durable.jobs import Arrivals
from millstream.runtime.outputs.handed import HandedOn
from millstream.runtime.trigger import AvailableNow, Every, Once, Trigger, wait_until

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost


class Drive:
    """One run of a host: epochs as the trigger says, until done or told to stop."""

    def __init__(
        self,
        host: DurableHost,
        trigger: Trigger,
        stopping: Callable[[], bool],
        report: Callable[[dict[str, Any]], None],
        quiet: Callable[[float], None],
    ) -> None:
        self.host = host
        self.trigger = trigger
        self.stopping = stopping
        self.report = report
        self._quiet = quiet
        self._readers: dict[str, Iterator[Batch]] = {}

    def by_itself(self) -> None:
        """The driver says when an epoch is."""
        trigger = self.trigger
        while not self.stopping():
            began = time.monotonic()
            self.host.apply_changes()
            arrivals = self.arrivals()
            if arrivals is not None:
                self.step(arrivals, self.host.ledger.epoch + 1)
            elif isinstance(trigger, Every):
                self.nothing_new(began)
            if isinstance(trigger, Once) or (isinstance(trigger, AvailableNow) and arrivals is None):
                return
            if isinstance(trigger, Every):
                wait_until(began + trigger.seconds, self.stopping, self.host.changes, self.host.apply_changes)

    def arrivals(self) -> Arrivals | None:
        """The rows of the next epoch, if there are any."""
        local = self.next_local()
        return Arrivals(local) if local else None

    def step(self, arrivals: Any, epoch: int) -> None:
        """Take an epoch's rows."""
        self.host.step(arrivals, epoch, self.report, self.trigger)

    def nothing_new(self, began: float) -> None:
        """No source has rows; time and the caller may have something to say."""
        self.host.flush(self.report)
        self._quiet(began)

    def next_local(self) -> dict[str, Batch]:
        """The next batch of each source that the driver reads itself.

        One that has none is asked no more in this run or, in a run that goes on, the next time.
        """
        out: dict[str, Batch] = {}
        skip(self.host)
        for name, source in self.host.held_sources().items():
            if isinstance(source, HandedOn):
                batch = source.read(self.host.storage, self.host.ledger.handed.get(name, ()))
            else:
                if name not in self._readers:
                    self._readers[name] = source.batches()
                batch = next(self._readers[name], None)
                if batch is None and isinstance(self.trigger, Every):
                    del self._readers[name]
            if batch is None and self.host.supplied.get(name):
                batch = Batch(source.schema.empty_table())
            if batch is not None:
                out[name] = batch
        return out
