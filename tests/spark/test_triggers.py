"""Triggers on Spark: when an epoch is taken, and what has left when it is over."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.spark import epoch_size

pytestmark = pytest.mark.spark
EPOCHS, ROWS, DISORDER = 4, 60, 8


def rows_of(epoch: int) -> pa.Table:
    """Numbers out of order by less than the disorder, each with a key."""
    rnd = random.Random(epoch)
    numbers = sorted(range(epoch * ROWS, (epoch + 1) * ROWS), key=lambda n: n + rnd.randint(0, DISORDER - 1))
    return pa.table({"n": numbers, "k": [n % 3 for n in numbers]})


def write(folder: Path, epoch: int) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / f"{epoch}.parquet"
    pq.write_table(rows_of(epoch), path)
    os.utime(path, (1_700_000_000 + epoch, 1_700_000_000 + epoch))  # Spark takes files in the order of their times


def ask(engine: ms.Engine, source: Any) -> Any:
    stream = engine.stream("s", source, progress=ms.bounded_disorder("n", DISORDER))
    return stream.window("n", range=20, slide=5).group_by("k").agg(rows=ms.count(), total=ms.sum("n")).named("q")


def frame(spark: Any, folder: Path) -> Any:
    return spark.readStream.schema("n bigint, k bigint").option("maxFilesPerTrigger", 1).parquet(str(folder))


def bag(rows: list[dict[str, Any]]) -> list[tuple[int, int, int, int]]:
    return sorted((row["window_start"], row["k"], row["rows"], row["total"]) for row in rows)


def closed_by(epochs: int) -> list[list[dict[str, Any]]]:
    """What leaves on the local host in each epoch, with nothing behind the last."""
    left: list[list[dict[str, Any]]] = []
    engine = ms.Engine(host="local")
    ask(engine, [rows_of(i) for i in range(epochs)]).for_each(lambda table, _: left.append(table.to_pylist()))
    engine.start(ms.available_now()).await_termination()
    return left


def test_while_it_waits_for_input_an_epoch_closes_what_its_own_rows_allow(spark: Any, tmp_path: Path) -> None:
    engine = ms.Engine(spark, partitions=2)
    left: list[list[dict[str, Any]]] = []
    write(tmp_path / "in", 0)
    query = ask(engine, frame(spark, tmp_path / "in"))
    query.for_each(lambda rows, _: left.append([row.asDict() for row in rows.collect()]))
    run = engine.start(ms.every("50 ms"))
    try:
        for epochs in range(1, EPOCHS + 1):
            wanted = closed_by(epochs)
            until = time.monotonic() + 120
            while len(left) < len(wanted) and time.monotonic() < until and not run.await_termination(0.05):
                pass
            # No file comes before this one's windows have left: nothing waits for a next epoch.
            assert [bag(rows) for rows in wanted] == [bag(rows) for rows in left]
            if epochs < EPOCHS:
                write(tmp_path / "in", epochs)
    finally:
        run.stop()

    assert EPOCHS == sum(bool(one["numInputRows"]) for one in run.recent_progress)


def test_what_is_there_now_ends_with_all_that_punctuation_allows(spark: Any, tmp_path: Path) -> None:
    for epoch in range(EPOCHS):
        write(tmp_path / "in", epoch)
    engine = ms.Engine(spark, partitions=2)
    query = ask(engine, frame(spark, tmp_path / "in")).to_memory()
    run = engine.start(ms.available_now())
    run.await_termination()

    assert EPOCHS == sum(bool(one["numInputRows"]) for one in run.recent_progress)
    assert bag([row for rows in closed_by(EPOCHS) for row in rows]) == bag(query.table().to_pylist())


def test_once_is_one_epoch_of_all_that_is_there_and_the_next_one_goes_on(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", 0)
    write(tmp_path / "in", 1)
    engine = ms.Engine(spark, partitions=2)
    query = ask(engine, frame(spark, tmp_path / "in")).to_memory()

    def once() -> list[int]:
        run = engine.start(ms.once())
        run.await_termination()
        return [one["numInputRows"] for one in run.recent_progress if one["numInputRows"]]

    assert [2 * ROWS] == once()
    assert bag([row for rows in closed_by(2) for row in rows]) == bag(query.table().to_pylist())
    write(tmp_path / "in", 2)
    assert [ROWS] == once()
    assert bag([row for rows in closed_by(3) for row in rows]) == bag(query.table().to_pylist())


@pytest.mark.parametrize("told", [None, 3], ids=["not told", "told"])
def test_an_epoch_of_a_backlog_takes_the_files_that_fit_unless_it_is_told(
    spark: Any, tmp_path: Path, told: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for epoch in range(EPOCHS):
        write(tmp_path, epoch)
    largest = max(path.stat().st_size for path in tmp_path.iterdir())
    monkeypatch.setattr(epoch_size, "BYTES_PER_CORE", -(-2 * largest // spark.sparkContext.defaultParallelism))
    reader = spark.readStream.schema("n bigint, k bigint")
    reader = reader if told is None else reader.option("maxFilesPerTrigger", told)
    engine = ms.Engine(spark, partitions=2)
    query = ask(engine, reader.parquet(str(tmp_path)))
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    rows = [one["input_rows"] for one in run.recent_progress if one["input_rows"]]
    assert [2 * ROWS, 2 * ROWS] == rows if told is None else [3 * ROWS, ROWS] == rows
    here = ms.Engine(host="local")
    wanted = ask(here, pa.concat_tables([rows_of(epoch) for epoch in range(EPOCHS)]))
    here.start(ms.available_now(), end_of_stream=True).await_termination()
    assert bag(wanted.table().to_pylist()) == bag(query.table().to_pylist())
