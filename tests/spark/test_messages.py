"""Messages with Kafka's columns: taken apart by a query, in SQL or from a frame, and none is lost or read twice.

Kafka's connector is no Python package, so that a source with the same columns and offsets stands in for it.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.streaming.readwriter import DataStreamReader

import millstream as ms
from support import log_source
from support.disk import rows_of
from support.log_source import Log

pytestmark = pytest.mark.spark
cloudpickle.register_pickle_by_value(log_source)  # Spark's workers do not have the tests on their path
FIELDS = "ts bigint, k string, v bigint"


def messages(seed: int, many: int = 60) -> list[dict[str, Any]]:
    """Messages whose times are at most five behind the greatest before them."""
    rnd = random.Random(seed)
    rows = [{"ts": i, "k": rnd.choice("abc"), "v": rnd.randint(0, 9)} for i in range(many)]
    return sorted(rows, key=lambda row: int(row["ts"]) + rnd.randint(0, 4))


def write(folder: Path, parts: list[list[dict[str, Any]]]) -> None:
    folder.mkdir(exist_ok=True)
    for i, rows in enumerate(parts):
        (folder / str(i)).write_text("".join(json.dumps(row) + "\n" for row in rows))


def expected(rows: list[dict[str, Any]]) -> Counter[tuple[int, str, int, int]]:
    cells: dict[tuple[int, str], list[int]] = {}
    for row in rows:
        cells.setdefault((row["ts"] // 10 * 10, row["k"]), []).append(row["v"])
    return Counter((start, k, len(values), sum(values)) for (start, k), values in cells.items())


def found(folder: Path) -> Counter[tuple[int, str, int, int]]:
    return Counter((row["window_start"], row["k"], row["n"], row["total"]) for row in rows_of(folder))


def test_messages_are_taken_apart_and_a_restart_goes_on_where_it_was(spark: Any, tmp_path: Path) -> None:
    spark.dataSource.register(Log)
    parts = [messages(1), messages(2)]
    write(tmp_path / "topic", [rows[:40] for rows in parts])

    def live(*, end: bool) -> dict[str, Any]:
        frame = spark.readStream.format("messages").option("subscribe", str(tmp_path / "topic")).load()
        parsed = frame.selectExpr("partition", f"from_json(cast(value AS string), '{FIELDS}') AS m")
        engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
        stream = engine.stream("s", parsed.select("partition", "m.*"), progress=ms.bounded_disorder("ts", 40))
        windows = stream.window("ts", range=10).group_by("k").agg(n=ms.count(), total=ms.sum("v"))
        windows.named("q").to_parquet(tmp_path / "out")
        run = engine.start(ms.available_now(), end_of_stream=end)
        run.await_termination()
        return run.progress["queries"]["q"]["books"]

    live(end=False)
    write(tmp_path / "topic", parts)
    books = live(end=True)

    assert expected([row for rows in parts for row in rows]) == found(tmp_path / "out")
    assert (120, 0, 0) == (books["rows_in"], books["late"], books["rejected"])


def test_a_statement_reads_a_topic(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.dataSource.register(Log)
    real = DataStreamReader.format
    asked: list[str] = []
    monkeypatch.setattr(DataStreamReader, "format", lambda self, name: asked.append(name) or real(self, "messages"))
    write(tmp_path / "topic", [messages(3)])
    engine = ms.Engine(spark, partitions=2)
    engine.sql(f"CREATE STREAM raw FROM kafka '{tmp_path / 'topic'}' PROGRESS ON timestamp WITHIN 1 second")
    query = engine.sql(
        "SELECT topic, count(*) AS n, sum(offset) AS total FROM raw [RANGE 1 minute, WATTR timestamp] GROUP BY topic",
        name="q",
    )
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert ["kafka"] == asked
    assert [("topic", 60, 59 * 30)] == [(r["topic"], r["n"], r["total"]) for r in query.table().to_pylist()]
