"""Routing pairs: each goes to the readings whose band it lies in and whose conditions its rows satisfy.

Pairs are put in order of their distance once. A reading's pairs then stand together, and what leaves for readings
that differ in their bands alone is made once and cut, which costs nothing for each pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.promise.near import Reach
from millstream.kernels.expressions.evaluate import Computed, evaluate
from millstream.ops.join.cells import DistanceCells
from millstream.ops.join.held import Held
from millstream.ops.join.leaving import gathered
from millstream.ops.join.shared_spec import JoinReader, PairGroup
from millstream.ops.operator import Rejected

BITS = "__ms_bits"
"""Which conditions a row satisfies: bit i for condition i."""
_ANYWHERE = Reach(None, None)
Apart = Callable[[int, Rejected], None]
"""Told of pairs that could not be made, for the reader of an outlet."""
Found = Callable[[JoinReader, np.ndarray, np.ndarray], None]
"""Told of the pairs of a reading that must know them: places of rows of both sides."""


class Router:
    """Shares pairs out to readings."""

    def __init__(self, readings: Sequence[JoinReader], apart: Apart) -> None:
        """`apart` is told of pairs for which a reading's condition has no value."""
        reaches = [_ANYWHERE if one.spec.near is None else one.spec.near.reach for one in readings]
        self.cells = DistanceCells(reaches)
        self._apart = apart
        self._ready: dict[int, tuple[JoinReader, list[pa.Table]]] = {}
        self.groups = self._grouped(readings, begun=False)
        self._begun = max((one.since for one in readings if one.since is not None), default=None)
        self._groups_begun = self.groups if self._begun is None else self._grouped(readings, begun=True)

    def _grouped(self, readings: Sequence[JoinReader], *, begun: bool) -> list[PairGroup]:
        """Readings of the same pairs; with `begun`, those that begin elsewhere are apart."""
        groups: dict[object, PairGroup] = {}
        for one, (first, last) in zip(readings, self.cells.spans, strict=True):
            condition, since = one.spec.condition, one.since if begun else None
            known = None if condition is None else (condition, one.spec.columns)
            key = one.predicates, known, one.spec.pairs_leave, since
            group = groups.setdefault(key, PairGroup(one.predicates, condition, since, first, last))
            group.first, group.last = min(group.first, first), max(group.last, last)
            group.members.append((one, first, last))
        return list(groups.values())

    def share(self, port: int, mine: Held, other: Held, own: np.ndarray, theirs: np.ndarray, found: Found) -> None:
        """Take pairs of rows of a port and of the other side, whose keys are equal."""
        if self.cells.one:
            starts = np.array([0, len(own)])
        else:
            at, others = mine.run.at[own], other.run.at[theirs]
            order, starts = self.cells.sorted(at - others if port else others - at)
            own, theirs = own[order], theirs[order]
        # Once all rows are past where the last reading begins, it does not matter who began when.
        whole = self._begun is None or max(mine.run.low, other.run.low) >= self._begun
        for group in self.groups if whole else self._groups_begun:
            low, high = int(starts[group.first]), int(starts[group.last])
            if low < high:
                cuts = starts[group.first : group.last + 1] - low
                self._to_group(group, port, mine, other, own[low:high], theirs[low:high], cuts, found)

    def _to_group(
        self,
        group: PairGroup,
        port: int,
        mine: Held,
        other: Held,
        own: np.ndarray,
        theirs: np.ndarray,
        cuts: np.ndarray,
        found: Found,
    ) -> None:
        kept = _both(group.predicates, port, mine, other, own, theirs)
        if group.since is not None:
            begun = np.maximum(mine.run.at[own], other.run.at[theirs]) >= group.since
            kept = begun if kept is None else kept & begun
        if kept is not None:
            own, theirs, cuts = own[kept], theirs[kept], np.searchsorted(np.flatnonzero(kept), cuts)
        if group.condition is not None and len(own):
            first = group.members[0][0]
            table = first.leaving.pairs(port, mine.rows, other.rows, own, theirs, columns=group.condition.columns)
            made = evaluate([group.condition], table)
            holds = pc.fill_null(made.values[0], pa.scalar(value=False)).to_numpy(zero_copy_only=False)
            if made.failed is not None:
                self._failed(group, port, mine, other, own, theirs, cuts, made)
                holds = holds & ~made.failed.rows
            own, theirs, cuts = own[holds], theirs[holds], np.searchsorted(np.flatnonzero(holds), cuts)
        if not len(own):
            return
        sides = {port: (mine.rows, pa.array(own)), 1 - port: (other.rows, pa.array(theirs))}
        arrays = {(side, name): _taken(sides[side][0], name, sides[side][1]) for side, name in group.sources()}
        tables: dict[object, pa.Table] = {}
        for reading, first, last in group.members:
            low, high = int(cuts[first - group.first]), int(cuts[last - group.first])
            if low == high:
                continue
            if reading.marks:
                found(reading, own[low:high], theirs[low:high])
            if reading.spec.pairs_leave:
                made = tables.get(reading.columns)
                if made is None:
                    columns = [arrays[source] for source in reading.sources]
                    made = tables[reading.columns] = pa.Table.from_arrays(columns, names=reading.spec.schema.names)
                self.send(reading, made.slice(low, high - low))

    def _failed(
        self,
        group: PairGroup,
        port: int,
        mine: Held,
        other: Held,
        own: np.ndarray,
        theirs: np.ndarray,
        cuts: np.ndarray,
        made: Computed,
    ) -> None:
        """Pairs for which a condition has no value, to every reading whose pairs they would have been."""
        for reading, first, last in group.members:
            part = slice(int(cuts[first - group.first]), int(cuts[last - group.first]))
            columns = [name for name, _, _ in reading.spec.columns]
            pairs = reading.leaving.pairs(port, mine.rows, other.rows, own[part], theirs[part], columns=columns)
            for reason, which in made.bad():
                if which[part].any():
                    bad = pairs.filter(pa.array(which[part]))
                    self._apart(reading.outlet, Rejected(bad, reason, made=True))

    def send(self, reading: JoinReader, table: pa.Table) -> None:
        """Rows leave for a reading."""
        if table.num_rows:
            self._ready.setdefault(reading.outlet, (reading, []))[1].append(table)

    def ready(self) -> list[tuple[int, pa.Table]]:
        """What leaves, by outlet; it is forgotten here."""
        out = [(outlet, table) for outlet, (_, tables) in self._ready.items() for table in gathered(tables)]
        self._ready = {}
        return out


def _taken(rows: pa.Table, name: str, places: pa.Array) -> pa.Array:
    return rows[name].combine_chunks().take(places)


def satisfying(rows: pa.Table, predicate: int | None) -> np.ndarray | None:
    """Which rows of a store satisfy a condition; None: all."""
    if predicate is None or BITS not in rows.column_names:
        return None
    bits = rows[BITS].combine_chunks().to_numpy()
    return (bits >> bits.dtype.type(predicate)) & bits.dtype.type(1) == 1


def _both(
    predicates: tuple[int | None, int | None], port: int, mine: Held, other: Held, own: np.ndarray, theirs: np.ndarray
) -> np.ndarray | None:
    """The pairs both of whose rows satisfy the conditions; None: all."""
    one, two = satisfying(mine.rows, predicates[port]), satisfying(other.rows, predicates[1 - port])
    if one is None or two is None:
        return one[own] if one is not None else two[theirs] if two is not None else None
    return one[own] & two[theirs]
