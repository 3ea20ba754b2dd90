"""Expressions on Spark: names of any kind, rows that fail, ANSI mode and the zone of the session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms

pytestmark = pytest.mark.spark


def bag(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


def both(spark: Any, ask: Any, rows: pa.Table, tmp_path: Path, **settings: Any) -> tuple[ms.Query, ms.Query]:
    """The same question in this process, and on Spark over a stream of files."""
    pq.write_table(rows, tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path))
    stream = spark.readStream.schema(frame.schema).parquet(str(tmp_path))
    out: list[ms.Query] = []
    for engine, source in ((ms.Engine(host="local", **settings), rows), (ms.Engine(spark, partitions=2), stream)):
        query = ask(engine.stream("s", source, progress=ms.ordered(rows.schema.names[0]))).named("q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        out.append(query)
    return out[0], out[1]


@pytest.mark.parametrize("name", ["a.b", "a`b", "__apart", "__order", "a0_0", "x'y", "__high", "K ä"])
@pytest.mark.parametrize("way", ["native", "kernels"])
def test_columns_may_have_any_name(spark: Any, tmp_path: Path, name: str, way: str) -> None:
    q = ms_quoted(name)
    rows = pa.table({"ts": [1, 2, 12], name: ["x", "y", "x"], f"{name} n": [1, 2, 3]})

    def ask(stream: ms.Stream) -> ms.Query:
        kept = stream.where(f"{q} <> 'z'" if way == "native" else f"{ms_quoted(name + ' n')} + 1 > 0")
        return kept.window("ts", range=10).group_by(name).agg(n=ms.count(), t=ms.sum(ms_quoted(f"{name} n")))

    here, there = both(spark, ask, rows, tmp_path)
    assert 3 == here.table().num_rows
    assert bag(here.table()) == bag(there.table())


@pytest.mark.parametrize("condition", ["null", "i > 0 AND null", "true"])
def test_conditions_without_columns_mean_the_same(spark: Any, tmp_path: Path, condition: str) -> None:
    rows = pa.table({"ts": [1, 2, 12], "i": [1, 2, 3]})

    def ask(stream: ms.Stream) -> ms.Query:
        counts: dict[str, Any] = {
            "n": ms.count(filter=condition),
            "t": ms.sum("i", filter=condition),
            "all": ms.count(),
        }
        return stream.where(f"i < 9 OR {condition}").window("ts", range=10).agg(**counts)

    here, there = both(spark, ask, rows, tmp_path)
    assert 2 == here.table().num_rows
    assert (3 if condition == "true" else 0) == sum(here.table()["n"].to_pylist())
    assert bag(here.table()) == bag(there.table())


def ms_quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


@pytest.mark.parametrize("ansi", [True, False], ids=["ansi", "not-ansi"])
def test_rows_that_fail_are_rejected_and_the_run_goes_on(spark: Any, tmp_path: Path, *, ansi: bool) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "true" if ansi else "false")
    rows = pa.table({"ts": [1, 2, 3, 14], "i": pa.array([1, 2**31 - 1, 3, 4], pa.int32()), "d": [2, 2, 0, 1]})

    def ask(stream: ms.Stream) -> ms.Query:
        made = stream.where("i + 1 > -10000000000").select("ts", "i / d AS q")
        return made.window("ts", range=10).agg(n=ms.count(), t=ms.sum("q"))

    here, there = both(session, ask, rows, tmp_path, ansi=ansi)
    assert bag(here.table()) == bag(there.table())
    assert sorted(here.rejected.table()["reason"].to_pylist()) == sorted(there.rejected.table()["reason"].to_pylist())
    assert (2 if ansi else 0) == there.rejected.table().num_rows


def test_days_are_those_of_the_sessions_zone_natively_too(spark: Any, tmp_path: Path) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    times = pa.array([1_711_836_000_000_000 + i * 1_800_000_000 for i in range(8)], pa.timestamp("us", "UTC"))
    rows = pa.table({"ts": times, "v": pa.array(range(8), pa.int64())})

    def ask(stream: ms.Stream) -> ms.Query:
        local = stream.select("ts", "hour(ts) AS h", "v").where("date_trunc('day', ts) > '2024-03-30 12:00:00'")
        return local.window("ts", range="1 day").group_by("h").agg(n=ms.count(), t=ms.sum("v"))

    here, there = both(session, ask, rows, tmp_path, time_zone="Europe/Berlin")
    assert {0, 1, 3} <= set(here.table()["h"].to_pylist())
    assert bag(here.table()) == bag(there.table())
