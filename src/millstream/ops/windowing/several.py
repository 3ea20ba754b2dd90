"""Several windows in one query where they cannot share state: one operator a window, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.progress import Progress, meet
from millstream.ops.operator import Operator
from millstream.ops.windowing.base import WindowOperator
from millstream.state.store import Segment, Store


class Several(Operator):
    """The union of what each operator answers."""

    def __init__(self, parts: Sequence[WindowOperator]) -> None:
        """All `parts` read the same rows."""
        super().__init__()
        self.parts = tuple(parts)

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        out = [table for part in self.parts for table in part.take(port, rows)]
        self._reflect()
        return out

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        out = [table for part in self.parts for table in part.advance(port, now)]
        self._reflect()
        return out

    def _reflect(self) -> None:
        """Show the parts' state and rejections as one's own; a row is rejected once, not once per part."""
        segments: list[Segment] = [s for part in self.parts for s in part.store.segments]
        self.store.replace(segments)
        self.rejected += self.parts[0].rejected
        for part in self.parts:
            part.rejected.clear()
        first = self.parts[0].meter
        self.meter.rejected = first.rejected
        # Windows that end together lie within each other: what the longest takes in is what any does.
        self.meter.outside = min(part.meter.outside for part in self.parts)
        self.meter.accepted = max(part.meter.accepted for part in self.parts)
        self.meter.punctuations = max(part.meter.punctuations for part in self.parts)
        self.meter.combines = sum(part.meter.combines for part in self.parts)

    @property
    def stores(self) -> list[Store]:
        """One a part."""
        return [part.store for part in self.parts]

    def resume(self, progress: Sequence[Progress]) -> None:
        """The parts too."""
        super().resume(progress)
        for part in self.parts:
            part.resume(progress)

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """In each part."""
        for part in self.parts:
            part.purge(ignored)
        self._reflect()

    def promises(self) -> Progress:
        """What every part promises."""
        return self.promised(self.progress[0])

    def promised(self, now: Progress) -> Progress:
        """What every part would promise by this progress."""
        return meet([part.promised(now) for part in self.parts])

    def measure(self) -> None:
        """The open windows of all parts."""
        for part in self.parts:
            part.measure()
        self.meter.open_windows = sum(part.meter.open_windows for part in self.parts)
