"""A small stream with a late and a rejected row, for sinks that are tables: what goes in, and what must be there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import millstream as ms

EPOCHS: list[list[dict[str, Any]]] = [
    [{"ts": 10 * e + i, "k": "ab"[i % 2], "v": i / 2} for i in range(10)] for e in range(6)
]
EPOCHS[4].append({"ts": 1, "k": "late", "v": 0.0})
EPOCHS[5].append({"ts": None, "k": "lost", "v": 0.0})
SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.float64()})


def write_input(folder: Path, epochs: int = len(EPOCHS)) -> Path:
    """One file per epoch."""
    folder.mkdir(exist_ok=True)
    for i, rows in enumerate(EPOCHS[:epochs]):
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / f"{i}.parquet")
    return folder


def read_input(folder: Path) -> Any:
    """The files as a source."""
    return ms.files(str(folder), format="parquet")


def ask(made: ms.Engine, source: Any, name: str = "q") -> Any:
    """Counts and sums by key."""
    stream = made.stream("s", source, progress=ms.bounded_disorder("ts", 3))
    return stream.window("ts", range=10).group_by("k").agg(n=ms.count(), total=ms.sum("v")).named(name)


def run(made: ms.Engine, *, end: bool = False) -> None:
    """All that is there."""
    made.start(ms.available_now(), end_of_stream=end).await_termination()


def bag(table: pa.Table) -> list[str]:
    """The rows in some order."""
    return sorted(map(repr, table.to_pylist()))


def wanted(folder: Path) -> dict[str, list[str]]:
    """What each output must have."""
    made = ms.Engine(host="local")
    query = ask(made, read_input(folder))
    run(made, end=True)
    return {"out": bag(query.table()), "late": bag(query.late.table()), "rejected": bag(query.rejected.table())}
