"""The parts of a store, as its readers have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from millstream.core.window import Grid, Landmark
from millstream.kernels.partials import Bound
from millstream.ops.panes.growing import GrowingPart
from millstream.ops.panes.part import PanePart
from millstream.ops.panes.store_spec import Reader, StoreSpec
from millstream.ops.windowing.aggregate_spec import Spec

Part = PanePart | GrowingPart


def parts_of(spec: StoreSpec) -> dict[int, Part]:
    """The parts of a store by number. The readers of one part have the same groups and the same condition."""
    found: dict[int, list[Reader]] = {}
    for reader in spec.readers:
        found.setdefault(reader.part, []).append(reader)
    return {number: _part(spec, readers) for number, readers in sorted(found.items())}


def _part(spec: StoreSpec, readers: Sequence[Reader]) -> Part:
    first = readers[0]
    window = first.windows[0]
    asked = sorted({i for one in readers for i in one.answers})
    if isinstance(window, Landmark):
        bound = tuple(Bound(f"a{i}", spec.answers[i].kernel, ()) for i in asked)
        made = replace(_spec(spec, readers, ()), aggregates=bound)
        places = {i: spec.answers[i].place for i in asked}
        names = ["rows" if place is None else spec.aggregates[place].name for place in places.values()]
        return GrowingPart(made, window, first.predicate, readers, places, names)
    of = sorted({place for i in asked if (place := spec.answers[i].place) is not None})
    grid = Grid.of([window for one in readers for window in one.windows])
    return PanePart(_spec(spec, readers, of), grid, first.predicate, readers, of, spec.answers)


def _spec(spec: StoreSpec, readers: Sequence[Reader], of: Sequence[int]) -> Spec:
    """What the part computes, as if it were one aggregate. Its groups have one order, whichever reader comes first."""
    first = readers[0].spec
    types = dict(zip(first.groups, first.group_types, strict=True))
    return replace(
        first,
        groups=tuple(sorted(types)),
        group_types=tuple(types[name] for name in sorted(types)),
        aggregates=tuple(spec.aggregates[i] for i in of),
        windows=tuple(dict.fromkeys(window for one in readers for window in one.windows)),
    )
