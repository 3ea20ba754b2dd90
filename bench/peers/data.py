"""The inputs: disordered bids and asks, once as Parquet for all, and as what two engines need beside it.

    bids/parquet   files 0 to 7 in order of arrival
    bids/ended     the same, with one more row an hour later at the end of the last file
    bids/binary    the same rows, five big-endian 64-bit numbers each, dealt out to two files

Native Spark closes no window at the end of its input, so it reads `ended`, whose last row belongs to no window that is
closed by it. PyFlink's wheel has no Parquet format, so it reads `binary`, which costs it less than Parquet would.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from millstream.workload import auction, disorder
from peers.workloads import COLUMNS, CORES, DISORDER

FILES = 8
_SEEDS = {"bids": 11, "asks": 12}
_HOUR = 3_600_000
_BUSY = 10_000  # rows a second at most: larger inputs last longer
_SPAN = 100  # seconds at least, so that windows of a minute fill
_CHANGED = 1_700_000_000  # Spark takes files in the order of their times of change
_DONE = "done"


@dataclass(frozen=True, slots=True)
class DataSet:
    """So many rows a stream, over so many auctions, of one stream or of two."""

    rows: int
    keys: int
    streams: tuple[str, ...] = ("bids",)

    @property
    def name(self) -> str:
        """Of its folder."""
        return f"{'-'.join(self.streams)}-{self.rows}-{self.keys}"

    @property
    def rows_in(self) -> int:
        """Of all streams."""
        return self.rows * len(self.streams)


def stream(name: str, rows: int, keys: int) -> pa.Table:
    """One stream in order of arrival: whole milliseconds in `ts`, the place in `seq`."""
    seed = _SEEDS[name]
    table = auction.bids(rows, keys=keys, seed=seed, rate=min(_BUSY, rows / _SPAN), hot=0.0)
    at = table["ts"].cast(pa.int64()).to_numpy() // 1000
    table = table.set_column(table.column_names.index("ts"), "ts", pa.array(at))
    table = disorder.bounded(table, "ts", DISORDER, seed=seed)
    return table.append_column("seq", pa.array(np.arange(rows))).select(COLUMNS)


def make(wanted: DataSet, root: Path) -> Path:
    """The folder of a data set, made if it is not there."""
    folder = root / wanted.name
    done, content = folder / _DONE, _fingerprint()
    if not done.exists() or done.read_text() != content:
        shutil.rmtree(folder, ignore_errors=True)
        for name in wanted.streams:
            write(stream(name, wanted.rows, wanted.keys), folder / name)
        done.write_text(content)
    return folder


def _fingerprint() -> str:
    """Of the code that decides the rows: other code, other files, and other answers beside them."""
    here = Path(__file__).parent
    sources = [here / f"{name}.py" for name in ("data", "digest", "oracle", "workloads")]
    sources += [Path(module.__file__ or "") for module in (auction, disorder)]
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def write(table: pa.Table, folder: Path) -> None:
    """A stream in its three forms."""
    plain, ended, binary = (folder / kind for kind in ("parquet", "ended", "binary"))
    for one in (plain, ended, binary):
        one.mkdir(parents=True)
    size = -(-table.num_rows // FILES)
    for i in range(FILES):
        piece = table.slice(i * size, size)
        _write(piece, plain / f"{i}.parquet", i)
        if i < FILES - 1:
            os.link(plain / f"{i}.parquet", ended / f"{i}.parquet")
        else:
            _write(pa.concat_tables([piece, _end(table)]), ended / f"{i}.parquet", i)
    numbers = np.stack([table[name].to_numpy() for name in COLUMNS], axis=1).astype(">i8")
    for i in range(CORES):
        numbers[i::CORES].tofile(binary / f"{i}.bin")


def _write(table: pa.Table, path: Path, at: int) -> None:
    pq.write_table(table, path)
    os.utime(path, (_CHANGED + at, _CHANGED + at))


def _end(table: pa.Table) -> pa.Table:
    last = int(table["ts"].to_numpy().max()) + _HOUR
    row = {"auction": [0], "bidder": [0], "price": [0], "ts": [last], "seq": [table.num_rows]}
    return pa.table(row, schema=table.schema)
