"""Expressions that may fail, reduced by Spark: answers as of kernels, which take in an epoch that has a bad row."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.core.settings import Settings
from millstream.kernels.expressions.evaluate import evaluate
from millstream.spark.paths import row_paths
from millstream.spark.paths.tried import tried
from millstream.sql.expression import expression as parsed

pytestmark = pytest.mark.spark

MOST = 2**63 - 1
ROWS = pa.table(
    {
        "i": pa.array([0, 1, -1, MOST, -MOST - 1, None, 7, 3], pa.int64()),
        "j": pa.array([0, 2, MOST, 2, -1, 4, None, 3], pa.int64()),
        "b": pa.array([0, 127, -128, 1, None, 5, 64, 2], pa.int8()),
        "d": pa.array([0.0, float("nan"), float("inf"), 1e300, -0.0, None, 2.5, 9e18], pa.float64()),
        "m": pa.array([10**37, 0, 1, None, -2, 3, 9, 9], pa.decimal128(38, 0)),
        "s": pa.array(["1", " 2 ", "x", "", None, "9999999999999999999", "1.5", "-3"]),
    }
)  # fmt: skip
TEXTS = [
    "i + j", "i - j", "i * j", "i / j", "i % j", "b + b", "b * b", "m * m", "m + m", "m / m", "cast(d AS bigint)",
    "cast(i AS int)", "cast(s AS int)", "cast(s AS double)", "cast(m AS int)", "(i + 1) * j", "i * j > 5",
    "i + j = j + i", "CASE WHEN j <> 0 THEN i / j END", "CASE WHEN i / j > 0 THEN 1 ELSE i * j END",
    "cast(s AS int) + i", "d * i",
    "CASE WHEN s = 'x' THEN 0 WHEN cast(s AS int) > 0 THEN i + 1 ELSE i - 1 END",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_what_fails_is_told_and_nothing_else(spark: Any, text: str) -> None:
    expression = parsed(text, ROWS.schema, Settings(ansi=True))
    made = tried(expression, ROWS.schema)
    assert made is not None
    computed = evaluate([expression], ROWS)
    bad = [False] * ROWS.num_rows if computed.failed is None else computed.failed.rows.tolist()
    frame = spark.createDataFrame(ROWS).coalesce(1)

    found = frame.selectExpr(f"{made.value} AS v", f"coalesce({made.failed or 'false'}, false) AS f").toArrow()

    assert bad == found["f"].to_pylist()
    values = computed.values[0].to_pylist()
    good = [str(value) for value, failed in zip(values, bad, strict=True) if not failed]
    assert good == [str(v) for v, failed in zip(found["v"].to_pylist(), bad, strict=True) if not failed]


@pytest.mark.parametrize("bad", [None, 1, 2], ids=["no bad row", "in the second epoch", "in the third"])
def test_an_epoch_with_a_bad_row_goes_through_kernels(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: int | None
) -> None:
    went: list[str] = []
    for path in (row_paths.Reduced, row_paths.Entered):
        whole = path.__call__

        def noted(self: Any, *args: Any, whole: Any = whole, name: str = path.__name__) -> Any:
            went.append(name)
            return whole(self, *args)

        monkeypatch.setattr(path, "__call__", noted)
    epochs = [
        pa.table(
            {"ts": [10 * n + 1, 10 * n + 2, 10 * n + 3], "k": ["a", "b", "a"], "v": [n, MOST if n == bad else 5, 7]}
        )
        for n in range(4)
    ]
    for n, table in enumerate(epochs):
        pq.write_table(table, tmp_path / f"{n}.parquet")
        os.utime(tmp_path / f"{n}.parquet", (n + 1, n + 1))  # Spark takes files in this order
    answers: list[Any] = []
    for host in ("local", "spark"):
        engine = ms.Engine(host="local") if host == "local" else ms.Engine(spark, partitions=2)
        folder = str(tmp_path)
        schema = spark.read.parquet(folder).schema
        frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder)
        source = pa.concat_tables(epochs) if host == "local" else frame
        stream = engine.stream("s", source, progress=ms.bounded_disorder("ts", 20))
        query = stream.window("ts", range=10).group_by("k").agg(n=ms.count(), t=ms.sum("v * 1000")).named("q")
        if host == "spark":
            assert "rows: reduced by Spark to partials" in engine.explain()
        run = engine.start(ms.available_now(), end_of_stream=True)
        run.await_termination()
        answers.append(
            (
                sorted(map(str, query.table().to_pylist())),
                sorted(map(str, query.rejected.table().drop_columns(["epoch"]).to_pylist())),
            )
        )
        assert 0 == run.progress["queries"]["q"]["books"]["unaccounted"]
    assert answers[0] == answers[1]
    assert (0 if bad is None else 1) == len(answers[1][1])
    first = ["Reduced"] * 4 if bad is None else ["Reduced"] * (bad + 1) + ["Entered"]
    assert first == [name for name in went if name][: len(first)]
    assert (bad is None) == ("Entered" not in went)
