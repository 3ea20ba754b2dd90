"""Results on disk as bags, and streams of small Parquet files to make them from."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("k", pa.string()), ("g", pa.int64()), ("v", pa.int64())])
START = datetime(2024, 1, 1, tzinfo=UTC)
Row = dict[str, Any]


def rows_of(folder: Path) -> list[Row]:
    """What a reader of a folder sees, without the number of the step that wrote it."""
    if not folder.exists() or not any(folder.glob("part-*")):
        return []
    rows = ds.dataset(folder, format="parquet").to_table().to_pylist()
    return [{name: value for name, value in row.items() if name != "epoch"} for row in rows]


def without_epoch(table: pa.Table) -> list[Row]:
    """Side rows without the number of the step, which depends on how often a run broke off."""
    return table.drop_columns(["epoch"]).to_pylist()


def some_rows(epochs: int, each: int, seed: int = 3, late_from: int = 1) -> list[list[Row]]:
    """Disordered rows: a few without a time, and one an epoch that is too late for ten seconds of disorder."""
    rnd = random.Random(seed)
    span = 60 * epochs
    seconds = sorted(rnd.randint(0, span) for _ in range(epochs * each))
    seconds.sort(key=lambda second: second + rnd.randint(0, 9))
    rows: list[Row] = [
        {
            "ts": START + timedelta(seconds=second) if rnd.random() > 0.02 else None,
            "k": rnd.choice(["a", "b", None]),
            "g": rnd.randint(0, 5),
            "v": rnd.choice([None, 1, 2, 3, 2**40, -7]),
        }
        for second in seconds
    ]
    for i in range(late_from, epochs):
        rows[i * each + 5]["ts"] = START
    return [rows[i * each : (i + 1) * each] for i in range(epochs)]


def write_files(folder: Path, epochs: Sequence[Sequence[Row]], first: int = 0) -> None:
    """One file an epoch; Spark takes files in the order of their times, the local host in that of their names."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, rows in enumerate(epochs, first):
        path = folder / f"{i:04d}.parquet"
        hidden = path.with_name(f".{path.name}")
        pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), hidden)
        os.utime(hidden, (1_700_000_000 + i, 1_700_000_000 + i))
        hidden.rename(path)


def frame(spark: Any, folder: Path) -> Any:
    """The folder as a streaming data frame, a file an epoch."""
    fields = "ts timestamp, k string, g bigint, v bigint"
    return spark.readStream.schema(fields).option("maxFilesPerTrigger", 1).parquet(str(folder))
