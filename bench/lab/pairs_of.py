"""Links with one key column, and pairs counted so that answers can be compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from lab.feeds import packets
from lab.oracles import sql
from millstream.workload.links import Link

_ENDS = ("srcIP", "srcPort", "destIP", "destPort")


def keyed_links(names: Mapping[str, bool], rate: float, seconds: int, *, conversations: int) -> list[pa.Table]:
    """A link of each name; those that are true carry the answers. All have the columns len, ts and key."""
    links = [Link(name=name, rate=rate, reverse=reverse) for name, reverse in names.items()]
    return [keyed(packets(link, seconds, conversations=conversations), reverse=link.reverse) for link in links]


def counted(pairs: pa.Table) -> list[tuple[Any, ...]]:
    """How often each pair of times occurs, in order."""
    return sql("SELECT left_ts, right_ts, count(*) FROM pairs GROUP BY ALL ORDER BY ALL", pairs=pairs)


def keyed(rows: pa.Table, *, reverse: bool) -> pa.Table:
    """Two addresses of 12 bits and two ports of 16 as one number, from the side that asks: answers are turned round."""
    bits = dict(zip(_ENDS, (12, 16, 12, 16), strict=True))
    key = np.zeros(rows.num_rows, dtype=np.int64)
    for name in (*_ENDS[2:], *_ENDS[:2]) if reverse else _ENDS:
        key = (key << bits[name]) | rows[name].to_numpy()
    return rows.select(["len", "ts"]).append_column("key", pa.array(key))
