"""Joins of many streams on Spark equal DuckDB's: straight to one task by a common key, and as a ring."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from support import many
from support.harness import stray

pytestmark = pytest.mark.spark

DISORDER = 5


def files(folder: Path, made: many.Case) -> list[Path]:
    out: list[Path] = []
    for name, rows in zip(made.names, made.rows, strict=True):
        (folder / name).mkdir(parents=True)
        some = stray(rows, DISORDER - 1, random.Random(name))
        for i, at in enumerate(range(0, max(1, len(some)), max(1, -(-len(some) // 3)))):
            path = folder / name / f"{i:03d}.parquet"
            pq.write_table(pa.Table.from_pylist(some[at : at + -(-len(some) // 3)], schema=many.SCHEMA), path)
            os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
        out.append(folder / name)
    return out


def sources(spark: Any, engine: ms.Engine, made: many.Case, places: list[Path]) -> list[ms.Stream]:
    text = "ts bigint, k string, x bigint, y bigint, id bigint"
    return [
        engine.stream(
            name,
            spark.readStream.schema(text).option("maxFilesPerTrigger", 1).parquet(str(place)),
            progress=ms.bounded_disorder("ts", DISORDER),
        )
        for name, place in zip(made.names, places, strict=True)
    ]


@pytest.mark.parametrize(
    ("shape", "near", "partitions", "how"),
    [
        ("common", "bands along a chain", 2, "inner"),
        ("common and condition", "a stream", 3, "left"),
        ("chain", "pairs", 2, "inner"),
        ("no key", "one length", 3, "inner"),
    ],
)
def test_a_join_of_many_on_spark_equals_it_too(
    spark: Any, shape: str, near: str, partitions: int, how: str, tmp_path: Path
) -> None:
    rnd = random.Random(f"{shape} {near}")
    made = many.case(rnd, 3, shape, near, how)
    places = files(tmp_path / "in", made)
    for last in (False, True):  # and again after a restart
        engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=partitions)
        query = made.query(sources(spark, engine, made, places)).to_parquet(tmp_path / "out", mode="append").named("q")
        if shape.startswith("common"):
            assert "straight to the join" in query.engine.explain()
        engine.start(ms.once() if not last else ms.available_now(), end_of_stream=last).await_termination()
    assert made.answer() == made.got(pq.read_table(tmp_path / "out"))
