"""Data frames as streams: files in triggers, batch frames, reduction by Spark, late and rejected rows, sinks."""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.spark.paths import narrow, reduce, row_paths
from millstream.spark.paths.reduce import native_reduce

pytestmark = pytest.mark.spark

SCHEMA = pa.schema([("ts", pa.timestamp("us", tz="UTC")), ("k", pa.string()), ("g", pa.int64()), ("v", pa.int64())])
START = datetime(2024, 1, 1, tzinfo=UTC)
EPOCHS, ROWS = 4, 80


def make_rows() -> list[dict[str, Any]]:
    """Disordered rows with a null time now and then, and one that is late."""
    rnd = random.Random(3)
    seconds = sorted(rnd.randint(0, 240) for _ in range(EPOCHS * ROWS))
    seconds.sort(key=lambda second: second + rnd.randint(0, 9))
    rows = [
        {
            "ts": START + timedelta(seconds=second) if rnd.random() > 0.02 else None,
            "k": rnd.choice(["a", "b", None]),
            "g": rnd.randint(0, 5),
            "v": rnd.choice([None, 1, 2, 3, 2**40, -7]),
        }
        for second in seconds
    ]
    rows[3 * ROWS + 5]["ts"] = START
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One Parquet file an epoch."""
    rows, out = make_rows(), tmp_path / "in"
    out.mkdir()
    for i in range(EPOCHS):
        path = out / f"{i}.parquet"
        pq.write_table(pa.Table.from_pylist(rows[i * ROWS : (i + 1) * ROWS], schema=SCHEMA), path)
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))  # Spark takes files in the order of their times
    return out


def files(spark: Any, folder: Path) -> Any:
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def ask(engine: ms.Engine, source: Any, **aggregates: Any) -> Any:
    stream = engine.stream("s", source, progress=ms.bounded_disorder("ts", "10 seconds"))
    windowed = stream.where("v > 1 OR v IS NULL").window("ts", range="30 seconds", slide="10 seconds")
    calls = {"n": ms.count(), "total": ms.sum("v"), "high": ms.max("v"), "low": ms.min("v"), "mean": ms.avg("v")}
    return windowed.group_by("k", "g").agg(**calls, **aggregates).named("q")


def bag(table: pa.Table) -> list[str]:
    return sorted(repr(row) for row in table.to_pylist())


def without_epoch(table: pa.Table) -> list[str]:
    return bag(table.drop_columns(["epoch"]))


def local_answer(folder: Path, **aggregates: Any) -> tuple[Any, Any]:
    engine = ms.Engine(host="local")
    query = ask(engine, ms.files(str(folder), format="parquet"), **aggregates)
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    return query, run


@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("aggregates", [{}, {"middle": ms.median("v")}], ids=["reduced by Spark", "by kernels"])
def test_a_file_stream_answers_as_on_the_local_host(
    spark: Any, folder: Path, partitions: int, aggregates: dict[str, Any]
) -> None:
    here, here_run = local_answer(folder, **aggregates)
    engine = ms.Engine(spark, partitions=partitions)
    there = ask(engine, files(spark, folder), **aggregates)

    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    assert (native_reduce(engine.host.program) is not None) == (not aggregates)
    assert bag(here.table()) == bag(there.table())
    assert without_epoch(here.late.table()) == without_epoch(there.late.table())
    assert without_epoch(here.rejected.table()) == without_epoch(there.rejected.table())
    assert 1 == there.late.table().num_rows
    assert here_run.progress["queries"]["q"]["books"] == run.progress["queries"]["q"]["books"]


REDUCED = {
    "tumbling": {"range": "20 seconds"},
    "tumbling from a start": {"range": "20 seconds", "start": "2024-01-01 00:00:07"},
    "with gaps": {"range": "7 seconds", "slide": "20 seconds"},
    "uneven": {"range": "25 seconds", "slide": "10 seconds"},
    "several": {"range": ["10 seconds", "40 seconds"], "slide": "10 seconds"},
}


@pytest.mark.parametrize("groups", [("k", "g"), ()], ids=["grouped", "whole"])
@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("window", REDUCED)
def test_every_window_that_spark_reduces_answers_as_on_the_local_host(
    spark: Any, folder: Path, window: str, partitions: int, groups: tuple[str, ...]
) -> None:
    def answer(engine: ms.Engine, source: Any) -> tuple[Any, Any]:
        stream = engine.stream("s", source, progress=ms.bounded_disorder("ts", "10 seconds"))
        grouped = stream.window("ts", **REDUCED[window]).group_by(*groups)
        query = grouped.agg(n=ms.count(), total=ms.sum("v"), low=ms.min("v")).named("q")
        run = engine.start(ms.available_now(), end_of_stream=True)
        run.await_termination()
        return query, run.progress["queries"]["q"]["books"]

    here, books = answer(ms.Engine(host="local"), ms.files(str(folder), format="parquet"))
    engine = ms.Engine(spark, partitions=partitions)
    there, there_books = answer(engine, files(spark, folder))

    assert bag(here.table()) == bag(there.table())
    assert without_epoch(here.late.table()) == without_epoch(there.late.table())
    assert books == there_books


def test_what_may_fail_is_computed_only_for_rows_that_get_so_far(spark: Any, folder: Path) -> None:
    # The product of a row that the condition removes, or that is late, does not fit 64 bits.
    def answer(engine: ms.Engine, source: Any) -> Any:
        stream = engine.stream("s", source, progress=ms.bounded_disorder("ts", "10 seconds")).where("v < 1000")
        query = stream.window("ts", range="20 seconds").group_by("k").agg(t=ms.sum("v * 1000000000000000")).named("q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return query

    here = answer(ms.Engine(host="local"), ms.files(str(folder), format="parquet"))
    engine = ms.Engine(spark, partitions=2)
    there = answer(engine, files(spark, folder))

    assert native_reduce(engine.host.program) is not None  # in a form that does not fail
    assert bag(here.table()) == bag(there.table())


def test_times_are_read_in_the_zone_of_the_session(spark: Any, folder: Path) -> None:
    def answer(engine: ms.Engine, source: Any) -> Any:
        stream = engine.stream("s", source, progress=ms.bounded_disorder("ts", "10 seconds"))
        after = stream.where("ts >= '2024-01-01 05:32:00'")  # 00:02 in UTC
        query = after.window("ts", range="20 seconds").group_by("k").agg(n=ms.count()).named("q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return query

    here = answer(ms.Engine(host="local", time_zone="Asia/Kolkata"), ms.files(str(folder), format="parquet"))
    elsewhere = spark.newSession()
    elsewhere.conf.set("spark.sql.session.timeZone", "Asia/Kolkata")

    assert bag(here.table()) == bag(answer(ms.Engine(elsewhere, partitions=2), files(elsewhere, folder)).table())
    batch = answer(ms.Engine(elsewhere, partitions=2), elsewhere.read.parquet(str(folder)))
    assert sum(here.table()["n"].to_pylist()) == sum(batch.table()["n"].to_pylist())
    assert "Asia/Kolkata" == elsewhere.conf.get("spark.sql.session.timeZone")


@pytest.mark.parametrize("way", ["one task", "two shuffles", "kernels"])
def test_whichever_way_partials_meet_the_answers_are_the_same(
    spark: Any, folder: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first epoch is shuffled twice; the others as the number of its partials makes it.
    if way == "two shuffles":
        monkeypatch.setattr(reduce, "_FEW", -1)
    if way == "kernels":
        monkeypatch.setattr(row_paths, "_MANY", 1)
    ways: list[str] = []
    monkeypatch.setattr(row_paths, "reducing", noted(ways, row_paths.reducing, lambda named: str(named["together"])))
    monkeypatch.setattr(row_paths, "entering", noted(ways, row_paths.entering, lambda _named: "entering"))
    here, here_run = local_answer(folder)
    engine = ms.Engine(spark, partitions=3)
    there = ask(engine, files(spark, folder))

    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    first, *later = ways  # rows that are late or rejected enter by themselves
    assert "False" == first
    assert {"one task": {"True"}, "two shuffles": {"False"}, "kernels": set[str]()}[way] == set(later) - {"entering"}
    assert bag(here.table()) == bag(there.table())
    assert without_epoch(here.late.table()) == without_epoch(there.late.table())
    assert here_run.progress["queries"]["q"]["books"] == run.progress["queries"]["q"]["books"]


def noted(notes: list[str], real: Any, what: Any) -> Any:
    def call(*args: Any, **named: Any) -> Any:
        notes.append(what(named))
        return real(*args, **named)

    return call


def test_values_at_the_ends_of_64_bits_are_rejected_as_on_the_local_host(spark: Any, tmp_path: Path) -> None:
    # First those without windows, then one whose windows do not fit and one that a condition removes.
    values = [[1, 5, -(2**63), 2**63 - 1, 9], [12, 2**63 - 6, 2**63 - 7, 30]]
    for i, ticks in enumerate(values):
        table = pa.table({"a": pa.array(ticks, pa.int64()), "v": [0 if t == 2**63 - 7 else 1 for t in ticks]})
        pq.write_table(table, tmp_path / f"{i}.parquet")
        os.utime(tmp_path / f"{i}.parquet", (1_700_000_000 + i, 1_700_000_000 + i))

    def answer(engine: ms.Engine, source: Any) -> tuple[Any, Any]:
        stream = engine.stream("s", source, progress=ms.bounded_disorder("a", 3)).where("v > 0")
        query = stream.window("a", range=10, slide=5).group_by("v").agg(n=ms.count()).named("q")
        run = engine.start(ms.available_now(), end_of_stream=True)
        run.await_termination()
        return query, run.progress["queries"]["q"]["books"]

    here, books = answer(ms.Engine(host="local"), ms.files(str(tmp_path), format="parquet"))
    engine = ms.Engine(spark, partitions=2)
    there, there_books = answer(engine, files(spark, tmp_path))

    assert native_reduce(engine.host.program)
    assert bag(here.table()) == bag(there.table())
    assert 3 == there.rejected.table().num_rows
    assert without_epoch(here.rejected.table()) == without_epoch(there.rejected.table())
    assert books == there_books


def test_a_batch_frame_is_one_epoch(spark: Any, folder: Path) -> None:
    engine = ms.Engine(spark, partitions=2)
    query = ask(engine, spark.read.parquet(str(folder)))

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    # In one epoch no row is ruled out by an earlier one: what was late is in.
    assert 0 == query.late.table().num_rows
    assert sum(query.table()["n"].to_pylist()) > 0


def test_two_file_streams_share_an_epoch(spark: Any, folder: Path) -> None:
    def union(engine: ms.Engine, a: Any, b: Any) -> Any:
        one = engine.stream("a", a, progress=ms.bounded_disorder("ts", "10 seconds"))
        two = engine.stream("b", b, progress=ms.bounded_disorder("ts", "10 seconds"))
        query = one.union(two).window("ts", range="1 minute").group_by("k").agg(n=ms.count()).named("q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return query

    here = union(ms.Engine(host="local"), *(ms.files(str(folder), format="parquet") for _ in range(2)))
    there = union(ms.Engine(spark, partitions=2), files(spark, folder), files(spark, folder))

    assert bag(here.table()) == bag(there.table())


def test_what_punctuation_has_not_closed_stays_open_and_is_reported(spark: Any, folder: Path) -> None:
    engine = ms.Engine(spark, partitions=2)
    ask(engine, files(spark, folder))

    run = engine.start(ms.available_now())
    run.await_termination()

    *_, store, aggregate = run.progress["queries"]["q"]["operators"]
    assert aggregate["open_windows"] > 0
    assert store["state_rows"] > 0
    assert 10_000_000 == run.progress["sources"]["s"]["lag"]
    assert set(run.recent_progress[0]["durationMs"]) == {"plan", "job", "commit", "deliver"}


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_a_folder_sink_shows_whole_epochs_to_spark_and_pyarrow(
    spark: Any, folder: Path, tmp_path: Path, kind: str
) -> None:
    here, _ = local_answer(folder)
    engine = ms.Engine(spark, partitions=2)
    query = ask(engine, files(spark, folder)).to_memory()
    getattr(query, f"to_{kind}")(tmp_path / "out")
    query.late.to_parquet(tmp_path / "late")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert bag(here.table()) == bag(query.table())
    read = spark.read.option("header", "true")
    assert here.table().num_rows == getattr(read, kind)(str(tmp_path / "out")).count()
    assert 1 == spark.read.parquet(str(tmp_path / "late")).count()
    if kind == "parquet":
        assert bag(here.table()) == bag(ds.dataset(tmp_path / "out").to_table())


def test_for_each_gets_a_data_frame_and_the_number_of_its_step(spark: Any, folder: Path) -> None:
    here, _ = local_answer(folder)
    engine = ms.Engine(spark, partitions=2)
    counted: list[tuple[int, int]] = []
    ask(engine, files(spark, folder)).for_each(lambda frame, epoch: counted.append((epoch, frame.count())))

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert here.table().num_rows == sum(rows for _, rows in counted)
    numbers = [epoch for epoch, _ in counted]
    assert sorted(set(numbers)) == numbers
    assert set(numbers) <= set(range(EPOCHS + 1))  # a step for each file, and one for the end


def test_a_spark_table_is_a_sink(spark: Any, folder: Path) -> None:
    here, _ = local_answer(folder)
    engine = ms.Engine(spark, partitions=2)
    spark.sql("DROP TABLE IF EXISTS windows_of_q")
    ask(engine, files(spark, folder)).to_table("windows_of_q")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert here.table().num_rows == spark.table("windows_of_q").count()
    spark.sql("DROP TABLE windows_of_q")


WIDE = {
    "sessions": lambda s, _: s.window("ts", gap="3 seconds").group_by("k").agg(n=ms.count()),
    "medians": lambda s, _: s.where("g > 0").window("ts", range="20 seconds").agg(m=ms.median("v")),
    "first rows": lambda s, _: s.select("ts", "k").distinct("ts", "k"),
    "joins": lambda s, t: s.join(t, on="g", within="1 second").select("left_ts", "g"),
}


@pytest.mark.parametrize("name", WIDE)
@pytest.mark.parametrize("again", [True, False], ids=["files", "rows"])
def test_kernels_get_the_columns_that_are_read_and_rows_set_apart_leave_whole(
    spark: Any, folder: Path, name: str, *, again: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[tuple[str, ...]] = set()
    real = narrow.Narrow.rows

    def noted(self: Any, *args: Any) -> Any:
        frame, tags = real(self, *args)
        seen.add(tuple(tags.names))
        return frame, tags

    monkeypatch.setattr(narrow.Narrow, "rows", noted)

    def answer(engine: ms.Engine, source: Any) -> tuple[Any, Any]:
        streams = [engine.stream(n, source(), progress=ms.bounded_disorder("ts", "10 seconds")) for n in "st"]
        query = WIDE[name](*streams).named("q")
        run = engine.start(ms.available_now(), end_of_stream=True)
        run.await_termination()
        return query, run

    here, here_run = answer(ms.Engine(host="local"), lambda: ms.files(str(folder), format="parquet"))
    some = (lambda frame: frame) if again else (lambda frame: frame.where("g >= 0"))
    there, run = answer(ms.Engine(spark, partitions=2), lambda: some(files(spark, folder)))

    assert seen
    assert all(len(names) < len(SCHEMA) for names in seen)
    assert bag(here.table()) == bag(there.table())
    assert without_epoch(here.late.table()) == without_epoch(there.late.table())
    assert without_epoch(here.rejected.table()) == without_epoch(there.rejected.table())
    assert here.rejected.table().num_rows
    assert here_run.progress["queries"]["q"]["books"] == run.progress["queries"]["q"]["books"]
