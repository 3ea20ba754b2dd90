"""Which engine answers which workload over how many rows.

Ratios compare equal inputs only. Engines differ in speed by more than a hundred, so a workload is asked over several
sizes of input, each by the engines that finish it in seconds, and by Millstream and the batch engines at every size.
Band joins are also asked of Flink with RocksDB over as many rows as are large for the others, which takes it minutes:
over fewer, a few rounds of Spark's planning decide.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from peers.data import DataSet
from peers.workloads import WORKLOADS, Workload

HOSTS = {"spark": "millstream-spark", "local": "millstream-local"}
"""Millstream's engines by the host they run on."""
_WINDOW_KEYS = 100
_ROWS_A_KEY = 10  # of each side of a join
_WARM_ROWS = 20_000


@dataclass(frozen=True, slots=True)
class Contender:
    """An engine with one of its state stores."""

    engine: str
    store: str = ""

    @property
    def label(self) -> str:
        """For tables."""
        return f"{self.engine}, {self.store}" if self.store else self.engine


_SPARK, _LOCAL = (Contender(name) for name in HOSTS.values())
_BATCH = (Contender("duckdb"), Contender("polars"))
SIZES = {
    "large": (_SPARK, _LOCAL, Contender("flink", "heap"), *_BATCH),
    "middle": (
        _SPARK,
        _LOCAL,
        Contender("spark", "HDFS-backed"),
        Contender("spark", "RocksDB"),
        Contender("flink", "RocksDB"),
        *_BATCH,
    ),
    "small": (_LOCAL, Contender("bytewax"), *_BATCH),
    "stored": (_SPARK, _LOCAL, Contender("flink", "RocksDB"), *_BATCH),
}
ENGINES = tuple(dict.fromkeys(one.engine for contenders in SIZES.values() for one in contenders))

_WINDOWS = {"large": 8_000_000, "middle": 400_000, "small": 20_000}
_JOINS = {"large": 1_000_000, "middle": 100_000, "small": 50_000, "stored": 1_000_000}
_ROWS = {
    **dict.fromkeys(("W1", "W2-5", "W2-20", "W2-60", "W3-60"), _WINDOWS),
    **dict.fromkeys(("W4-5", "W4-30"), _JOINS),
    "W5": {"large": 500_000, "middle": 50_000, "small": 20_000},
    "W6": {"large": 100_000, "middle": 10_000, "small": 20_000},
    "W7": {"large": 500_000, "middle": 100_000, "small": 20_000},
}


@dataclass(frozen=True, slots=True)
class Cell:
    """A workload at one size."""

    workload: str
    size: str
    data: DataSet
    contenders: tuple[Contender, ...]

    @property
    def name(self) -> str:
        """As `--cells` takes it."""
        return f"{self.workload}/{self.size}"

    @property
    def asked(self) -> Workload:
        """What is asked."""
        return WORKLOADS[self.workload]

    @property
    def warm(self) -> DataSet:
        """A little of the same kind of data."""
        return _data(self.asked, min(_WARM_ROWS, self.data.rows))


def cells(wanted: Collection[str] = (), engines: Collection[str] = (), most_rows: int | None = None) -> Iterator[Cell]:
    """The cells named, as a workload (`W1`) or one size of it (`W1/large`), or all; with these engines, or all.

    Millstream takes part in each, for the others are measured by it; a cell without any other is left out. With
    `most_rows` no input is larger.
    """
    names = {f"{workload}/{size}" for workload, rows in _ROWS.items() for size in rows}
    if unknown := set(wanted) - names - set(WORKLOADS):
        raise ValueError(f"there is no cell {sorted(unknown)[0]!r}; there are {', '.join(WORKLOADS)}, and W1/large …")
    if unknown := set(engines) - set(ENGINES):
        raise ValueError(f"there is no engine {sorted(unknown)[0]!r}; there are {', '.join(ENGINES)}")
    for workload, rows in _ROWS.items():
        for size, all_contenders in SIZES.items():
            if size not in rows or (wanted and not {workload, f"{workload}/{size}"} & set(wanted)):
                continue
            ours, others = [
                tuple(one for one in all_contenders if (one.engine in HOSTS.values()) == mine) for mine in (True, False)
            ]
            others = tuple(one for one in others if not engines or one.engine in engines)
            if others:
                count = min(rows[size], most_rows or rows[size])
                yield Cell(workload, size, _data(WORKLOADS[workload], count), ours + others)


def _data(asked: Workload, rows: int) -> DataSet:
    return DataSet(rows, max(1, rows // _ROWS_A_KEY) if asked.bands else _WINDOW_KEYS, asked.streams)
