"""Delta tables, written by Delta's own library: streams and static tables as any other frame."""

from __future__ import annotations

import random
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark import cloudpickle

import millstream as ms
from support import delta_source
from support.delta_source import Delta
from support.disk import rows_of

pytestmark = pytest.mark.spark
cloudpickle.register_pickle_by_value(delta_source)  # Spark's workers do not have the tests on their path
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema({"ts": pa.timestamp("us", "UTC"), "k": pa.string(), "v": pa.int64()})


def trades(seed: int, many: int = 90) -> list[dict[str, Any]]:
    """Rows whose times are at most five seconds behind the greatest before them."""
    rnd = random.Random(seed)
    rows = [{"ts": BEGIN + timedelta(seconds=i), "k": rnd.choice("abc"), "v": rnd.randint(0, 9)} for i in range(many)]
    return sorted(rows, key=lambda row: row["ts"] + timedelta(seconds=rnd.randint(0, 4)))


def append(table: Path, rows: list[dict[str, Any]]) -> None:
    write_deltalake(table, pa.Table.from_pylist(rows, SCHEMA), mode="append")


def minutes(rows: list[dict[str, Any]]) -> Counter[tuple[datetime, str, int, int]]:
    cells: dict[tuple[datetime, str], list[int]] = {}
    for row in rows:
        cells.setdefault((row["ts"].replace(second=row["ts"].second // 10 * 10), row["k"]), []).append(row["v"])
    return Counter((start, k, len(values), sum(values)) for (start, k), values in cells.items())


def found(folder: Path) -> Counter[tuple[datetime, str, int, int]]:
    return Counter((row["window_start"], row["k"], row["n"], row["total"]) for row in rows_of(folder))


def test_versions_of_a_table_are_read_once_each_and_a_restart_goes_on_with_the_next(spark: Any, tmp_path: Path) -> None:
    spark.dataSource.register(Delta)
    rows, table = trades(1), tmp_path / "trades"
    append(table, rows[:30])
    append(table, rows[30:60])

    def live(*, end: bool) -> dict[str, Any]:
        engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
        frame = spark.readStream.format("delta").load(str(table))
        stream = engine.stream("trades", frame, progress=ms.bounded_disorder("ts", "5 seconds"))
        windows = stream.window("ts", range="10 seconds").group_by("k").agg(n=ms.count(), total=ms.sum("v"))
        windows.named("q").to_parquet(tmp_path / "out")
        run = engine.start(ms.available_now(), end_of_stream=end)
        run.await_termination()
        return run.progress["queries"]["q"]["books"]

    assert 60 == live(end=False)["rows_in"]
    append(table, rows[60:])
    DeltaTable(table).optimize.compact()  # a version that adds a file, and no rows
    books = live(end=True)

    assert (90, 0, 0) == (books["rows_in"], books["late"], books["rejected"])
    assert minutes(rows) == found(tmp_path / "out")


def test_a_table_is_read_as_it_is_now_where_a_frame_is_no_stream(spark: Any, tmp_path: Path) -> None:
    rows, table = trades(2), tmp_path / "trades"
    append(table, rows[:50])
    append(table, rows[50:])
    DeltaTable(table).delete("k = 'b'")
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
    frame = spark.read.parquet(*DeltaTable(table).file_uris())
    # What a rewritten table has kept is in another order: its promise is that of the whole.
    stream = engine.stream("trades", frame, progress=ms.bounded_disorder("ts", "2 minutes"))
    windows = stream.window("ts", range="10 seconds").group_by("k").agg(n=ms.count(), total=ms.sum("v"))
    windows.named("q").to_parquet(tmp_path / "out")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert minutes([row for row in rows if row["k"] != "b"]) == found(tmp_path / "out")
