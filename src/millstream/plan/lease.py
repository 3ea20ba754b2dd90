"""Leases: what of a shared store an aggregate reads, and since when the store has all its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from millstream.plan.nodes import Aggregate, Answers, Node, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """An aggregate's place in a store. It does not change while the aggregate lives, whoever else comes and goes."""

    store: str
    """The name of the store."""
    part: int
    """The part of the store that keeps its panes."""
    since: int | None = None
    """The first tick from which the store has all its rows; None: from the beginning."""
    complete: int | None = None
    """The first tick from which none of its windows is missing: those that had ended when it came do not leave."""


@dataclass(frozen=True, slots=True)
class Holding:
    """What a part of a store keeps, whoever reads it."""

    what: str
    """Its groups, its condition and the kind of its windows, as text."""
    meets: tuple[str, ...]
    """The groups by which the store is laid out."""


Holdings = Mapping[str, Mapping[int, Holding]]
"""By store and part."""


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
