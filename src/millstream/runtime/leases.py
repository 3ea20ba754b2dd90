"""Leases on stores: from when the answers of a query that comes later are complete, by what the stores have kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from millstream.core.domain import BOTTOM
from millstream.core.progress import Progress
from millstream.core.window import Grid, Sliding
from millstream.ops.operator import says_of_groups
from millstream.ops.panes.kinds import NEVER, first_window
from millstream.ops.panes.part import PanePart
from millstream.ops.panes.parts import Part, parts_of
from millstream.plan import nodes
from millstream.plan.lease import Holding, Holdings, Lease
from millstream.plan.rewrite.share_panes import Shared
from millstream.runtime.compile.store_specs import store_spec

_NOT_KEPT = 2**62
"""A tick that no row reaches."""
Kind = tuple[int, int, int, int]
"""Size, slide, base and first window of windows that panes are kept for."""


@dataclass(frozen=True, slots=True)
class KeptPart:
    """What a part of a store has kept so far."""

    base: int
    pane: int
    windows: tuple[Kind, ...]
    what: str
    """Groups, condition and kind of window, as text."""
    meets: tuple[str, ...] = ()
    """The groups by which the store is laid out."""
    begins: int = BOTTOM
    """Rows below this tick may be missing."""
    partials: Mapping[str, int] = field(default_factory=dict[str, int])
    """By kind of partial: the tick from which it has been kept."""

    def needs(self, bound: int) -> int:
        """The first tick that an open window reaches back to."""
        return min(_start(one, (bound - one[2]) // one[1]) for one in self.windows)

    def plain(self) -> dict[str, Any]:
        """As a manifest has it."""
        return asdict(self)


def kinds_of(windows: Iterable[tuple[Sliding, int | None]]) -> tuple[Kind, ...]:
    """Windows, each with the tick that its reader begins at, as a part keeps panes for them."""
    found = ((one.size, one.slide, one.base, first_window(one, since)) for one, since in windows)
    return tuple(dict.fromkeys(found))


def covered(windows: Iterable[Kind]) -> int:
    """The first tick from which every row is in some window: rows between windows are not kept."""
    whole = [one for one in windows if one[0] >= one[1]]
    return min((BOTTOM if one[3] <= NEVER else _start(one, one[3]) for one in whole), default=_NOT_KEPT)


def _start(kind: Kind, window: int) -> int:
    """Where a window begins, or the first there is."""
    size, slide, base, first = kind
    return base + (max(window, first) + 1) * slide - size


Kept = dict[str, dict[int, KeptPart]]
"""By store and part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where the streams stand when queries come or go."""

    fresh: bool
    """Has no row come yet?"""
    kept: Kept
    high: Callable[[nodes.Panes], int | None]
    """The tick above the greatest that has come, of the rows that a store reads; None if nobody knows."""
    progress: Callable[[nodes.Panes], Progress]
    """What the store has been promised."""


def holdings(kept: Kept) -> Holdings:
    """What stores keep, as a plan must know it."""
    return {store: {i: Holding(one.what, one.meets) for i, one in parts.items()} for store, parts in kept.items()}


def kept_from(plain: Mapping[str, Mapping[Any, Mapping[str, Any]]]) -> Kept:
    """From what a manifest has."""
    return {store: {int(part): _kept_part(one) for part, one in parts.items()} for store, parts in plain.items()}


def _kept_part(plain: Mapping[str, Any]) -> KeptPart:
    windows: tuple[Any, ...] = tuple(tuple(one) for one in plain["windows"])
    return KeptPart(**{**plain, "windows": windows, "meets": tuple(plain["meets"])})


def stores_of(shared: Shared) -> list[nodes.Panes]:
    """The stores of a plan, each once."""
    found = {id(n): n for root in shared.plan.roots for n in nodes.walk(root.node) if isinstance(n, nodes.Panes)}
    return list(found.values())


def settle_leases(shared: Shared, known: Mapping[int, Lease], standing: Standing) -> tuple[dict[int, Lease], Kept]:
    """Leases for all aggregates of a plan, by identity; and what the stores keep from now on.

    Those that are `known` stay as they are. A new one says since when the store has all that it reads.
    """
    leases = dict(known)
    kept: Kept = {}
    outlets = {id(node.of): node.outlet for node in _answers(shared)}
    for panes in stores_of(shared):
        parts = parts_of(store_spec(panes))
        high = None if standing.fresh else standing.high(panes)
        progress = standing.progress(panes)
        old = standing.kept.get(panes.name, {})
        for key, lease in shared.leases.items():
            if lease.store == panes.name and key not in known:
                part = parts[lease.part]
                if isinstance(part, PanePart):  # windows that only grow begin with the rows to come
                    leases[key] = _begun(lease, part, old.get(lease.part), outlets[key], high, progress)
                else:
                    leases[key] = lease
        asked: dict[int, list[tuple[Sliding, int | None]]] = {}
        for key in (key for key, lease in shared.leases.items() if lease.store == panes.name):
            windows = (one for one in panes.readings[outlets[key]].windows if isinstance(one, Sliding))
            asked.setdefault(leases[key].part, []).extend((one, leases[key].since) for one in windows)
        kept[panes.name] = {
            i: _keeps(part, kinds_of(asked[i]), old.get(i), panes.meets, high, progress) for i, part in parts.items()
        }
    return leases, kept


def _begun(
    lease: Lease, part: PanePart, old: KeptPart | None, outlet: int, high: int | None, progress: Progress
) -> Lease:
    """The lease of a new aggregate, which says from when the part has all rows that it reads."""
    if high is None:
        return lease
    reader = next(one for one in part.readers if one.outlet == outlet)
    since = high
    if old is not None and Grid(old.base, old.pane).divides(Grid.of(reader.windows)):
        columns = [old.partials.get(name, high) for name in part.names_of(reader)]
        since = max(_floor(old, part.spec.attribute, part.spec.groups, high, progress), *columns, BOTTOM)
    bound = _greatest(progress, part.spec.attribute)
    begun = [since]
    if bound > BOTTOM:
        kinds = kinds_of((window, None) for window in reader.windows if isinstance(window, Sliding))
        begun += [_start(one, (bound - one[2]) // one[1]) for one in kinds]
    return replace(lease, since=_known(since), complete=_known(max(begun)))


def _known(tick: int) -> int | None:
    return tick if tick > BOTTOM else None


def _answers(shared: Shared) -> Iterator[nodes.Answers]:
    for root in shared.plan.roots:
        yield from (node for node in nodes.walk(root.node) if isinstance(node, nodes.Answers))


def _floor(old: KeptPart, attribute: str, groups: tuple[str, ...], high: int, progress: Progress) -> int:
    """The tick from which panes have not been forgotten yet; no row has come that is as far as `high`."""
    if says_of_groups(replace(progress, grouped={}), attribute, groups):
        return high
    bound = _greatest(progress, attribute)
    return min(high, old.begins if bound <= BOTTOM else max(old.begins, old.needs(bound)))


def _greatest(progress: Progress, attribute: str) -> int:
    """The bound of the group that is furthest on."""
    found = (bound for (name, _), bounds in progress.grouped.items() if name == attribute for bound in bounds.values())
    return max([progress.bound(attribute), *found])


def _keeps(
    part: Part,
    windows: tuple[Kind, ...],
    old: KeptPart | None,
    meets: tuple[str, ...],
    high: int | None,
    progress: Progress,
) -> KeptPart:
    """What a part keeps from now on, for these windows."""
    what = part.readers[0].what
    if not isinstance(part, PanePart):
        return KeptPart(0, 1, (), what, meets)
    came = BOTTOM if high is None else high
    begins = came if old is None else old.begins
    if old is not None and high is not None:
        begins = _floor(old, part.spec.attribute, part.spec.groups, high, progress)
        if not Grid(old.base, old.pane).divides(part.grid):
            begins = came  # what was kept in longer panes cannot be cut by windows to come
    before = {} if old is None else old.partials
    partials = {one.name: before.get(one.name, came) for one in part.spec.aggregates}
    return KeptPart(part.grid.base, part.grid.pane, windows, what, meets, max(begins, covered(windows)), partials)
