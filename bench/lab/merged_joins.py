"""The plan that keeps order, with a join: Merge in front of each side that is a union, and a tumbling join behind.

What is held is what the merges and the join hold at one time, weighed when rows are in and before they are purged: so
does the engine weigh its state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from comparators.comparator import END, Held
from comparators.merge import Merge
from comparators.pairs import Band
from comparators.symmetric import WINDOW, Symmetric, window_of
from lab.feeds import Late, seconds_of
from lab.measure import Side, comparator


def merged_join(left: Sequence[Late], right: Sequence[Late], *, window: int) -> Side:
    """Pairs with equal `key` in the same window of `ts`; each side is the union of its links, in order."""
    sides = (left, right)
    merges = [Merge(len(links), "ts", links[0].rows.schema) for links in sides]
    stored = merges[0].schema.append(pa.field(WINDOW, pa.int64()))
    join = Symmetric(("key", "key"), WINDOW, Band(lo=0, hi=0), (stored, stored))
    most = Held()

    def joined(side: int, rows: pa.Table) -> list[pa.Table]:
        """Rows that a merge lets go, and the progress of what it lets go."""
        nonlocal most
        bound = merges[side].bound
        out = [join.take(side, window_of(rows, "ts", window))]
        held = join.held() + merges[0].held() + merges[1].held()
        most = Held(max(most.rows, held.rows), max(most.nbytes, held.nbytes))
        if bound is not None:
            out.append(join.advance(side, bound // window))
        return out

    def steps() -> Iterator[pa.Table]:
        for now in seconds_of([*left, *right]):
            out: list[pa.Table] = []
            for side, links in enumerate(sides):
                for port, link in enumerate(links):
                    rows, bound = link.second(now)
                    out += joined(side, merges[side].take(port, rows))
                    if bound is not None:
                        out += joined(side, merges[side].advance(port, bound))
            yield pa.concat_tables(out)
        for side, links in enumerate(sides):
            yield pa.concat_tables(
                [out for port in range(len(links)) for out in joined(side, merges[side].advance(port, END))]
            )

    return comparator(steps, lambda: most)
