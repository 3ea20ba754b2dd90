"""Packets on several links: each with its rate and its lag behind the others, and conversations that cross them.

A packet belongs to a conversation between two hosts. On a link that is `reverse` it goes the other way, so its source
is the destination of the packets that it answers: that is what joins of two links look for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zlib import crc32

import numpy as np
import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.workload.arrival import Arrival
from millstream.workload.clock import START, dice, timestamps
from millstream.workload.models import lagging

_SHORTEST, _LONGEST = 40, 1500  # bytes: a bare acknowledgement, a full Ethernet frame
_HOSTS = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One link: how many packets a second, and how late they arrive."""

    name: str
    rate: float
    lag: timedelta = timedelta(0)
    reverse: bool = False
    """Whether it carries the answers of the conversations."""

    def __post_init__(self) -> None:
        """Refuse packets from the future."""
        if self.lag < timedelta(0):
            raise SourceError(f"lag of link {self.name!r} is {self.lag}, which is negative", hint="Give 0 or more.")


CONTROL = Link(name="control", rate=0.5)
MAIN_1 = Link(name="main1", rate=4000)
MAIN_2 = Link(name="main2", rate=4000, reverse=True)


def packets_on(
    link: Link, seconds: float, *, conversations: int = 10_000, seed: int = 0, start: datetime = START
) -> pa.Table:
    """The packets of one link, ordered by `ts`; links with one seed share their conversations.

    >>> table = packets_on(Link(name="main1", rate=100), 2, seed=7)
    >>> table.num_rows, table.schema.names
    (200, ['link', 'srcIP', 'srcPort', 'destIP', 'destPort', 'len', 'ts'])
    """
    if conversations < 1:
        raise SourceError(f"conversations is {conversations}, so no packet has any", hint="Give at least 1.")
    rows = int(seconds * link.rate)
    hosts = dice(seed, 1)[0].integers(0, (_HOSTS, 1 << 16, _HOSTS, 1 << 16), (conversations, 4))
    # What is drawn for a packet depends on the link's name too: else two links would carry the same packets.
    pick, size = dice(seed * 2**32 + crc32(link.name.encode()), 2)
    chosen = hosts[(pick.random(rows) * conversations).astype(np.int64)]
    ends = chosen[:, [2, 3, 0, 1]] if link.reverse else chosen
    return pa.table(
        {
            "link": pa.array([link.name] * rows, pa.string()),
            **{name: ends[:, i] for i, name in enumerate(("srcIP", "srcPort", "destIP", "destPort"))},
            "len": (_SHORTEST + size.random(rows) * (_LONGEST + 1 - _SHORTEST)).astype(np.int64),
            "ts": timestamps(rows, rate=link.rate, start=start),
        }
    )


def packets_of(
    links: Sequence[Link], seconds: float, *, conversations: int = 10_000, seed: int = 0, start: datetime = START
) -> Arrival:
    """The packets of all links as they arrive; `bounds_of("link")` is the true progress of each.

    >>> late = Link(name="late", rate=2, lag=timedelta(seconds=1))
    >>> stream = packets_of([Link(name="early", rate=2), late], 2)
    >>> stream.rows["link"].to_pylist()
    ['early', 'early', 'late', 'early', 'late', 'early', 'late', 'late']
    """
    names = [link.name for link in links]
    if len(set(names)) < len(names):
        raise SourceError(f"links are named {names}, two of them alike", hint="Give each a name of its own.")
    tables = [packets_on(link, seconds, conversations=conversations, seed=seed, start=start) for link in links]
    together = pa.concat_tables(tables).sort_by("ts")
    return lagging(together, "ts", "link", {link.name: link.lag for link in links})
