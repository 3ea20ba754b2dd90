"""A program on Spark prints what it prints, and nothing of Spark's; two engines may ask the same beside each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms

PROGRAM = """
import sys
import millstream as ms
engine = ms.Engine()
frame = engine.spark.readStream.schema("ts BIGINT, k STRING").parquet(sys.argv[1])
stream = engine.stream("s", frame, progress=ms.ordered("ts"))
query = stream.where("upper(k) = 'A'").window("ts", range=5).agg(n=ms.count(), d=ms.approx_distinct("k")).named("q")
engine.start(ms.available_now(), end_of_stream=True).await_termination()
print(query.table().num_rows)
"""


def rows(folder: Path) -> Path:
    folder.mkdir()
    pq.write_table(pa.table({"ts": [1, 2, 7], "k": ["a", "b", "a"]}), folder / "0.parquet")
    return folder


@pytest.mark.spark
def test_a_program_on_spark_starts_and_ends_without_lines_of_others(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(rows(tmp_path / "in"))], capture_output=True, text=True, check=False
    )

    assert (0, "2\n", "") == (done.returncode, done.stdout, done.stderr)


@pytest.mark.spark
def test_two_engines_of_one_session_run_queries_of_one_name_at_once(spark: Any, tmp_path: Path) -> None:
    frame = spark.readStream.schema("ts BIGINT, k STRING").parquet(str(rows(tmp_path / "in")))
    runs = []
    for name in ("one", "other"):
        engine = ms.Engine(spark, checkpoint=tmp_path / name, partitions=2)
        engine.stream("s", frame, progress=ms.ordered("ts")).where("ts > 1").named("q")
        runs.append(engine.start(ms.every("200 ms")))
    for run in runs:
        assert run.process_all_available(60)
        run.stop()
        assert run.exception is None
