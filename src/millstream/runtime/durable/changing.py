"""What a durable host does while it runs: queries come and go, and readers send feedback, between two epochs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from millstream.ops.guard import Guards
from millstream.plan import nodes
from millstream.runtime.changes import Change, Changes
from millstream.runtime.control import Listener
from millstream.runtime.durable.arrange import change_queries, lease_of
from millstream.runtime.durable.heeding import heed
from millstream.runtime.feedback import FeedbackLoop
from millstream.runtime.query import HostQuery

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost


class Changing:
    """Part of a durable host."""

    queries: dict[str, HostQuery]
    changes: Changes
    listen: Listener | None
    begun: bool
    _opened: bool

    def __init__(self) -> None:
        """No feedback yet."""
        self.feedback = FeedbackLoop()
        self.said: list[Change] = []
        """Feedback that waits for the checkpoint to be opened."""
        self.guarded: dict[str, Guards] = {}
        """By node key: what the last step left out."""

    def change(self, change: Change) -> None:
        """Run other queries from the next epoch on. The checkpoint knows of it before this returns, if it is open."""
        kept = {name: query for name, query in self.queries.items() if name not in change.remove}
        host = cast("DurableHost", self)
        if not (self._opened and self.begun):
            self.queries = kept
            host.add(change.add, change.sources)
            self.said.append(change)
            return
        if change.add or change.remove:
            change_queries(host, kept, change)
        if change.send or change.cancel:
            self.said.append(change)
            heed(host)
            host.ledger.sequence += 1
            host.commit([], host.ledger.epoch)

    def apply_changes(self) -> None:
        """Queries come and go between two epochs, as this process or another one asks."""
        if self.listen is not None and self.begun:
            self.listen()
        self.changes.apply(self.change)

    def complete_from(self, name: str) -> list[tuple[nodes.Node, int | None]]:
        """The aggregates and joins of a query that read stores, and the tick from which each is complete."""
        return [(node, lease.complete) for node, lease in lease_of(cast("DurableHost", self), name)]

    def check_sources(self, sources: Mapping[str, Any]) -> None:
        """Can these sources join a run that is under way? Those that the driver reads can."""
