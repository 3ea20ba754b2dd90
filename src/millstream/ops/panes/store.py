"""The operator of a store of panes: rows are lifted once, shared out to parts, and answers leave by outlets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.core.window import Sliding
from millstream.kernels.ticks import to_ticks, too_far
from millstream.ops.operator import Operator, Rejected
from millstream.ops.panes.adopt import panes_of
from millstream.ops.panes.growing import GrowingPart
from millstream.ops.panes.lifted import BITS, Lifted, bitmap, lifting
from millstream.ops.panes.part import PanePart
from millstream.ops.panes.parts import Part, parts_of
from millstream.ops.panes.store_spec import Reader, StoreSpec
from millstream.ops.windowing.base import as_bundle, as_segment
from millstream.state.store import Segment, Store

_LASTS = "lasts"
HIGH = "high"
"""A fact: the end of the last pane that has had a row."""


class PaneStore(Operator):
    """Partials that several window aggregates share. What it answers is in `sent`, by outlet."""

    reducible = True

    def __init__(self, spec: StoreSpec) -> None:
        """Compute what `spec` says."""
        super().__init__()
        self.spec = spec
        self.grid = spec.grid
        self.lifting = lifting(spec.aggregates, spec.groups, spec.predicates)
        self.by_number: dict[int, Part] = parts_of(spec)
        self.parts = tuple(self.by_number.values())
        self._everybody = any(one.predicate is None for one in spec.readers)

    @property
    def stores(self) -> list[Store]:
        """One a part, by number. What is left of a part that nobody reads any more is dropped."""
        parts = self.by_number
        return [parts[i].store if i in parts else Store() for i in range(max(parts) + 1)]

    def adopt(self, before: Operator) -> None:
        """Go on from a store that had other readers; or from panes that one aggregate kept by itself."""
        super().adopt(before)
        for mine, theirs in zip(self.stores, before.stores, strict=False):
            mine.segments, mine.facts = list(theirs.segments), dict(theirs.facts)
        self.opened()

    def adopt_panes(self, outlet: int, before: Operator) -> None:
        """Go on from what the aggregate of an outlet has kept by itself."""
        reader = self.spec.readers[outlet]
        part = self.by_number[reader.part]
        if isinstance(part, PanePart):
            for segment in panes_of(before, self.names_of(outlet)):
                part.store.add(segment)
            self.opened()

    def names_of(self, outlet: int) -> list[str]:
        """The partials that the answers of an outlet are made of, in order; the number of rows is called `rows`."""
        places = (self.spec.answers[i].place for i in self.spec.readers[outlet].answers)
        return ["rows" if place is None else self.spec.aggregates[place].name for place in places]

    def opened(self) -> None:
        """Bring what was kept for other readers into the form that these read."""
        for part in self.parts:
            part.opened()
        self._reflect()

    # --- rows --------------------------------------------------------------------------------------

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        lifted, high = self._lifted(rows)
        if lifted is not None:
            self._share(lifted)
        if high is not None:
            self._saw(high)
        return []

    def reduce(self, port: int, rows: pa.Table) -> tuple[list[Segment], dict[str, Any]]:
        """Rows as segments for another instance to receive: partials that are not shared out yet."""
        self.meter.rows_in += rows.num_rows
        lifted, high = self._lifted(rows) if rows.num_rows else (None, None)
        if lifted is None:
            return [], {} if high is None else {HIGH: high}
        lasts = {
            str(i): last
            for i, part in self.by_number.items()
            if isinstance(part, GrowingPart) and (last := part.last_of(lifted)) is not None
        }
        return [as_segment(lifted.bundle)], {HIGH: high, **({_LASTS: lasts} if lasts else {})}

    def receive(self, segments: Sequence[Segment], facts: Mapping[str, Any]) -> None:
        """Share out what another instance made of rows."""
        for segment in segments:
            self._share(Lifted(self.lifting, as_bundle(segment), self.grid))
        for i, last in facts.get(_LASTS, {}).items():
            self.by_number[int(i)].receive((), {"last": last})
        if HIGH in facts:
            self._saw(facts[HIGH])

    def _saw(self, high: int) -> None:
        """Remember the end of the last pane that has had a row: what came later than that had not come before it."""
        for part in self.parts:
            part.store.facts[HIGH] = max(high, part.store.facts.get(HIGH, high))

    def _lifted(self, rows: pa.Table) -> tuple[Lifted | None, int | None]:
        """Partials of rows, if some reader wants any; and the end of the last pane of all rows."""
        column = rows[self.spec.attribute]
        if column.null_count:
            lacking = rows.filter(pc.is_null(column))
            bits = bitmap(lacking, self.spec.predicates)
            for reader in self.spec.readers:  # each rejects its own rows, with the columns that it reads
                own = (
                    lacking if reader.predicate is None else lacking.filter(pa.array(bits >> reader.predicate & 1 == 1))
                )
                self._set_apart(reader, own, f"{self.spec.attribute} is null")
                self.count(reader.outlet, rejected=own.num_rows, filtered=lacking.num_rows - own.num_rows)
            self.meter.rows_out += lacking.num_rows
            rows = rows.filter(pc.is_valid(column))
        if not rows.num_rows:
            return None, None
        ticks = to_ticks(rows[self.spec.attribute])
        far = too_far(ticks, self.spec.reach)
        if far is not None:
            for reader in self.spec.readers:  # what is too far out for one is so for all
                why = f"{self.spec.attribute} is too far out for its windows"
                self._set_apart(reader, rows.filter(pa.array(far)), why)
            self.meter.rejected += int(far.sum())
            rows, ticks = rows.filter(pa.array(~far)), ticks[~far]
        self.meter.rows_out += rows.num_rows
        if not rows.num_rows:
            return None, None
        panes = (ticks - self.grid.base) // self.grid.pane
        bits = bitmap(rows, self.spec.predicates) if self.spec.predicates else None
        if bits is not None:
            rows = rows.append_column(BITS, pa.array(bits))
        self.count_rows(panes, bits)
        high = self.grid.base + (int(panes.max()) + 1) * self.grid.pane
        if bits is not None and not self._everybody and not bits.all():
            rows, panes = rows.filter(pa.array(bits != 0)), panes[bits != 0]
        if not rows.num_rows:
            return None, high
        return Lifted(self.lifting, self.lifting.lift(rows, panes), self.grid), high

    def _set_apart(self, reader: Reader, rows: pa.Table, why: str) -> None:
        """Rows that a reader rejects, with its own columns: who else reads the store must not be seen."""
        if not rows.num_rows:
            return
        places = (self.spec.answers[i].place for i in reader.answers)
        bound = [self.spec.aggregates[place] for place in places if place is not None]
        read = {name for one in bound for name in (*one.arguments, *([one.filter] if one.filter else ()))}
        names = [one for one in rows.column_names if one in {self.spec.attribute, *reader.groups, *read}]
        self.apart.append((reader.outlet, Rejected(rows.select(names), why)))

    def _share(self, lifted: Lifted) -> None:
        for part in self.parts:
            part.take_lifted(lifted)
        self._reflect()

    def count_rows(self, panes: np.ndarray, bits: np.ndarray | None, weights: np.ndarray | None = None) -> None:
        """What becomes of rows for each reader: taken, stopped by its condition, or in none of its windows.

        Rows are given one by one, or as partials with the number of rows of each.
        """
        every = len(panes) if weights is None else int(weights.sum())
        held: dict[int | None, np.ndarray | None] = {None: None}
        for part in self.parts:
            if part.predicate is not None and part.predicate not in held:
                assert bits is not None
                held[part.predicate] = (bits >> part.predicate) & 1 == 1
        taken = {key: every if mask is None else _number(mask, weights) for key, mask in held.items()}
        outsides: dict[Any, int] = {}
        for part in self.parts:
            for reader in part.readers:
                key = part.predicate, reader.windows
                if key not in outsides:
                    outsides[key] = self._outside(reader.windows, panes, held[part.predicate], weights)
                own, outside = taken[part.predicate], outsides[key]
                self.count(reader.outlet, filtered=every - own, outside=outside, accepted=own - outside)

    def _outside(
        self, windows: Sequence[Any], panes: np.ndarray, held: np.ndarray | None, weights: np.ndarray | None
    ) -> int:
        """Rows that are in none of a reader's windows."""
        gaps = [w for w in windows if isinstance(w, Sliding) and (w.first is not None or w.size < w.slide)]
        if len(gaps) < len(windows):
            return 0
        outside = np.ones(len(panes), dtype=np.bool_)
        at = self.grid.base + panes * self.grid.pane
        for window in gaps:
            low = (at - window.base) // window.slide
            low = low if window.first is None else np.maximum(low, window.first)
            outside &= low >= (at - window.base + window.size) // window.slide
        return _number(outside if held is None else outside & held, weights)

    # --- progress ----------------------------------------------------------------------------------

    def resume(self, progress: Sequence[Progress]) -> None:
        """The parts too."""
        super().resume(progress)
        for part in self.parts:
            part.resume(progress)

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        for part in self.parts:
            part.resume([now])
            self.sent += part.close(before, now)
        self.meter.punctuations += bool(self.sent)
        self._reflect()
        return []

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Groups that none of its readers asks for, in each part that tells them apart."""
        for part in self.parts:
            if isinstance(part, PanePart):
                part.forget(ignored)
        self._reflect()

    def _reflect(self) -> None:
        """Show the parts' state as one's own."""
        self.store.replace([segment for part in self.parts for segment in part.store.segments])
        self.meter.combines = sum(part.meter.combines for part in self.parts)

    def measure(self) -> None:
        """The open windows of all parts."""
        for part in self.parts:
            part.measure()
            if isinstance(part, PanePart):
                self.open_by_outlet |= part.open_of_readers()
            else:
                self.open_by_outlet |= {reader.outlet: part.meter.open_windows for reader in part.readers}
        self.meter.open_windows = sum(part.meter.open_windows for part in self.parts)


def _number(mask: np.ndarray, weights: np.ndarray | None) -> int:
    return int(np.count_nonzero(mask)) if weights is None else int(weights[mask].sum())
