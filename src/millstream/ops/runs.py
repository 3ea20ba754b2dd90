"""Rows of state in runs: what is new is a run of its own, and runs that lose nothing stay as they are on the disk.

Runs of similar size are merged, so that there are few of them and a row is written again only a few times.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from millstream.state.store import Segment

_RATIO = 2


def filtered(
    runs: Sequence[Segment], name: str, mask: np.ndarray, make: Callable[[pa.Table], Segment]
) -> list[Segment]:
    """The runs without the rows that the mask leaves out; the mask is over the rows of all runs, in order."""
    out: list[Segment] = []
    at = 0
    for run in runs:
        table = run.tables[name]
        mine = mask[at : at + table.num_rows]
        at += table.num_rows
        if mine.all():
            out.append(run)
        elif mine.any():
            out.append(make(table.filter(pa.array(mine)).combine_chunks()))
    return out


def merged(runs: Sequence[Segment], name: str, make: Callable[[pa.Table], Segment]) -> list[Segment]:
    """The runs, in order, with neighbours merged where the later is more than half as large as the earlier.

    >>> def run(rows: int) -> Segment:
    ...     return Segment({"t": pa.table({"x": range(rows)})}, 0, 0)
    >>> again = lambda table: Segment({"t": table}, 0, 0)
    >>> [one.rows for one in merged([run(100), run(10), run(8)], "t", again)]
    [100, 18]
    """
    groups: list[list[Segment]] = []
    for run in runs:
        groups.append([run])
        while len(groups) > 1 and _rows(groups[-1]) * _RATIO > _rows(groups[-2]):
            groups[-2:] = [[*groups[-2], *groups[-1]]]
    return [
        one[0] if len(one) == 1 else make(pa.concat_tables([run.tables[name] for run in one]).combine_chunks())
        for one in groups
    ]


def _rows(runs: Sequence[Segment]) -> int:
    return sum(run.rows for run in runs)
