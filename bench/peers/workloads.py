"""The questions that every engine is asked, as lengths and names; each driver says them in its own language.

Times are milliseconds. The standard library is all that is needed here, for every environment imports this file.
"""

from __future__ import annotations

from dataclasses import dataclass

SECOND = 1000
DISORDER = 1 * SECOND
"""A row comes less than this behind the greatest time before it; every engine is told so."""
CORES = 2
"""Partitions, threads, slots or processes that each engine is given."""
EPOCH_FILES = 2
"""Files that Spark, and Millstream on either host, take at a time."""
COLUMNS = ("auction", "bidder", "price", "ts", "seq")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Either windows over bids, or joins of bids with asks; several of them are queries that run together."""

    says: str
    windows: tuple[tuple[int, int], ...] = ()
    """Range and slide of each query."""
    bands: tuple[int, ...] = ()
    """How far apart partners of one auction may be, for each query."""
    aggregate: str = "max"
    """`max` of price, `count and max` of it, or `median and distinct` bidders."""
    keyed: bool = True
    """Windows are by auction; without, all rows are one group."""
    like: str = ""
    """The workload of a single query that warms an engine up for this one of many, in less time."""

    def __post_init__(self) -> None:
        if bool(self.windows) == bool(self.bands):
            raise ValueError(f"{self.says!r} must have either windows or bands")

    @property
    def streams(self) -> tuple[str, ...]:
        """What is read."""
        return ("bids", "asks") if self.bands else ("bids",)

    @property
    def columns(self) -> tuple[str, ...]:
        """What is read of each stream."""
        if self.bands:
            return ("auction", "ts", "seq")
        distinct = ("bidder",) if self.aggregate == "median and distinct" else ()
        return (*(("auction",) if self.keyed else ()), *distinct, "price", "ts")


def _sliding(*ranges: int) -> tuple[tuple[int, int], ...]:
    return tuple((seconds * SECOND, SECOND) for seconds in ranges)


def _bands(*seconds: int) -> tuple[int, ...]:
    return tuple(one * SECOND for one in seconds)


WORKLOADS = {
    "W1": Workload(says="tumbling 10 s, count and max by key", windows=((10_000, 10_000),), aggregate="count and max"),
    "W2-5": Workload(says="sliding 5 s by 1 s, max by key", windows=_sliding(5)),
    "W2-20": Workload(says="sliding 20 s by 1 s, max by key", windows=_sliding(20)),
    "W2-60": Workload(says="sliding 60 s by 1 s, max by key", windows=_sliding(60)),
    "W3-60": Workload(says="sliding 60 s by 1 s, max of all", windows=_sliding(60), keyed=False),
    "W4-5": Workload(says="band join, ±5 s", bands=_bands(5)),
    "W4-30": Workload(says="band join, ±30 s", bands=_bands(30)),
    "W5": Workload(
        says="eight sliding windows, 5 to 60 s by 1 s", windows=_sliding(5, 10, 15, 20, 30, 40, 50, 60), like="W2-60"
    ),
    "W6": Workload(says="eight band joins, ±1 to ±30 s", bands=_bands(1, 2, 3, 5, 8, 12, 20, 30), like="W4-5"),
    "W7": Workload(
        says="sliding 60 s by 5 s, median and distinct by key",
        windows=((60 * SECOND, 5 * SECOND),),
        aggregate="median and distinct",
    ),
}
