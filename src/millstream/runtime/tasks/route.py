"""Routes: to which partitions the rows of a stop's inputs go, so that all that must meet does.

Rows that must be equal in some columns meet by a hash of these. Rows of a join that must only be near in time meet by
slices of time: one side's rows each have one home, and the other side's rows go to every home that a partner can have.
Rows of a join of many streams without a common key go everywhere: each is kept in one place, and looks for partners in
all of them (see `runtime/tasks/ring.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.promise.near import Near
from millstream.kernels.partition import partition_of
from millstream.kernels.ticks import to_ticks, too_far
from millstream.ops.many.ring import block, home
from millstream.plan import nodes


def ring(node: nodes.Node) -> TypeGuard[nodes.ManyJoin]:
    """Do rows stay where they are kept, and what looks for them travel?"""
    return isinstance(node, nodes.ManyJoin) and node.travels


def steps(node: nodes.Node, partitions: int) -> int:
    """How often rows must be brought together at a stop: once, or once for each further stream of a ring."""
    return len(node.inputs) - 1 if partitions > 1 and ring(node) else 1


def spread(node: nodes.Node) -> bool:
    """Has a stop work for all partitions, and not for one only?"""
    return (
        ring(node)
        or bool(node.meets_on())
        or (isinstance(node, nodes.TwoSided) and (_by_coordinate(node) or _by_slice(node)))
    )


def copies(node: nodes.Node) -> bool:
    """May a row go to several partitions?"""
    return isinstance(node, nodes.TwoSided) and not node.keys and not _by_coordinate(node)


def shares(node: nodes.Node, port: int, rows: pa.Table, partitions: int) -> Iterator[tuple[int, pa.Table]]:
    """A port's rows by partition; partitions without rows are left out, and a row may go to several."""
    if not rows.num_rows:
        return
    if partitions == 1 or not spread(node):
        yield 0, rows
        return
    if ring(node):
        yield from ((partition, rows) for partition in range(partitions))
        return
    homes = _homes(node, port, rows, partitions)
    for partition in range(partitions):
        mask = np.logical_or.reduce([home == partition for home in homes])
        if mask.any():
            yield partition, rows.filter(pa.array(mask))


def original(node: nodes.Node, port: int, rows: pa.Table, partitions: int, partition: int) -> np.ndarray:
    """Which of a partition's rows are not copies of rows that another partition has too."""
    if partitions == 1 or not spread(node):
        return np.ones(rows.num_rows, dtype=np.bool_)
    return _homes(node, port, rows, partitions)[0] == partition


def _homes(node: nodes.Node, port: int, rows: pa.Table, partitions: int) -> list[np.ndarray]:
    """The partitions of each row: the first, and the others it may go to."""
    if ring(node):
        return [kept_at(node, port, rows, block(node.longest or 0, partitions), partitions)]
    if not isinstance(node, nodes.TwoSided) or node.keys:
        return [partition_of([rows[name] for name in node.meets_on(port)], rows.num_rows, partitions)]
    at, known = _coordinates(node, port, rows)
    if _by_coordinate(node):
        return [np.where(known, at % partitions, 0)]
    low, high = _ends(node, port)
    width = high - low + 1
    if port == node.home():
        return [np.where(known, (at // width) % partitions, 0)]
    return [np.where(known, ((at + end) // width) % partitions, 0) for end in (low, high)]


def kept_at(node: nodes.ManyJoin, port: int, rows: pa.Table, width: int, partitions: int) -> np.ndarray:
    """The partition of a ring that keeps each row, by blocks of time so wide."""
    at, known = ticks_of(rows[node.apart.names[port]], node.apart.farthest)
    return np.where(known, home(at, width, partitions), 0)


def _by_coordinate(node: nodes.TwoSided) -> bool:
    """Must partners have one coordinate: the same time, or the same tumbling window?"""
    near = node.near()
    return near is not None and near.reach.low == near.reach.high == 0


def _by_slice(node: nodes.TwoSided) -> bool:
    near = node.near()
    # Where both sides' rows may leave alone, none may be in two places.
    return near is not None and None not in (near.reach.low, near.reach.high) and node.home() is not None


def _ends(node: nodes.TwoSided, port: int) -> tuple[int, int]:
    reach = _near(node).reach_of(port)
    assert reach.low is not None
    assert reach.high is not None
    return reach.low, reach.high


def _near(node: nodes.TwoSided) -> Near:
    near = node.near()
    assert near is not None
    return near


def _coordinates(node: nodes.TwoSided, port: int, rows: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """Rows' coordinates, and which of them have one; the join rejects the others wherever they are."""
    near = _near(node)
    ticks, known = ticks_of(rows[near.names[port]], near.farthest)
    return near.coordinates(ticks), known


def ticks_of(column: pa.ChunkedArray, farthest: int) -> tuple[np.ndarray, np.ndarray]:
    """The ticks of rows, and which of them have any that is not too far out."""
    known = pc.is_valid(column).to_numpy()
    ticks = np.zeros(len(column), dtype=np.int64)
    ticks[known] = to_ticks(column.drop_null())
    far = too_far(ticks, farthest) if len(ticks) else None
    if far is not None:
        known = known & ~far
        ticks[far] = 0
    return ticks, known
