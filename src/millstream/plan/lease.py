"""Leases: what of a shared store an aggregate or a join reads, and since when the store has all its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.plan.nodes import Aggregate, Answers, Join, Node, Source

LEASING = (Aggregate, Join)
"""The kinds of nodes whose state may be in a store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A place in a store. It does not change while the aggregate or the join lives, whoever else comes and goes."""

    store: str
    """The name of the store."""
    part: int
    """Of an aggregate: the part of the store that keeps its panes. Of a join: the number of its marks there."""
    since: int | None = None
    """The first tick from which the store has all its rows; None: from the beginning. Of a join it is a coordinate:
    results whose latest row is there or later leave, and no others."""
    complete: int | None = None
    """The first tick from which no result is missing: windows that had ended when it came do not leave, and neither do
    pairs that had been made."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What a part of a store keeps, whoever reads it."""

    what: str
    """Its groups, its condition and the kind of its windows, as text."""
    meets: tuple[str, ...]
    """The groups by which the store is laid out."""


@dataclass(frozen=True, slots=True)
class JoinHolding:
    """What a store of rows for joins is, whoever reads it."""

    what: str
    """How rows meet in it, but for the keys and attributes that its name says, as text."""
    numbers: int
    """Marks below this number have been given away: a join that comes gets another."""
    lone: bool
    """Is it the state of a join that is computed by itself, as long as it has no company?"""


Holdings = Mapping[str, Mapping[int, Holding]]
"""By store and part."""
JoinHoldings = Mapping[str, JoinHolding]
"""By store."""


def streams_behind(node: Node, attribute: str) -> list[Source] | None:
    """The streams whose values a column has, each of which progresses by that column; None if some values are others.

    No row that leaves the node has a greater value than the greatest that came in these streams.
    """
    if isinstance(node, Source):
        return [node] if node.progress is not None and node.progress.attribute == attribute else None
    below = [] if isinstance(node, Aggregate | Answers) else node.copied(attribute)
    found = [streams_behind(one, name) for one, name in below]
    known = [one for one in found if one is not None]
    return [source for some in known for source in some] if known and len(known) == len(found) else None
