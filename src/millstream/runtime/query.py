"""A query as a host knows it: its node, and where its outputs go."""

from __future__ import annotations

from dataclasses import dataclass, field

from millstream.ops.operator import Meter
from millstream.plan import nodes
from millstream.runtime.batch import Sink


@dataclass(slots=True)
class HostQuery:
    """One registered query."""

    name: str
    node: nodes.Node
    """As it is computed; before the start, as it was written."""
    sinks: list[Sink] = field(default_factory=list[Sink])
    late: list[Sink] = field(default_factory=list[Sink])
    rejected: list[Sink] = field(default_factory=list[Sink])
    partial: list[Sink] = field(default_factory=list[Sink])
    """Results that were demanded before they were complete."""
    finals: bool = False
    """Do complete results go there, too?"""
    rows_out: int = 0
    since: dict[str, Meter] = field(default_factory=dict[str, Meter])
    """By name of a node that other queries had run before: what it had done when this query came."""

    def outputs(self) -> dict[str, list[Sink]]:
        """The sinks by output."""
        return {"results": self.sinks, "late": self.late, "rejected": self.rejected, "partial": self.partial}
