"""Sinks on Spark: what readers see while a run goes on, and in which order."""

from __future__ import annotations

import io
import os
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import millstream as ms
from millstream import demo
from millstream.runtime.durable import deliver

pytestmark = pytest.mark.spark
EPOCHS, ROWS = 3, 40


@pytest.fixture
def frame(spark: Any, tmp_path: Path) -> Any:
    """Numbers out of order by up to nine, one file an epoch; in the last one a row is late and one has no number."""
    rnd = random.Random(5)
    numbers = sorted(range(EPOCHS * ROWS), key=lambda n: n + rnd.randint(0, 9))
    (tmp_path / "in").mkdir()
    for i in range(EPOCHS):
        mine = [*numbers[i * ROWS : (i + 1) * ROWS], *([0, None] if i == EPOCHS - 1 else [])]
        path = tmp_path / "in" / f"{i}.parquet"
        pq.write_table(pa.table({"n": pa.array(mine, pa.int64())}), path)
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    return spark.readStream.schema("n bigint").option("maxFilesPerTrigger", 1).parquet(str(tmp_path / "in"))


def run_all(engine: ms.Engine) -> None:
    engine.start(ms.available_now(), end_of_stream=True).await_termination()


def test_readers_of_a_folder_see_committed_epochs_only_while_a_run_goes_on(
    spark: Any, frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    engine = ms.Engine(spark, partitions=2)
    engine.stream("s", frame, progress=ms.bounded_disorder("n", 10)).named("q").to_parquet(out)

    def visible() -> int:
        by_pyarrow = ds.dataset(out, format="parquet").count_rows() if out.exists() else 0
        if by_pyarrow:
            assert by_pyarrow == spark.read.parquet(str(out)).count()
        return by_pyarrow

    published: list[tuple[int, int, int]] = []
    real = deliver.publish

    def publish(outputs: Any, checkpoint: str, *, again: bool) -> None:
        files = [Path(one["folder"]) / one["hidden"] for one in outputs if one["sink"] == "folder"]
        staged = sum(pq.read_metadata(file).num_rows for file in files)
        before = visible()
        real(outputs, checkpoint, again=again)
        published.append((before, staged, visible()))

    monkeypatch.setattr(deliver, "publish", publish)
    run_all(engine)

    assert EPOCHS == sum(bool(staged) for _, staged, _ in published)
    assert all(before + staged == after for before, staged, after in published)
    assert [0, *(after for _, _, after in published)][:-1] == [before for before, _, _ in published]
    assert EPOCHS * ROWS == published[-1][2]


def test_a_sorted_stream_leaves_in_order_from_epoch_to_epoch(spark: Any, frame: Any) -> None:
    engine = ms.Engine(spark, partitions=2)
    left: list[int] = []
    stream = engine.stream("s", frame, progress=ms.bounded_disorder("n", 10))
    stream.sort("n").named("q").for_each(lambda rows, _: left.extend(row["n"] for row in rows.collect()))
    run_all(engine)

    assert list(range(EPOCHS * ROWS)) == left


def test_late_and_rejected_rows_have_sinks_like_any_others(spark: Any, frame: Any, tmp_path: Path) -> None:
    engine = ms.Engine(spark, partitions=2)
    query = engine.stream("s", frame, progress=ms.bounded_disorder("n", 10)).named("q").to_nothing()
    query.late.to_csv(tmp_path / "late")
    numbers: list[tuple[Any, Any]] = []
    query.rejected.for_each(lambda rows, _: numbers.extend((row["n"], row["reason"]) for row in rows.collect()))
    spark.sql("DROP TABLE IF EXISTS late_of_q")
    query.late.to_table("late_of_q")
    shown = io.StringIO()
    query.late.to_console(console=Console(file=shown, width=100))
    run_all(engine)

    assert [("0",)] == [tuple(row) for row in spark.read.csv(str(tmp_path / "late"), header=True).select("n").collect()]
    assert [0] == [row["n"] for row in spark.table("late_of_q").collect()]
    assert [(None, "n is null")] == numbers
    assert "punctuation" in shown.getvalue()
    spark.sql("DROP TABLE late_of_q")


def test_the_demo_runs_on_spark_and_finds_the_batch_answer(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "_EPOCHS", {"spark": 10})
    out = io.StringIO()

    verdict = demo.run_demo(Console(file=out, width=120), rows=12_000, host="spark", pace=0)

    assert (True, 3, 1) == (verdict.identical, verdict.late, verdict.rejected), out.getvalue()
    assert f"Spark {spark.version}" in out.getvalue()
