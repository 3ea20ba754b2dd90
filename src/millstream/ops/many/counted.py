"""The join of many streams over windows of rows: each row beside the last so many rows of every other stream.

Rows are numbered in order of time, so that the answer does not depend on the order of arrival: they wait until every
stream has passed them. Rows of one time and stream are numbered in order of their other columns; of rows of one time
in several streams, those of an earlier stream come first. A row's number is its coordinate; from there on it is the
same join as by time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.kernels.expressions.evaluate import evaluate
from millstream.kernels.key_hash import any_null
from millstream.kernels.ordering import sorted_rows
from millstream.kernels.ticks import to_ticks
from millstream.ops.join.leaving import gathered
from millstream.ops.many.join import ManyJoin
from millstream.ops.many.keyed_runs import KeyedRun, hashed, merged
from millstream.ops.many.probe import Bound, Probe
from millstream.ops.many.views import View
from millstream.state.store import Segment

_COUNTS = "counted"
"""A fact: how many rows of each stream have been numbered."""


class CountedJoin(ManyJoin):
    """Combinations of the last rows of many inputs."""

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Every row counts, whoever reads it."""

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        rows, at = self._readable(port, rows)
        if rows.num_rows:
            self.store.add(Segment({_waiting(port): rows.combine_chunks()}, int(at.min()), int(at.max())))
            self.meter.accepted += rows.num_rows
        return []

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        """Rows that all streams have passed are numbered, and look for partners."""
        self._learn()
        names = self.spec.spans.names
        least = min(one.bound(name) for one, name in zip(self.progress, names, strict=True))
        ready = [self._ready(stream, least) for stream in range(self.spec.streams)]
        if not any(rows.num_rows for rows, _ in ready):
            return []
        self.meter.punctuations += 1
        counts: list[int] = self.store.facts.get(_COUNTS, [0] * self.spec.streams)
        fresh = [self._numbered(stream, rows, counts[stream]) for stream, (rows, _) in enumerate(ready)]
        ticks = [at for _, at in ready]
        out: list[pa.Table] = []
        for stream in range(self.spec.streams):
            run, places = fresh[stream]
            if len(run.at):
                out += self._found(stream, [one for one, _ in fresh], ticks, places, counts)
        self._keep_last(
            [one for one, _ in fresh], [n + rows.num_rows for n, (rows, _) in zip(counts, ready, strict=True)]
        )
        return gathered(out)

    def _found(
        self,
        stream: int,
        fresh: Sequence[KeyedRun],
        ticks: Sequence[np.ndarray],
        places: np.ndarray,
        counts: Sequence[int],
    ) -> list[pa.Table]:
        """The combinations whose latest row is a new one of a stream."""
        views = [
            View([fresh[i]]) if i == stream else View([*self.view(i).runs, fresh[i]]) for i in range(self.spec.streams)
        ]
        assert self.spec.rows is not None
        own = ticks[stream][places]
        # How many rows of each stream are not after each new one.
        there = [
            counts[i] + np.searchsorted(ticks[i], own, "right" if i < stream else "left")
            for i in range(self.spec.streams)
        ]
        last = self.spec.rows

        def ends(bound: Bound, other: int) -> tuple[np.ndarray, np.ndarray]:
            seen = there[other][bound[stream]]
            return seen - last[other] + 1, seen

        probe = Probe(self.spec, views, self.fans, ends)
        out: list[pa.Table] = []
        for found in probe.combinations({stream: np.arange(len(own))}, self.order_of(stream)):
            out += self.leaving(probe, found)
        return out

    def _ready(self, stream: int, least: int) -> tuple[pa.Table, np.ndarray]:
        """The waiting rows of a stream below a bound, in order, and their times; they wait no more."""
        name, attribute = _waiting(stream), self.spec.spans.names[stream]
        waiting = [one for one in self.store.segments if name in one.tables]
        if not any(one.low < least for one in waiting):
            return self.spec.schemas[stream].empty_table(), np.zeros(0, dtype=np.int64)
        rows = pa.concat_tables([one.tables[name] for one in waiting])
        below = to_ticks(rows[attribute]) < least
        left = rows.filter(pa.array(~below)).combine_chunks()
        kept = [one for one in self.store.segments if name not in one.tables]
        if left.num_rows:
            at = to_ticks(left[attribute])
            kept.append(Segment({name: left}, int(at.min()), int(at.max())))
        self.store.replace(kept)
        rows = rows.filter(pa.array(below))
        by = [attribute, *(field.name for field in rows.schema if field.name != attribute and _sortable(field.type))]
        rows = rows.take(pa.array(sorted_rows(rows, [(one, False) for one in by])))
        return rows, to_ticks(rows[attribute])

    def _numbered(self, stream: int, rows: pa.Table, before: int) -> tuple[KeyedRun, np.ndarray]:
        """New rows under their numbers, without those that have no partner, and the place of each among the new."""
        numbers = np.cumsum(np.ones(rows.num_rows, dtype=np.int64)) + before
        never = any_null([rows[name] for name in self.spec.key_columns(stream)], rows.num_rows)
        conditions = self.spec.at_entry[stream]
        if conditions and rows.num_rows:
            known = {column: name for name, of, column in self.spec.columns if of == stream}
            named = rows.select(list(known)).rename_columns(list(known.values()))
            for value in evaluate(conditions, named).values:
                never |= ~pc.fill_null(value, pa.scalar(value=False)).to_numpy(zero_copy_only=False)
        kept = rows.filter(pa.array(~never))
        run = KeyedRun.of(kept, hashed(self.spec, stream, kept), numbers[~never])
        return run, run.at - before - 1

    def _keep_last(self, fresh: Sequence[KeyedRun], counts: list[int]) -> None:
        """Keep the rows that may be beside a later one."""
        assert self.spec.rows is not None
        kept = [one for one in self.store.segments if any(_waiting(i) in one.tables for i in range(self.spec.streams))]
        for stream, run in enumerate(fresh):
            runs = [one for one in (*self.view(stream).runs, run) if len(one.at)]
            last = counts[stream] - self.spec.rows[stream]
            if runs and max(one.high for one in runs) > last:
                whole = merged(runs)
                kept.append(whole.where(whole.at > last).segment(self.spec, stream))
        self.store.replace(kept)
        self.store.facts[_COUNTS] = counts
        self._runs = {}


def _waiting(stream: int) -> str:
    return f"waiting_{stream}"


def _sortable(kind: pa.DataType) -> bool:
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_dictionary(kind))
