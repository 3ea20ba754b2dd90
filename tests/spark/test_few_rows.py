"""Epochs of few rows, which the driver takes in by itself: the same answers, state and books, whoever takes them in."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.spark.paths import row_paths

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("few_rows")]

SIZES = (20, 30, 25, 4000, 15, 35)
"""Rows of each epoch. Above LIMIT, Spark's jobs take them in; the driver finds out when it has fetched the first."""
LIMIT = 100
SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.string(), "v": pa.float64()})

ASKS: dict[str, Callable[[Any, Any], Any]] = {
    "tumbling": lambda s, _: s.window("ts", range=10).group_by("k").agg(n=ms.count(), a=ms.avg("v")),
    "sliding": lambda s, _: s.where("v > 2").window("ts", range=30, slide=10).group_by("k").agg(n=ms.sum("v")),
    "all rows": lambda s, _: s.window("ts", range=30, slide=10).agg(m=ms.median("v")),
    "sessions": lambda s, _: s.window("ts", gap=3).group_by("k").agg(n=ms.count()),
    "rows themselves": lambda s, _: s.where("v > 5").select("ts", "k"),
    "first rows": lambda s, _: s.distinct("ts", "k"),
    "join": lambda s, t: s.join(t, on="k", within=1, where="left_v < right_v"),
}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Two streams, one file per epoch, with rows that are late and rows without a time."""
    rnd, out = random.Random(5), (tmp_path / "s", tmp_path / "t")
    for folder in out:
        folder.mkdir()
        time = 0
        for i, rows in enumerate(SIZES):
            made = []
            for _ in range(rows):
                time += rnd.random() < min(1.0, 40 / rows)
                ts = None if rnd.random() < 0.01 else time - rnd.randint(0, 4) - (50 if rnd.random() < 0.01 else 0)
                made.append({"ts": ts, "k": rnd.choice(["a", "b", None]), "v": float(rnd.randint(0, 9))})
            path = folder / f"{i}.parquet"
            pq.write_table(pa.Table.from_pylist(made, schema=SCHEMA), path)
            os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    return out


def ask(engine: ms.Engine, name: str, sources: Any) -> Any:
    first, second = (
        engine.stream(stream, source, progress=ms.bounded_disorder("ts", 5))
        for stream, source in zip("st", sources, strict=True)
    )
    return ASKS[name](first, second).named("q")


def files(spark: Any, folder: Path) -> Any:
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def bag(table: pa.Table) -> list[str]:
    return sorted(repr(row) for row in table.to_pylist())


@pytest.mark.parametrize("name", ASKS)
def test_epochs_of_few_and_of_many_rows_answer_as_on_the_local_host(
    spark: Any, folders: tuple[Path, Path], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_paths, "FEW_ROWS", LIMIT)
    taken: list[bool] = []
    real = row_paths.Few.__call__

    def noted(self: row_paths.Few, *args: Any) -> Any:
        reports = real(self, *args)
        taken.append(reports is not None)
        return reports

    monkeypatch.setattr(row_paths.Few, "__call__", noted)
    here = ms.Engine(host="local")
    wanted = ask(here, name, [ms.files(str(folder), format="parquet") for folder in folders])
    local = here.start(ms.available_now(), end_of_stream=True)
    local.await_termination()
    engine = ms.Engine(spark, partitions=2)
    found = ask(engine, name, [files(spark, folder) for folder in folders])

    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    assert bag(wanted.table()) == bag(found.table())
    for one, other in ((wanted.late, found.late), (wanted.rejected, found.rejected)):
        assert bag(one.table().drop_columns(["epoch"])) == bag(other.table().drop_columns(["epoch"]))
    assert local.progress["queries"]["q"]["books"] == run.progress["queries"]["q"]["books"]
    assert {True, False} == set(taken)


def test_a_restart_takes_over_from_whoever_took_the_rows_in(
    spark: Any, folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = ms.Engine(host="local")
    wanted = ask(here, "sliding", [ms.files(str(folder), format="parquet") for folder in folders])
    here.start(ms.available_now(), end_of_stream=True).await_termination()
    coming = tuple(tmp_path / f"{folder.name}-so-far" for folder in folders)
    for turn, limit in enumerate((LIMIT, -1, 10_000, -1, 10_000, LIMIT)):
        for folder, place in zip(folders, coming, strict=True):
            place.mkdir(exist_ok=True)
            shutil.copy2(folder / f"{turn}.parquet", place)
        monkeypatch.setattr(row_paths, "FEW_ROWS", limit)
        engine = ms.Engine(spark, partitions=2 + turn % 2, checkpoint=tmp_path / "ck")
        ask(engine, "sliding", [files(spark, place) for place in coming]).to_parquet(tmp_path / "out")
        engine.start(ms.available_now(), end_of_stream=turn == len(SIZES) - 1).await_termination()

    assert bag(wanted.table()) == bag(pq.read_table(tmp_path / "out", schema=wanted.table().schema))
