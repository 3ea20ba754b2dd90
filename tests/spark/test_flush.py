"""Results held back on Spark: where Spark itself reduces the rows, no more leave in an epoch than was said."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms

pytestmark = pytest.mark.spark


def test_an_epoch_lets_go_what_it_may_and_the_last_one_everything(spark: Any, tmp_path: Path) -> None:
    for i in range(4):
        pq.write_table(pa.table({"ts": [10 * i + 1] * 20, "k": list(range(20))}), tmp_path / f"{i}.parquet")
        os.utime(tmp_path / f"{i}.parquet", (i + 1, i + 1))
    frame = spark.readStream.schema("ts BIGINT, k BIGINT").option("maxFilesPerTrigger", 1).parquet(str(tmp_path))
    engine = ms.Engine(spark, partitions=2)
    stream = engine.stream("s", frame, progress=ms.ordered("ts"))
    flush = ms.slow_flush(rows=7, windows=3)
    query = stream.window("ts", range=10, flush=flush).group_by("k").agg(n=ms.count()).named("q")
    run = engine.start(ms.available_now())
    run.await_termination()

    rows = query.table().to_pylist()
    assert [(w, k, 1) for w in range(3) for k in range(20)] == sorted((r["window_id"], r["k"], r["n"]) for r in rows)
    totals = [0, *(report["queries"]["q"]["rows_out"] for report in run.recent_progress)]
    # A step learns what the rows of the one before showed: window 0 closes in the third of them.
    assert [0, 0, 7, 7, 46] == [now - before for before, now in pairwise(totals)]
    assert all(row["window_id"] == 0 for row in rows[:14])
