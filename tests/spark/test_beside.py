"""As-of joins, tables and set operations on Spark: streaming frames beside each other, and frames that stand still."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from support.as_of import Question, got
from support.harness import stray
from support.joins import Row, rows, table

pytestmark = pytest.mark.spark
DISORDER = 6
COLUMNS = (("ts", "bigint"), ("k", "string"), ("j", "bigint"), ("v", "bigint"), ("id", "bigint"))


def frame(spark: Any, folder: Path, name: str, given: list[Row], files: int = 3) -> Any:
    """The rows as a stream of files, disordered by less than DISORDER."""
    (folder / name).mkdir(parents=True)
    strayed = stray(given, DISORDER - 1, random.Random(len(given)))
    size = max(1, -(-len(strayed) // files))
    for i in range(files):
        path = folder / name / f"{i:03d}.parquet"
        pq.write_table(table(strayed[i * size : (i + 1) * size], second=name == "b"), path)
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    fields = ", ".join(f"{column}{'2' if name == 'b' else ''} {kind}" for column, kind in COLUMNS)
    return spark.readStream.schema(fields).option("maxFilesPerTrigger", 1).parquet(str(folder / name))


def streams(spark: Any, folder: Path, engine: ms.Engine, left: list[Row], right: list[Row]) -> list[ms.Stream]:
    frames = {"a": frame(spark, folder, "a", left), "b": frame(spark, folder, "b", right)}
    attributes = {"a": "ts", "b": "ts2"}
    return [
        engine.stream(name, one, progress=ms.bounded_disorder(attributes[name], DISORDER))
        for name, one in frames.items()
    ]


@pytest.mark.parametrize("asked", [Question(), Question(("k", "j"), "left", 7), Question((), "left", 7, strict=True)])
def test_an_as_of_join_of_streaming_frames_equals_its_definition(spark: Any, asked: Question, tmp_path: Path) -> None:
    rnd = random.Random(3)
    left, right = rows(rnd, 90, span=120), rows(rnd, 80, span=100)
    engine = ms.Engine(spark, checkpoint=tmp_path / "checkpoint", partitions=3)
    query = asked.query(*streams(spark, tmp_path, engine, left, right)).named("q").to_memory()

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert asked.answer(left, right) == got(query.table())


def test_a_difference_of_streaming_frames(spark: Any, tmp_path: Path) -> None:
    rnd = random.Random(4)
    left, right = rows(rnd, 60, span=20), rows(rnd, 60, span=20)
    engine = ms.Engine(spark, checkpoint=tmp_path / "checkpoint", partitions=3)
    a, b = streams(spark, tmp_path, engine, left, right)
    query = a.select("ts", "k").difference(b.select("ts2 AS ts", "k2 AS k")).named("q").to_memory()

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    there = {(row["ts"], row["k"]) for row in right}
    wanted = {(row["ts"], row["k"]) for row in left} - there
    assert Counter(wanted) == Counter((row["ts"], row["k"]) for row in query.table().to_pylist())


def test_a_frame_that_stands_still_is_a_table_and_is_read_again(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "items"
    spark.createDataFrame([("a", 1), ("b", 2)], "k string, n int").coalesce(1).write.parquet(str(path))
    engine = ms.Engine(spark, checkpoint=tmp_path / "checkpoint", partitions=2)
    epochs = [[{"ts": 1, "k": "a"}, {"ts": 2, "k": "c"}], [{"ts": 3, "k": "c"}]]
    stream = engine.stream("s", epochs, progress=ms.ordered("ts"))
    engine.table("items", lambda: spark.read.parquet(str(path)).toArrow())
    fixed = engine.table("fixed", spark.createDataFrame([("a", 9)], "k string, m bigint"))
    query = stream.enrich("items", on="k", how="left").enrich(fixed, on="k", how="left").named("q").to_memory()
    engine.start(ms.once()).await_termination()
    spark.createDataFrame([("c", 3)], "k string, n int").coalesce(1).write.mode("overwrite").parquet(str(path))
    engine.refresh("items")
    engine.start(ms.once()).await_termination()

    found = [(row["ts"], row["n"], row["m"]) for row in query.table().sort_by("ts").to_pylist()]
    assert [(1, 1, 9), (2, None, None), (3, 3, None)] == found
    assert pa.int32() == query.schema.field("n").type


def test_a_frame_itself_is_read_again_though_its_files_are_others(spark: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "items")
    spark.createDataFrame([("a", 1)], "k string, n int").coalesce(1).write.parquet(path)
    engine = ms.Engine(spark, checkpoint=tmp_path / "checkpoint", partitions=2)
    stream = engine.stream("s", [[{"ts": 1, "k": "a"}], [{"ts": 2, "k": "a"}]], progress=ms.ordered("ts"))
    items = engine.table("items", spark.read.parquet(path).where("n > 0"))
    query = stream.enrich(items, on="k").named("q").to_memory()
    engine.start(ms.once()).await_termination()
    spark.createDataFrame([("a", 2), ("b", 3)], "k string, n int").coalesce(1).write.mode("overwrite").parquet(path)
    engine.refresh("items")
    engine.start(ms.once()).await_termination()

    assert [(1, 1), (2, 2)] == sorted((row["ts"], row["n"]) for row in query.table().to_pylist())


def test_a_stream_is_no_table(spark: Any) -> None:
    engine = ms.Engine(spark, partitions=2)
    endless = spark.readStream.format("rate").load()

    with pytest.raises(ms.PlanError, match="this data frame is a stream"):
        engine.table("endless", endless)


def test_a_streaming_frame_is_enriched_and_a_restart_reads_the_version_of_its_manifest(
    spark: Any, tmp_path: Path
) -> None:
    given = [{"ts": ts, "k": "a", "j": None, "v": ts, "id": ts} for ts in range(30)]
    source = frame(spark, tmp_path, "a", given)
    out = str(tmp_path / "out")
    for n in (1, 2):
        engine = ms.Engine(spark, checkpoint=tmp_path / "checkpoint", partitions=2)
        stream = engine.stream("a", source, progress=ms.bounded_disorder("ts", DISORDER))
        items = engine.table("items", [{"k": "a", "n": n}])
        counted = stream.enrich(items, on="k").window("ts", range=10).group_by("n").agg(rows=ms.count())
        counted.named("q").to_parquet(out)
        if n == 1:
            engine.start(ms.available_now()).await_termination()
        else:
            engine.start(ms.available_now(), end_of_stream=True).await_termination()

    made = pq.read_table(out).to_pylist()
    assert [(0, 1, 10), (1, 1, 10), (2, 1, 10)] == sorted((row["window_id"], row["n"], row["rows"]) for row in made)
