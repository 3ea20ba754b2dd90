"""Pace: rows of several inputs go on unless they have fallen too far behind; the inputs are told what is too late."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM
from millstream.core.feedback import Records
from millstream.core.pattern import Pattern, UpTo
from millstream.core.progress import Progress, meet
from millstream.kernels.ticks import to_ticks
from millstream.ops.operator import Operator

_HIGH, _SAID = "high", "said"


class Pace(Operator):
    """A row leaves iff its value is no more than `within` below the greatest that has come on any input.

    What is computed while more rows come would be too late when it is done. With `headroom` the inputs are told that
    much more, and rows below what they were told do not leave, whichever input they come from.
    """

    in_order = False
    speaks = True

    def __init__(self, ports: int, schema: pa.Schema, attribute: str, within: int, headroom: int = 0) -> None:
        """Rows of every port are brought to one `schema`."""
        super().__init__(ports)
        self.schema = schema
        self.attribute = attribute
        self.within = within
        self.headroom = headroom

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        column = rows[self.attribute]
        if column.null_count:
            self.reject(rows.filter(pc.is_null(column)), f"{self.attribute} is null")
            rows = rows.filter(pc.is_valid(column))
        if not rows.num_rows:
            return []
        ticks = to_ticks(rows[self.attribute])
        high = max(self.store.facts.get(_HIGH, BOTTOM), int(ticks.max()))
        self.store.facts[_HIGH] = high
        left = rows.filter(pa.array(ticks >= max(high - self.within, self.store.facts.get(_SAID, BOTTOM))))
        self.meter.filtered += rows.num_rows - left.num_rows
        return [left.select(self.schema.names).cast(self.schema)]

    def ignores(self) -> Mapping[int, Records]:
        """Whatever it would drop from now on."""
        high = self.store.facts.get(_HIGH)
        if high is None:
            return {}
        self.store.facts[_SAID] = high - self.within + self.headroom
        late = Pattern({self.attribute: UpTo(self.store.facts[_SAID])})
        return dict.fromkeys(range(len(self.progress)), (late,))

    def promises(self) -> Progress:
        """The minimum over the inputs."""
        return meet(self.progress)
