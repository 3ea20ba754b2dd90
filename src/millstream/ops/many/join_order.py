"""Join orders: by what new rows of each stream probe the others, from what earlier probes have shown.

A step is charged for the rows that probe and for those that are compared; what matches goes on to the next step. That
is the corrected model of the ring: Tj·Σ λW·Π λWS, with measured numbers in place of rates, windows and selectivities.
Steps that were never taken are judged by the rows that a stream keeps and by how often a key comes in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

from millstream.ops.many.many_spec import ManySpec

_ROWS, _OFTEN, _HOLDS = 1000.0, 10.0, 0.5
"""Of a stream that nothing is known of: its rows, how often a key comes, and how often a condition holds."""
_FADES = 0.5
"""What an epoch counts beside the one after it."""
_EVIDENCE = 16
"""So many rows must have taken a step before it is known."""


@dataclass(slots=True)
class Fans:
    """What steps have shown: rows that probed, rows compared, and matches, by the streams there and the next one."""

    counts: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    rows: dict[int, float] = field(default_factory=dict[int, float])
    """Of each stream, the rows that it keeps."""
    often: dict[str, float] = field(default_factory=dict[str, float])
    """By stream and link: how many rows of the stream have a key, on average."""
    pace: float = 0.0
    """How many rows of all streams come a tick, by the last epoch."""

    @classmethod
    def of(cls, plain: Iterable[Mapping[str, Any]]) -> Fans:
        """What the partitions of an operator have written down, together."""
        out = cls()
        for one in plain:
            for name, counts in one.get("counts", {}).items():
                mine = out.counts.setdefault(name, [0.0, 0.0, 0.0])
                out.counts[name] = [a + b for a, b in zip(mine, counts, strict=True)]
            for stream, rows in one.get("rows", {}).items():
                out.rows[int(stream)] = out.rows.get(int(stream), 0.0) + rows
            for name, often in one.get("often", {}).items():
                out.often[name] = max(out.often.get(name, 0.0), often)
            out.pace += one.get("pace", 0.0)
        return out

    def plain(self) -> dict[str, Any]:
        """To be written down."""
        rows = {str(stream): rows for stream, rows in self.rows.items()}
        return {"counts": self.counts, "rows": rows, "often": self.often, "pace": self.pace}

    def faded(self) -> Fans:
        """The same, counting for less."""
        kept = {name: [_FADES * one for one in counts] for name, counts in self.counts.items()}
        return Fans(
            {name: counts for name, counts in kept.items() if counts[0] >= 1}, dict(self.rows), dict(self.often)
        )

    def note(self, there: Iterable[int], stream: int, probed: int, compared: int, matched: int) -> None:
        """A step was taken."""
        mine = self.counts.setdefault(_step(there, stream), [0.0, 0.0, 0.0])
        for i, more in enumerate((probed, compared, matched)):
            mine[i] += more

    def link(self, spec: ManySpec, there: frozenset[int], stream: int) -> int | None:
        """By which link rows of a stream are found from rows that are there: that whose keys are the rarest."""
        ties = [n for n in spec.links_of[stream] if spec.links[n].streams & there]
        return min(ties, key=lambda n: self.often.get(f"{stream}:{n}", _OFTEN / len(spec.links[n].keys)), default=None)

    def fan(self, spec: ManySpec, there: frozenset[int], stream: int) -> tuple[float, float]:
        """How many rows are compared for each that probes, and how many match."""
        probed, compared, matched = self.counts.get(_step(there, stream), (0.0, 0.0, 0.0))
        if probed >= _EVIDENCE:
            return compared / probed, matched / probed
        rows = self.rows.get(stream, _ROWS)
        link = self.link(spec, there, stream)
        near = rows if link is None else min(rows, self.often.get(f"{stream}:{link}", _OFTEN))
        ties = sum(1 for n in spec.links_of[stream] if spec.links[n].streams & there)
        chance = _HOLDS ** (sum(1 for _ in spec.checked_at(there, stream)) + max(0, ties - 1))
        return near, near * chance


def cost(spec: ManySpec, fans: Fans, port: int, order: Sequence[int]) -> float:
    """What a row that comes at a port costs in this order: rows that probe, and rows compared, over all steps."""
    there, rows, total = frozenset((port,)), 1.0, 0.0
    for stream in order:
        compared, matched = fans.fan(spec, there, stream)
        total += rows * (1 + compared)
        rows *= matched
        there |= {stream}
    return total


def choose(spec: ManySpec, fans: Fans, port: int) -> tuple[int, ...]:
    """The order in which rows of a port probe the other streams: the cheapest by what is known."""
    others = [stream for stream in range(spec.streams) if stream != port]
    if len(others) <= _FEW:
        return min(permutations(others), key=lambda order: cost(spec, fans, port, order))
    order: list[int] = []
    while len(order) < len(others):
        left = [stream for stream in others if stream not in order]
        order.append(min(left, key=lambda stream: cost(spec, fans, port, [*order, stream])))
    return tuple(order)


_FEW = 5
"""Of so many other streams every order is tried; of more, the next best is taken step by step."""


def _step(there: Iterable[int], stream: int) -> str:
    return f"{','.join(map(str, sorted(there)))}>{stream}"
