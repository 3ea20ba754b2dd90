"""Enrich: rows of a stream with the rows of a table that have their keys. Nothing is kept; punctuation passes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from millstream.core.expression import Expression
from millstream.core.progress import Progress
from millstream.core.promise.columns import renamed
from millstream.kernels.expressions.evaluate import evaluate
from millstream.kernels.lookup import Lookup
from millstream.ops.operator import Find, Operator

STREAM, TABLE = 0, 1
# About so many pairs are made at a time: a key with many partners must not fill the memory.
_PAIRS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class EnrichSpec:
    """What is looked up, bound to the columns of the stream and of the table."""

    table: str
    keys: tuple[tuple[str, str], ...]
    condition: Expression | None
    columns: tuple[tuple[str, int, str], ...]
    """Of a pair: the name, the side (1 is the table), and the name there."""
    schema: pa.Schema
    outer: bool = False
    """Do rows without a partner leave too?"""

    @property
    def leaving(self) -> dict[str, str]:
        """By column of the stream that leaves: its name there."""
        return {c: name for name, side, c in self.columns if side == STREAM and name in self.schema.names}

    @property
    def table_keys(self) -> tuple[str, ...]:
        """The columns of the table that rows are looked up by."""
        return tuple(there for _, there in self.keys)


class Enrich(Operator):
    """A row leaves as often as it has partners; without one it is filtered, or leaves with nulls.

    The host says with `use` which version of the table an epoch reads.
    """

    def __init__(self, spec: EnrichSpec) -> None:
        """The table is given later, and again when it changes."""
        super().__init__()
        self.spec = spec
        self._lookup: Lookup | None = None

    def use(self, find: Find) -> None:
        """Look into this version of the table from now on."""
        self._lookup = find(self.spec.table, self.spec.table_keys)

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        if self._lookup is None:
            raise AssertionError(f"no host has given the table {self.spec.table!r}")
        here, there = self._lookup.partners([rows[name] for name, _ in self.spec.keys], rows.num_rows)
        out: list[pa.Table] = []
        paired = np.zeros(rows.num_rows, dtype=np.bool_)
        for start in range(0, len(here), _PAIRS):
            mine, theirs = here[start : start + _PAIRS], there[start : start + _PAIRS]
            pairs = self._pairs(rows.take(pa.array(mine)), pa.array(theirs), self._lookup.table)
            if self.spec.condition is not None:
                made = evaluate([self.spec.condition], pairs)
                holds = made.values[0].fill_null(False).to_numpy(zero_copy_only=False)  # noqa: FBT003 - pyarrow's own
                if made.failed is not None:
                    for reason, which in made.bad():
                        self.reject_made(pairs.filter(pa.array(which)), reason)
                    holds = holds & ~made.failed.rows
                pairs, mine = pairs.filter(pa.array(holds)), mine[holds]
            paired[mine] = True
            out.append(self._leaving(pairs))
        alone = rows.filter(pa.array(~paired))
        self.meter.accepted += int(paired.sum())
        if not self.spec.outer:
            self.meter.filtered += alone.num_rows
        elif alone.num_rows:
            self.meter.accepted += alone.num_rows
            nobody = pa.nulls(alone.num_rows, pa.int64())
            out.append(self._leaving(self._pairs(alone, nobody, self._lookup.table)))
        return out

    def promises(self) -> Progress:
        """What is promised of the stream's columns holds of the result's, under their names there."""
        return renamed(self.progress[0], self.spec.leaving)

    def _pairs(self, rows: pa.Table, there: pa.Array, table: pa.Table) -> pa.Table:
        columns = [
            rows[column] if side == STREAM else table[column].take(there) for _, side, column in self.spec.columns
        ]
        return pa.Table.from_arrays(columns, names=[name for name, _, _ in self.spec.columns])

    def _leaving(self, pairs: pa.Table) -> pa.Table:
        return pairs.select(self.spec.schema.names).cast(self.spec.schema)
