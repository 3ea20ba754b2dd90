"""What a window aggregate computes, apart from how: the attribute, the groups, the aggregates, the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.core.errors import WindowError
from millstream.core.promise.windows import WindowShape
from millstream.core.window import Window
from millstream.kernels.aggregates.parts.failed import marked
from millstream.kernels.group import stand_in
from millstream.kernels.partials import Bound, Lowered, Partials
from millstream.kernels.ticks import from_ticks

WINDOW_COLUMNS = ("window_id", "window_start", "window_end")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One window aggregate over rows that already have every column it names."""

    attribute: str
    attribute_type: pa.DataType
    """The type of `window_start` and `window_end`."""
    groups: tuple[str, ...]
    group_types: tuple[pa.DataType, ...]
    aggregates: tuple[Bound, ...]
    row_schema: pa.Schema
    """The schema of the rows that arrive."""
    reach: int = 1
    """How far from a value the reckoning of its windows can lead."""
    windows: tuple[Window, ...] = ()

    @property
    def shape(self) -> WindowShape:
        """As much of it as its promise depends on."""
        return WindowShape(self.attribute, self.groups, self.windows)

    @cached_property
    def schema(self) -> pa.Schema:
        """Window columns, group columns, aggregates."""
        fields = [
            pa.field("window_id", pa.int64()),
            pa.field("window_start", self.attribute_type),
            pa.field("window_end", self.attribute_type),
        ]
        fields += [pa.field(n, t) for n, t in zip(self.groups, self.group_types, strict=True)]
        fields += [pa.field(one.name, one.kernel.result_type) for one in self.aggregates]
        return pa.schema(fields)

    @property
    def columns(self) -> list[str]:
        """The row columns that the aggregates and groups need, besides the attribute."""
        names = [*self.groups]
        for one in self.aggregates:
            names += [*one.arguments, *([one.filter] if one.filter else [])]
        return list(dict.fromkeys(names))

    def partials(self) -> Partials:
        """The aggregates as one algebra."""
        return Partials(self.aggregates, self.groups)

    def table(self, answers: Lowered, groups: pa.Table, start: np.ndarray | None, end: np.ndarray) -> pa.Table:
        """Lowered as rows of the output; `start` None is a window without a beginning."""
        n = len(answers.window)
        index = pa.array(answers.group)
        columns = [pa.array(answers.window, pa.int64())]
        columns.append(pa.nulls(n, self.attribute_type) if start is None else self.edge(start))
        columns.append(self.edge(end))
        columns += [stand_in(groups[name].take(index).combine_chunks()) for name in self.groups]
        return self.assembled([*columns, *answers.columns])

    def assembled(self, columns: Sequence[pa.Array]) -> pa.Table:
        """The output from its columns, in order."""
        # What could not be computed goes along with the reason, until the result is rejected.
        fitted = [
            c if c.type == f.type or marked(c.type) else c.cast(f.type)
            for c, f in zip(columns, self.schema, strict=True)
        ]
        return pa.Table.from_arrays(fitted, names=self.schema.names)

    def edge(self, ticks: np.ndarray) -> pa.Array:
        """The beginning or the end of windows, as the attribute has it."""
        try:
            return from_ticks(ticks, self.attribute_type)
        except pa.ArrowInvalid as error:
            raise WindowError(
                f"a window of {self.attribute!r} ends at {int(ticks.max())}, beyond {self.attribute_type}",
                hint="Cast the attribute to fewer digits before the window.",
            ) from error
