"""The plan that keeps order: Merge in front of an aggregate that takes its input for ordered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from comparators.comparator import END, Held
from comparators.inorder import InOrderWindows
from comparators.merge import Merge
from lab.feeds import Late, steps
from lab.measure import Side, comparator


def merged_windows(links: Sequence[Late], *, size: int, slide: int, groups: Sequence[str] = ()) -> Side:
    """Counts in windows of `ts` over the union of the links; what is held is what both parts hold at one time."""
    merge = Merge(len(links), "ts", links[0].rows.schema)
    windows = InOrderWindows("ts", "len", size=size, slide=slide, groups=groups)
    most = Held()

    def arrivals() -> Iterator[pa.Table]:
        for port, rows, bound in steps(links):
            yield merge.take(port, rows)
            if bound is not None:
                yield merge.advance(port, bound)
        for port in range(len(links)):
            yield merge.advance(port, END)

    def leaving() -> Iterator[pa.Table]:
        nonlocal most
        for rows in arrivals():
            out = windows.take(0, rows)
            now = merge.held() + windows.held()
            most = Held(max(most.rows, now.rows), max(most.nbytes, now.nbytes))
            yield out
        yield windows.advance(0, END)

    return comparator(leaving, lambda: most)
