"""Cases of feedback on Spark, over Parquet files, that can be broken off and gone on with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import millstream as ms
from millstream.spark.paths import row_paths
from support.crash import ended
from support.feedback import ITEMS, QUESTIONS, SCHEMA, Case, Reader
from support.spark_driver import FEW_ROWS, session


def write_epochs(case: Case, folder: Path) -> None:
    """A file an epoch, for each stream of a case."""
    for name, epochs in (("left_rows", case.left), ("right_rows", case.right)):
        (folder / name).mkdir()
        for i, rows in enumerate(epochs):
            file = folder / name / f"{i}.parquet"
            pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), file, row_group_size=4)
            os.utime(file, (1_700_000_000 + i, 1_700_000_000 + i))  # Spark takes files in the order of their times


def attempt_on_spark(case: Case, folder: Path, said: list[Any], *, few: bool) -> Any:
    """Play a case as far as it goes; why it ended, if not by itself. What its reader says is added to `said`.

    With `few`, the driver takes in small epochs itself, as for users; else all rows go through Spark's jobs.
    """
    spark, before = session(), row_paths.FEW_ROWS
    row_paths.FEW_ROWS = FEW_ROWS if few else 0
    try:
        return _played(spark, case, folder, said)
    finally:
        row_paths.FEW_ROWS = before


def _played(spark: Any, case: Case, folder: Path, said: list[Any]) -> Any:
    engine = ms.Engine(spark, checkpoint=folder / "ck", partitions=2)
    engine.table("items", ITEMS)
    streams: list[ms.Stream] = []
    for name in ("left_rows", "right_rows"):
        path = str(folder / name)
        frame = spark.readStream.schema(spark.read.parquet(path).schema).option("maxFilesPerTrigger", 1).parquet(path)
        streams.append(engine.stream(name, frame, progress=ms.bounded_disorder("ts", 3)))
    query = QUESTIONS[case.question](*streams).to_parquet(folder / "out", mode="append").named("q")
    reader = Reader(case, query)
    reader.speak(0)
    engine.on_epoch(lambda report: reader.speak(report["epoch"] + 1))
    error = ended(engine.start(ms.available_now(), end_of_stream=True, allow_unbounded=True))
    said.extend(reader.said)
    return error
