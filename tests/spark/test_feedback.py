"""Feedback on Spark: only what the reader ignores is missing, on every path that rows can take."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from fuzz.feedback import play_on_spark
from support.disk import rows_of
from support.feedback import SCHEMA, check_def_1

pytestmark = pytest.mark.spark

ASKS = {
    "counts": lambda s: s.window("ts", range=10).group_by("k").agg(n=ms.count(), top=ms.max("v")),
    "medians": lambda s: s.window("ts", range=10, slide=5).group_by("k").agg(m=ms.median("v")),
    "pairs": lambda s: s.join(s.select("ts", "k", x="w"), on=["k", "ts"], within=0),
    "rows": lambda s: s.where("w > 0").select("ts", key="k", speed="v"),
}


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_kills_while_feedback_changes_leave_an_output_that_satisfies_def_1(spark: Any, seed: int) -> None:
    assert spark is not None
    play_on_spark(seed)


@pytest.mark.parametrize("question", ASKS)
@pytest.mark.parametrize("said", ["k = 'a'", "ts"])
def test_only_what_is_ignored_is_missing(spark: Any, tmp_path: Path, question: str, said: str) -> None:
    rnd = random.Random(3)
    folder = tmp_path / "rows"
    folder.mkdir()
    made = [
        {"ts": i // 10, "k": rnd.choice(["a", "b", None]), "v": rnd.randint(0, 9), "w": rnd.randint(0, 3)}
        for i in range(900)
    ]
    for i in range(3):
        pq.write_table(pa.Table.from_pylist(made[300 * i : 300 * (i + 1)], schema=SCHEMA), folder / f"{i}.parquet")
    found: dict[bool, list[Any]] = {}
    patterns: list[Any] = []
    for heeding in (False, True):
        engine = ms.Engine(spark, checkpoint=tmp_path / f"ck{heeding}", partitions=2)
        frame = spark.readStream.schema(spark.read.parquet(str(folder)).schema).option("maxFilesPerTrigger", 1)
        stream = engine.stream("s", frame.parquet(str(folder)), progress=ms.bounded_disorder("ts", 3))
        query = ASKS[question](stream).named("q").to_parquet(tmp_path / f"out{heeding}")
        names = query.schema.names
        text = (
            f"{'window_id' if 'window_id' in names else 'ts'} < 4"
            if said == "ts"
            else said.replace("k", next(n for n in ("key", "k", "left_k") if n in names), 1)
        )
        if heeding:
            patterns += [one.pattern for one in query.feedback(ms.assumed(text, ttl=1000)).bound]
        run = engine.start(ms.available_now(), end_of_stream=True)
        run.await_termination()
        assert 0 == run.progress["queries"]["q"]["books"]["unaccounted"]
        found[heeding] = [tuple(sorted(row.items())) for row in rows_of(tmp_path / f"out{heeding}")]

    check_def_1(found[False], found[True], patterns)
    assert len(found[True]) == sum(1 for row in found[False] if not any(one.matches(dict(row)) for one in patterns))
