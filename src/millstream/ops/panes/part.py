"""A part of a store: partials by group and pane of the rows that satisfy one condition, for windows that slide.

Everything is computed for all its readers at once. The windows that have ended are found together, each aggregate is
combined once for all of them, and what a reader gets is a slice of the answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.core.progress import Progress
from millstream.core.window import Grid, Sliding
from millstream.kernels.aggregates.base import Algebra, Holistic, Work
from millstream.kernels.aggregates.count import Count
from millstream.kernels.group import stand_in
from millstream.kernels.partials import KEY, ROWS, Bundle, Merged
from millstream.kernels.sliding import runs
from millstream.ops.operator import says_of_groups
from millstream.ops.panes.ended_windows import Ended, InRuns, Results, ended
from millstream.ops.panes.formed import FormedPart
from millstream.ops.panes.kinds import Kinds
from millstream.ops.panes.lifted import Lifted
from millstream.ops.panes.store_form import PaneForm
from millstream.ops.panes.store_spec import Reader, StoreAnswer
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.base import clip, select

COUNT = Count()
ByKind = dict[int, pa.Array]
"""What is answered, for each kind of window."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """An answer that some readers want: its number, how it is made of partials, and for which kinds of window."""

    number: int
    kernel: Algebra | Holistic
    kinds: frozenset[int]


class PanePart(FormedPart):
    """Panes of some groups and aggregates, and the sliding windows of all who read them."""

    def __init__(
        self,
        spec: Spec,
        grid: Grid,
        predicate: int | None,
        readers: Sequence[Reader],
        of: Sequence[int],
        answers: Sequence[StoreAnswer],
    ) -> None:
        """`of` are the store's partials that the part keeps, in order; `answers` are all that the store gives."""
        super().__init__(spec)
        self.form = PaneForm(grid.base, grid.pane, tuple(one.name for one in spec.aggregates))
        self.grid = grid
        self.predicate = predicate
        self.readers = tuple(readers)
        self.of = tuple(of)
        asked = ((window, one.since) for one in readers for window in one.windows if isinstance(window, Sliding))
        self.kinds = Kinds(list(dict.fromkeys(asked)), grid)
        self._asked = [
            (one, [self.kinds.place[w, one.since] for w in one.windows if isinstance(w, Sliding)]) for one in readers
        ]
        own = {i: at for at, i in enumerate(of)}
        wanted: dict[int, set[int]] = {}
        for reader, kinds in self._asked:
            for one in reader.answers:
                wanted.setdefault(one, set()).update(kinds)
        # By place of the partials in this part, None for the number of rows: the answers made of them.
        self._made: dict[int | None, list[Wanted]] = {}
        self._places: dict[int, int | None] = {}
        for one, kinds in sorted(wanted.items()):
            place = answers[one].place
            self._places[one] = None if place is None else own[place]
            asked_of = self._made.setdefault(self._places[one], [])
            asked_of.append(Wanted(one, answers[one].kernel, frozenset(kinds)))
        self._bags = [i for i, one in enumerate(spec.aggregates) if isinstance(one.kernel, Holistic)]
        self._bagged = frozenset(kind for i in self._bags for one in self._made[i] for kind in one.kinds)

    # --- state -------------------------------------------------------------------------------------

    def names_of(self, reader: Reader) -> list[str]:
        """The partials that a reader's answers are made of."""
        places = (self._places[one] for one in reader.answers)
        return [self.spec.aggregates[place].name for place in places if place is not None]

    # --- rows --------------------------------------------------------------------------------------

    def take_lifted(self, lifted: Lifted) -> None:
        """Take the part's own of an epoch's partials."""
        factor = self.grid.pane // lifted.grid.pane
        shift = (lifted.grid.base - self.grid.base) // lifted.grid.pane
        bundle = lifted.part(self.spec.groups, self.of, self.predicate, lambda key: (key + shift) // factor)
        inside = self.kinds.inside(bundle.fixed[KEY].to_numpy())
        if not inside.all():
            bags = {i: bag.filter(pa.array(self.kinds.inside(bag[KEY].to_numpy()))) for i, bag in bundle.bags.items()}
            bundle = Bundle(bundle.fixed.filter(pa.array(inside)), bags)
        if bundle.fixed.num_rows:
            self.absorb(bundle)

    # --- progress ----------------------------------------------------------------------------------

    def reaches(self, key: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The extent of a pane."""
        low = self.grid.base + key * self.grid.pane
        return low, low + self.grid.pane

    def close(self, before: Progress, now: Progress) -> Iterator[tuple[int, pa.Table]]:
        """The answers of windows that end between two bounds, by outlet; panes that no window reaches are forgotten."""
        if not self.store.segments or not self._crosses(before, now):
            return
        merged = self.partials.merge(self.bundles())
        low = self.grid.base + int(merged.key.min()) * self.grid.pane
        ends = low, self.grid.base + (int(merged.key.max()) + 1) * self.grid.pane + self.kinds.longest
        was = clip(self.bounds(before, merged.groups), *ends)
        bound = clip(self.bounds(now, merged.groups), *ends)
        yield from self._answers(merged, was, bound)
        self._forget(merged, bound)

    def _crosses(self, before: Progress, now: Progress) -> bool:
        """Does the new bound reach the end of some window?"""
        if now.ended or says_of_groups(now, self.spec.attribute, self.spec.groups):
            return True
        return self.kinds.crossed(before.bound(self.spec.attribute), now.bound(self.spec.attribute))

    def _answers(self, merged: Merged, was: np.ndarray, bound: np.ndarray) -> Iterator[tuple[int, pa.Table]]:
        kinds = self.kinds
        reached = (int(bound.max()) - kinds.base) // kinds.slide > (int(was.min()) - kinds.base) // kinds.slide
        closing = np.flatnonzero(reached).tolist()
        columns: dict[int, ByKind] = {}
        found: dict[int, Results] = {}
        for i in closing:
            if i in self._bagged:
                found |= self._with_bags(merged, i, was, bound, columns)
        plain = [i for i in closing if i not in self._bagged]
        if plain:
            made = ended(merged, kinds, plain, was, bound)
            found |= made.found
            self._combine(merged, made, columns)
        self.meter.combines += len(merged.key) + 2 * sum(len(one.window) for one in found.values())
        yield from self._leaving(merged, found, columns)

    def _combine(self, merged: Merged, made: Ended, columns: dict[int, ByKind]) -> None:
        """Answers from partials of one size, each kind of partial combined once."""
        fixed = merged.bundle.fixed
        opened = self.partials.open(fixed)
        works: list[tuple[int | None, Algebra, Work]] = [one for one in opened if one[0] in self._made]
        if None in self._made:
            works.append((None, COUNT, Work((fixed[ROWS].to_numpy(),))))
        for i, algebra, work in works:
            mine = sorted({kind for one in self._made[i] for kind in one.kinds if kind in made.found})
            if not mine:
                continue
            closed = algebra.close(Work(made.combined(algebra, work, mine), work.pool))
            for one in self._made[i]:
                assert isinstance(one.kernel, Algebra)
                columns.setdefault(one.number, {}).update(_cut(one.kernel.lower(closed), mine, made.found))

    def _with_bags(
        self, merged: Merged, i: int, was: np.ndarray, bound: np.ndarray, columns: dict[int, ByKind]
    ) -> dict[int, Results]:
        """A kind of which some answer needs every value."""
        kinds = self.kinds
        low = np.maximum((was - kinds.base[i]) // kinds.slide[i], kinds.first[i])
        high = (bound - kinds.base[i]) // kinds.slide[i]
        shape = kinds.shape(i)
        at = runs(merged.group, merged.key, shape, low[merged.group], high[merged.group])
        if not len(at.window):
            return {}
        for place in self._bags:
            for one in self._made[place]:
                if i in one.kinds:
                    assert isinstance(one.kernel, Holistic)
                    values = self.partials.combined_bag(one.kernel, place, merged, shape, at, low, high)
                    columns.setdefault(one.number, {})[i] = values
        made = InRuns({i: at}, {i: Results(at.group, at.window)})
        self._combine(merged, made, columns)
        return made.found

    def _leaving(
        self, merged: Merged, found: dict[int, Results], columns: dict[int, ByKind]
    ) -> Iterator[tuple[int, pa.Table]]:
        """The answers as tables, one for each reader and kind of window."""
        made: dict[int, list[pa.Array]] = {}
        groups = Taken(merged.groups)
        for reader, kinds in self._asked:
            for i in kinds:
                if i not in found:
                    continue
                if i not in made:
                    made[i] = self._edges(i, found[i].window)
                own = [groups.take(name, found[i].group) for name in reader.groups]
                values = [columns[one][i] for one in reader.answers]
                yield reader.outlet, reader.spec.assembled([*made[i], *own, *values])

    def _edges(self, i: int, window: np.ndarray) -> list[pa.Array]:
        kinds = self.kinds
        end = kinds.base[i] + (window + 1) * kinds.slide[i]
        return [pa.array(window), self.spec.edge(end - kinds.size[i]), self.spec.edge(end)]

    def _forget(self, merged: Merged, bound: np.ndarray) -> None:
        needed = self.kinds.needed(bound)
        bags = {
            i: bag[KEY].to_numpy() >= needed[self.partials.group_of(merged, bag)]
            for i, bag in merged.bundle.bags.items()
        }
        self._keep(select(merged, merged.key >= needed[merged.group], bags))

    def measure(self) -> None:
        """Count the windows that hold rows and are not closed."""
        self.meter.open_windows = int(self._open().sum())

    def open_of_readers(self) -> dict[int, int]:
        """The windows of each reader that hold rows and are not closed."""
        found = self._open()
        return {reader.outlet: int(found[kinds].sum()) for reader, kinds in self._asked}

    def _open(self) -> np.ndarray:
        """By kind of window: how many hold rows and are not closed."""
        if not self.store.segments:
            return np.zeros(len(self.kinds), dtype=np.int64)
        low, high = min(s.low for s in self.store.segments), max(s.high for s in self.store.segments)
        return self.kinds.open_windows(low, high, self.progress[0].bound(self.spec.attribute))


class Taken:
    """Columns of groups, repeated as results have them. Those of a run of windows begin alike, and are taken once."""

    def __init__(self, groups: pa.Table) -> None:
        """`groups` has one row a group."""
        self._groups = groups
        self._known: dict[str, list[tuple[np.ndarray, pa.Array]]] = {}

    def take(self, name: str, group: np.ndarray) -> pa.Array:
        """The values of these groups."""
        for known, column in self._known.get(name, ()):
            if _begins(known, group):
                return column.slice(0, len(group))
        column = stand_in(self._groups[name].take(pa.array(group)).combine_chunks())
        self._known.setdefault(name, []).append((group, column))
        return column


def _begins(known: np.ndarray, group: np.ndarray) -> bool:
    """Are they the same numbers in memory, as far as the second goes? Slices of one array may begin elsewhere in it."""
    return len(group) <= len(known) and known.ctypes.data == group.ctypes.data and known.strides == group.strides


def _cut(answers: pa.Array, kinds: Sequence[int], found: Mapping[int, Results]) -> ByKind:
    """Answers, cut where the next kind begins."""
    out: ByKind = {}
    at = 0
    for i in kinds:
        count = len(found[i].window)
        out[i] = answers.slice(at, count)
        at += count
    return out
