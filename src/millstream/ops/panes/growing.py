"""A part of a store for windows that only grow: totals by group, of the rows that satisfy one condition."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from millstream.core.progress import Progress
from millstream.core.window import Landmark
from millstream.kernels.partials import KEY
from millstream.ops.panes.formed import FormedPart
from millstream.ops.panes.lifted import Lifted
from millstream.ops.panes.store_form import PaneForm
from millstream.ops.panes.store_spec import Reader
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.ops.windowing.landmark import GrowingWindows


class GrowingPart(FormedPart, GrowingWindows):
    """The totals of one landmark window, for all who read it."""

    def __init__(
        self,
        spec: Spec,
        window: Landmark,
        predicate: int | None,
        readers: Sequence[Reader],
        of: Mapping[int, int | None],
        names: Sequence[str],
    ) -> None:
        """`of` says, for each answer that it gives, which of the store's partials that is made of.

        Of these, `names` are the same whoever else reads the store.
        """
        GrowingWindows.__init__(self, spec, window)
        self.form = PaneForm(0, 1, tuple(names))
        self.predicate = predicate
        self.readers = tuple(readers)
        self.of = dict(of)

    def take_lifted(self, lifted: Lifted) -> None:
        """Take the part's own of an epoch's partials."""
        bundle = lifted.part(
            self.spec.groups, list(self.of.values()), self.predicate, lambda key: self._windows_of(lifted, key)
        )
        if bundle.fixed.num_rows:
            last = int(bundle.fixed[KEY].to_numpy().max())
            self.store.facts["last"] = max(self.store.facts.get("last", last), last)
            self.absorb(bundle)

    def last_of(self, lifted: Lifted) -> int | None:
        """The last window that has a row, of those that an epoch brings."""
        mask = lifted.with_condition(self.predicate)
        key = lifted.key if mask is None else lifted.key[mask]
        return int(self._windows_of(lifted, key).max()) if len(key) else None

    def _windows_of(self, lifted: Lifted, key: np.ndarray) -> np.ndarray:
        at = lifted.grid.base + key * lifted.grid.pane
        wid = (at - self.window.base) // self.window.slide
        return wid if self.window.start is None else np.maximum(wid, 0)

    def close(self, before: Progress, now: Progress) -> Iterator[tuple[int, pa.Table]]:
        """The answers of windows that end between two bounds, by outlet."""
        names = dict(zip(self.of, (one.name for one in self.spec.aggregates), strict=True))
        for table in self._advance(0, before, now):
            fixed = [table[name] for name in ("window_id", "window_start", "window_end")]
            for reader in self.readers:
                own = [table[name] for name in (*reader.groups, *(names[i] for i in reader.answers))]
                yield reader.outlet, reader.spec.assembled([*fixed, *own])
