"""Probing: from new rows of one stream, past the rows of the others in some order, to whole combinations.

What is found on the way is a number for each stream and row, and is forgotten when the step after it is done. So no
intermediate result is ever stored, and the order of the streams is free for every stream that rows come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.expression import Expression
from millstream.kernels.expressions.evaluate import evaluate
from millstream.kernels.pairs import BLOCK, between
from millstream.kernels.same import same
from millstream.ops.many.join_order import Fans
from millstream.ops.many.many_spec import ManySpec
from millstream.ops.many.views import View

Bound = Mapping[int, np.ndarray]
"""Partial combinations: by stream, the numbers of the rows in its view."""
Ends = Callable[[Bound, int], tuple[np.ndarray, np.ndarray]]
"""From partial combinations and the next stream: between which coordinates the rows of that stream must lie."""


class Probe:
    """The views of all streams while some rows look for partners in them."""

    def __init__(self, spec: ManySpec, views: Sequence[View], fans: Fans, ends: Ends | None = None) -> None:
        """Rows of stream i are numbered as in `views[i]`; what is seen on the way is counted in `fans`."""
        self.spec = spec
        self.views = views
        self.fans = fans
        self.ends = ends or self._ends

    def combinations(self, bound: Bound, rest: Sequence[int]) -> Iterator[Bound]:
        """Whole combinations that partial ones are part of, by way of the streams that are missing, in that order."""
        if not rest:
            yield bound
            return
        stream, *later = rest
        if not len(self.views[stream]):
            return
        for found in self.step(bound, stream):
            yield from self.combinations(found, later)

    def step(self, bound: Bound, stream: int) -> Iterator[Bound]:
        """Partial combinations with the rows of one more stream, in blocks."""
        waiting: list[tuple[np.ndarray, np.ndarray]] = []
        size = compared = matched = 0
        for own, theirs in self._near(bound, stream):
            compared += len(own)
            kept_own, kept_theirs = self._agreeing(bound, stream, own, theirs)
            if not len(kept_own):
                continue
            waiting.append((kept_own, kept_theirs))
            size += len(kept_own)
            if size >= BLOCK:
                yield _with(bound, stream, waiting)
                matched, size, waiting = matched + size, 0, []
        self.fans.note(bound, stream, len(next(iter(bound.values()))), compared, matched + size)
        if waiting:
            yield _with(bound, stream, waiting)

    def _near(self, bound: Bound, stream: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Places of partial combinations, and numbers of rows that have their hash and are near enough."""
        view, link = self.views[stream], self.fans.link(self.spec, frozenset(bound), stream)
        first, last = self.ends(bound, stream)
        if link is None:
            hashes, own = np.zeros(len(first), dtype=np.uint64), None
        else:
            other = next(one for one in bound if one in self.spec.links[link].streams)
            hashes = self.views[other].hashes(self.spec.links_of[other].index(link))[bound[other]]
            own = self.spec.links_of[stream].index(link)
        low, high = int(first.min(initial=0)), int(last.max(initial=0))
        for start, run in zip(view.starts, view.runs, strict=False):
            if len(run.at) and run.high >= low and run.low <= high:
                for mine, theirs in between(hashes, first, last, run.by(own)):
                    yield mine, run.places(own, theirs) + start

    def _ends(self, bound: Bound, stream: int) -> tuple[np.ndarray, np.ndarray]:
        """By the spans of all streams that are there."""
        most = self.spec.spans.most
        view = self.views[stream]
        rows = len(next(iter(bound.values())))
        first = np.full(rows, min(one.low for one in view.runs), dtype=np.int64)
        last = np.full(rows, max(one.high for one in view.runs), dtype=np.int64)
        for other, numbers in bound.items():
            at = self.views[other].at[numbers]
            before, after = most[stream][other], most[other][stream]
            if before is not None:
                first = np.maximum(first, at - before)
            if after is not None:
                last = np.minimum(last, at + after)
        return first, last

    def _agreeing(
        self, bound: Bound, stream: int, own: np.ndarray, theirs: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Those whose keys are really equal and that satisfy what can be checked now."""
        there = frozenset(bound)
        for key in self.spec.keys:
            other = next((one for one in bound if one in key), None)
            if stream not in key or other is None:
                continue
            mine = bound[other][own]
            agree = same(self.views[other].column(key[other]), mine, self.views[stream].column(key[stream]), theirs)
            if not agree.all():
                own, theirs = own[agree], theirs[agree]
        wanted = list(self.spec.checked_at(there, stream))
        if wanted and len(own):
            kept = np.flatnonzero(self.holds(_with(bound, stream, [(own, theirs)]), wanted))
            own, theirs = own[kept], theirs[kept]
        return own, theirs

    def holds(self, bound: Bound, wanted: Sequence[Expression]) -> np.ndarray:
        """Of which combinations all conditions hold; none of them can fail."""
        rows = self.table(bound, list(dict.fromkeys(name for one in wanted for name in one.columns)))
        out = np.ones(rows.num_rows, dtype=np.bool_)
        for value in evaluate(wanted, rows).values:
            out &= pc.fill_null(value, pa.scalar(value=False)).to_numpy(zero_copy_only=False)
        return out

    def table(self, bound: Bound, names: Sequence[str]) -> pa.Table:
        """Columns of combinations, by their names there."""
        if not names:  # a table without columns has no rows: what is computed of none needs their number still
            return pa.table({"": np.zeros(len(next(iter(bound.values()))), dtype=np.bool_)})
        taken = {stream: pa.array(numbers) for stream, numbers in bound.items()}
        arrays: list[pa.Array | pa.ChunkedArray] = []
        for name in names:
            stream, column = self.spec.source[name]
            arrays.append(self.views[stream].column(column).take(taken[stream]))
        return pa.Table.from_arrays(arrays, names=list(names))


def _with(bound: Bound, stream: int, found: Sequence[tuple[np.ndarray, np.ndarray]]) -> Bound:
    """Partial combinations beside rows of one more stream."""
    own = found[0][0] if len(found) == 1 else np.concatenate([one for one, _ in found])
    theirs = found[0][1] if len(found) == 1 else np.concatenate([one for _, one in found])
    return {**{other: numbers[own] for other, numbers in bound.items()}, stream: theirs}
