"""Progress at the stops of a program, worked out from that of the streams: what each will learn, and its readers hear.

What most operators promise follows from what they were promised. One that holds results back promises less, and how
much less depends on rows that are in other processes; so its readers hear what is sure before the step begins, and
the ledger remembers what they have heard.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

from millstream.core.progress import Progress
from millstream.ops.turn import Let
from millstream.ops.windowing.behind import Elsewhere
from millstream.ops.windowing.smoothed import HELD
from millstream.plan import nodes
from millstream.runtime.durable.ledger import Ledger
from millstream.runtime.tasks.program import Program

AtStops = dict[int, list[Progress]]
"""By node: the progress of each of its inputs."""
Told = Callable[[int, nodes.HoldsBack, Progress], Progress]
"""From a node that holds results back, and its input's progress, to how far it has come for its readers."""


class Stops:
    """The progress at the nodes of a program, as of a ledger."""

    def __init__(self, program: Program, ledger: Ledger) -> None:
        self.program = program
        self.ledger = ledger

    @cached_property
    def before(self) -> AtStops:
        """What the nodes have learnt already."""
        return self._learnt[0]

    @cached_property
    def leaving(self) -> list[Progress]:
        """By node: what it promises of the rows that leave it, by what the nodes have learnt already."""
        return self._learnt[1]

    @cached_property
    def _learnt(self) -> tuple[AtStops, list[Progress]]:
        streams = {name: one.advanced for name, one in self.ledger.streams.items()}
        return self._at(streams, lambda i, _, progress: self.ledger.told.get(self.program.keys[i], progress))

    def now(self, streams: Mapping[str, Progress], let: Let) -> tuple[AtStops, dict[str, Progress]]:
        """What they learn in a step, and how far those that hold results back have come after it, by node key."""
        found: dict[str, Progress] = {}

        def told(i: int, how: nodes.HoldsBack, progress: Progress) -> Progress:
            key = self.program.keys[i]
            before = self.before[i][0]
            known = Elsewhere(before=before, told=self.ledger.told.get(key, before), least=self._least(key))
            found[key] = known.sure(progress, how.attribute, how.reach, drained=let == "all")
            return found[key]

        return self._at(streams, told)[0], found

    def waiting(self, let: Let) -> bool:
        """Would a step without rows and without news let anything go, or tell readers more?"""
        for i, node in self.program.stops():
            how = node.holds_back()
            if how is None:
                continue
            key = self.program.keys[i]
            if self._least(key) is not None:
                if let == "all" or not how.lazy:
                    return True
            elif self.ledger.told.get(key, self.before[i][0]) != self.before[i][0]:
                return True
        return False

    def _least(self, key: str) -> int | None:
        """The least end of a window of which an operator holds results back."""
        mine = (one for one in self.ledger.segments if one.operator == key and HELD in one.tables)
        return min((one.low for one in mine), default=None)

    def _at(self, streams: Mapping[str, Progress], told: Told) -> tuple[AtStops, list[Progress]]:
        promised: list[Progress] = []
        at: AtStops = {}
        for i, node in enumerate(self.program.nodes):
            if isinstance(node, nodes.Source):
                promised.append(streams[node.name])
                continue
            at[i] = [promised[self.program.index[id(below)]] for below in node.heard()]
            how = node.holds_back()
            promised.append(node.promised(at[i] if how is None else [told(i, how, at[i][0])]))
        return at, promised
