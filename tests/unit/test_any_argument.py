"""Whatever is given in place of what was asked for: the answer is an error of ours, and says what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import millstream as ms

ROWS = [{"ts": 1, "k": "a", "v": 1.5}, {"ts": 2, "k": None, "v": None}, {"ts": -7, "k": "b", "v": 3.0}]
Given = dict[str, Any]


def stream(source: Any = ROWS, **options: Any) -> ms.Stream:
    return ms.Engine(host="local").stream("s", source, **options)


def answers(query: ms.Query) -> list[dict[str, Any]]:
    query.named("q")
    query.engine.start(end_of_stream=True).await_termination(30)
    return query.table().to_pylist()


def boom(*_: Any) -> Any:
    raise KeyError("boom")


@pytest.mark.parametrize(
    ("given", "fact"),
    [
        ({"range": 2**63}, "range 9223372036854775808 is more than"),
        ({"range": 5, "start": 2**70}, "start 1180591620717411303424 is beyond"),
        ({"range": 2**60, "slide": 1}, "put every row in"),
        ({"gap": 2**63}, "gap 9223372036854775808 is more than"),
        ({"range": "all", "slide": 2**63}, "slide 9223372036854775808 is more than"),
        ({"by": "rows", "range": 2**63}, "range 9223372036854775808 is too long"),
        ({"extent": 5, "wids": 6}, "extent is 5, which cannot be called"),
        ({"extent": boom, "wids": lambda t: [t]}, r"extent\(-7\) of a user-defined window failed: KeyError"),
        ({"extent": lambda w: (w, w + 1), "wids": boom}, r"wids\(-7\) of a user-defined window failed: KeyError"),
        ({"extent": lambda w: w, "wids": lambda t: [t]}, "extent.*failed: TypeError"),
        ({"extent": lambda w: (w, w + 1), "wids": lambda t: [f"a{t}"]}, "wids.*failed: ValueError"),
        ({"range": 5, "partition_by": 5}, "there is no column 5"),
    ],
)
def test_a_window_that_cannot_be(given: Given, fact: str) -> None:
    with pytest.raises(ms.MillstreamError, match=fact) as raised:
        answers(stream().window(None if "by" in given else "ts", **given).agg(n=ms.count()))
    assert not isinstance(raised.value, ms.RunError)


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: ms.ordered(5), "unknown column 5"),  # pyright: ignore[reportArgumentType]  the point
        (lambda: ms.ordered(None), "unknown column None"),  # pyright: ignore[reportArgumentType]  the point
        (lambda: ms.embedded(5), "unknown column 5"),  # pyright: ignore[reportArgumentType]  the point
        (lambda: ms.embedded("v", "ts"), "'v' is double, which cannot mark"),
        (lambda: ms.bounded_disorder("ts", rows="x"), "'x' is not a number of rows"),  # pyright: ignore[reportArgumentType]  the point
        (lambda: ms.bounded_disorder("ts", rows=1.5), "1.5 is not a number of rows"),  # pyright: ignore[reportArgumentType]  the point
        (lambda: ms.bounded_disorder("ts", 2**70), "is more than"),
        (lambda: ms.per_group(5, ms.ordered("ts")), "makes no sense"),  # pyright: ignore[reportArgumentType]  the point
        (lambda: ms.per_group("k", 5), "makes no sense"),  # pyright: ignore[reportArgumentType]  the point
        (lambda: ms.timer("ts", 1, lull=-1, clock=lambda: 3), "is negative"),
        (lambda: ms.timer("ts", 1, clock=5), "clock 5 cannot be called"),  # pyright: ignore[reportArgumentType]  the point
        (lambda: ms.timer("ts", 1, clock=boom), "the clock of the timer on 'ts' failed: KeyError"),
    ],
)
def test_a_progress_that_cannot_be(make: Callable[[], Any], fact: str) -> None:
    with pytest.raises(ms.MillstreamError, match=fact) as raised:
        answers(stream(progress=make()).where("true"))
    assert not isinstance(raised.value, ms.RunError)


def test_keys_named_twice_are_one() -> None:
    counted = stream(progress=ms.per_group(["k", "k"], ms.ordered("ts"))).window("ts", range=100).agg(n=ms.count())
    assert sum(row["n"] for row in answers(counted)) == 2
    assert ["k is null"] == counted.rejected.table()["reason"].to_pylist()


@pytest.mark.parametrize("name", [None, "", 5])
def test_names_are_text(name: Any) -> None:
    with pytest.raises(ms.PlanError, match="is not the name of a stream"):
        ms.Engine(host="local").stream(name, ROWS)
    if name is not None:
        with pytest.raises(ms.PlanError, match="is not the name of a query"):
            stream().named(name)


@pytest.mark.parametrize("trigger", ["now", ms.available_now, 5])
def test_a_trigger_is_a_trigger(trigger: Any) -> None:
    query = stream().named("q")
    with pytest.raises(ms.PlanError, match="is not a trigger"):
        query.engine.start(trigger)


@pytest.mark.parametrize("interval", [5, None, "x"])
def test_an_interval_is_a_duration(interval: Any) -> None:
    with pytest.raises(ms.WindowError, match="is not a duration"):
        ms.every(interval)


@pytest.mark.parametrize(
    ("add", "fact"),
    [
        (lambda q: q.to(5), "5 is not a sink"),
        (lambda q: q.to_parquet(5), "5 is not a path"),
        (lambda q: q.for_each(5), "5 cannot be called"),
        (lambda q: q.union(5), "5 is not a stream"),
        (lambda q: q.join_as_of(5), "5 is not a stream"),
        (lambda q: q.join_as_of(q, on=5, time="ts"), "on=5 names no columns"),
        (lambda q: q.join_as_of(q, time="ts", within=2**63), "within 9223372036854775808 is more than"),
        (lambda q: q.join_as_of(q, time="ts", how=None), "an as-of join is inner or left, and not None"),
        (lambda q: q.join_as_of(q, time="ts", strict="yes"), "strict='yes' is neither true nor false"),
        (lambda q: q.difference(5), "5 is not a stream"),
        (lambda q: q.intersect(q, time=5), "there is no column 5"),
        (lambda q: q.enrich(5), "int is not a source"),
        (lambda q: q.enrich("nowhere.csv"), "nowhere.csv"),
        (lambda q: q.enrich(boom), "the callable that a table is read from failed: KeyError"),
        (lambda q: q.enrich(lambda: None), "NoneType is not a source"),
        (lambda q: q.enrich(iter(ROWS)), "can be read only once"),
        (lambda q: q.enrich(ROWS, on="k", how=5), "enrich is inner or left, and not 5"),
        (lambda q: q.engine.table(5, ROWS), "5 is not the name of a table"),
        (lambda q: q.engine.refresh(5), "there is no table 5"),
        (lambda q: q.window("ts", range=5).agg(n=ms.count(), hysteresis="x"), "hysteresis 'x' is not in"),
        (lambda q: q.window("ts", range=5).agg(n=ms.udaf(boom, "v", returns=5)), '"5" is no Arrow type'),
    ],
)
def test_an_argument_of_another_kind(add: Callable[[ms.Query], Any], fact: str) -> None:
    with pytest.raises(ms.MillstreamError, match=fact):
        add(stream().where("true"))


def test_a_table_of_spark_needs_spark() -> None:
    query = stream().where("true")
    query.late.to_table("late")
    query.named("q")
    with pytest.raises(ms.PlanError, match="this engine runs in this process"):
        query.engine.start()


def test_text_does_not_progress() -> None:
    with pytest.raises(ms.PatternError, match="'k' is string, which cannot progress up to 'm'"):
        stream(progress=ms.supplied()).punctuate("k", before="m")


@pytest.mark.parametrize("text", ["ts in [a, 5)", "k in ([1], 2)"])
def test_a_mark_that_is_no_pattern_is_rejected_by_itself(text: str) -> None:
    rows = [{"ts": 1, "mark": None}, {"ts": 2, "mark": text}]
    query = stream(rows, progress=ms.embedded("mark")).where("true")
    assert answers(query) == [{"ts": 1}]
    assert query.rejected.table()["ts"].to_pylist() == [2]


@pytest.mark.parametrize(
    ("source", "options", "fact"),
    [
        (pa.table([[1], [2]], names=["ts", "ts"]), {}, "there are 2 columns 'ts'"),
        (ROWS, {"epoch_rows": 1.5}, "epoch_rows=1.5 is not positive"),
        (ROWS, {"epoch_rows": "x"}, "epoch_rows='x' is not positive"),
        (ROWS, {"schema": pa.schema([("k", pa.dense_union([pa.field("a", pa.int8())]))])}, "no operator reads"),
    ],
)
def test_a_source_that_cannot_be(source: Any, options: Given, fact: str) -> None:
    with pytest.raises(ms.MillstreamError, match=fact):
        stream(source, **options)


def test_a_csv_header_that_is_no_text_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00ts,v\n1,2")
    with pytest.raises(ms.SourceError, match=r"a\.csv"):
        stream(tmp_path / "a.csv")


def test_half_a_character_is_rejected_by_itself(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"ts": 1, "v": "\\ud800"}\n{"ts": 2, "v": "b"}\n', encoding="utf-8")
    query = stream(tmp_path / "a.json").where("true")
    assert answers(query) == [{"ts": 2, "v": "b"}]
    assert query.rejected.table()["raw"].to_pylist() == ['{"ts": 1, "v": "\\ud800"}']


def test_text_as_polars_hands_it_over_is_text() -> None:
    views = pa.table({"ts": [1, 2], "k": pa.array(["a", None], pa.string_view())})
    assert answers(stream(views).where("ts > 1 OR k = 'a'")) == [{"ts": 1, "k": "a"}, {"ts": 2, "k": None}]


@pytest.mark.parametrize("kind", [pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.uuid()])
def test_what_cannot_be_told_apart_makes_no_groups(kind: pa.DataType) -> None:
    source = pa.table({"ts": [1], "x": pa.nulls(1, kind)})
    for ask in (lambda s: s.window("ts", range=1).group_by("x"), lambda s: s.distinct()):
        with pytest.raises(ms.SchemaError, match=r"'x' is .*, by which rows cannot be grouped"):
            ask(stream(source))


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array(np.array([1, 2, 1], np.float16)),
        pa.array([2**64 - 1, 2**64 - 2, 2**64 - 1], pa.uint64()),
    ],
    ids=lambda values: str(values.type),
)
def test_values_of_any_flat_type_are_grouped_and_counted(values: pa.Array) -> None:
    source = pa.table({"ts": [1, 1, 2], "x": values})
    grouped = stream([source, source]).window("ts", range=10).group_by("x").agg(n=ms.count())
    assert sorted(row["n"] for row in answers(grouped)) == [2, 4]
    counted = stream(source).window("ts", range=10).agg(d=ms.count_distinct("x"), m=ms.mode("x"))
    assert [(row["d"], row["m"]) for row in answers(counted)] == [(2, values[0].as_py())]


def test_columns_that_differ_in_capitals_only_are_not_taken_for_each_other() -> None:
    both = pa.table({"K": ["x", "q"], "k": ["y", "z"]})
    chosen = answers(stream(both).select("upper(K) AS a", "upper(k) AS b"))
    assert chosen == [{"a": "X", "b": "Y"}, {"a": "Q", "b": "Z"}]
    assert answers(stream(both).where("K = 'x' AND k = 'y'")) == [{"K": "x", "k": "y"}]


END = 2**63 - 1


@pytest.mark.parametrize("strategy", ["auto", "wid", "paned", "differential", "buffered", "adaptive"])
@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.timestamp("ns"), pa.timestamp("us", "UTC")], ids=str)
def test_a_value_at_the_end_of_time_is_rejected_by_itself(strategy: str, kind: pa.DataType) -> None:
    ticks = [5, 2**64 - 1 if pa.types.is_uint64(kind) else END, 7]
    source = pa.table({"ts": pa.array(ticks, kind)})
    size: Any = "10 us" if pa.types.is_timestamp(kind) else 10
    query = stream(source).window("ts", range=size).agg(n=ms.count(), strategy=strategy).named("q")
    query.engine.start(end_of_stream=True).await_termination(30)
    assert query.table()["n"].to_pylist() == [2]
    assert query.rejected.table()["reason"].to_pylist() == ["ts is too far out for its windows"]


@pytest.mark.parametrize("window", [{"gap": 5}, {"range": "all", "slide": 5}, {"range": 5, "per": "rank"}])
@pytest.mark.parametrize("value", [END, -END - 1])
def test_other_windows_reject_it_too(window: Given, value: int) -> None:
    query = stream([{"ts": 3}, {"ts": value}]).window("ts", **window).agg(n=ms.count())
    assert [row["n"] for row in answers(query)] == [1]
    assert query.rejected.table()["ts"].to_pylist() == [value]


def test_an_end_of_time_is_no_bound() -> None:
    query = stream([[{"ts": 3}, {"ts": END}], [{"ts": 4}]], progress=ms.ordered("ts")).where("true")
    assert answers(query) == [{"ts": 3}, {"ts": 4}]
    assert query.rejected.table()["reason"].to_pylist() == ["ts is too far out to be a bound"]


@pytest.mark.parametrize("sink", ["to_json", "to_csv", "to_parquet", "to_console"])
def test_days_before_the_first_year_can_be_written(sink: str, tmp_path: Path) -> None:
    early = pa.table({"day": pa.array([-800_000, None], pa.int32()).cast(pa.date32())})
    query = stream(early).where("true")
    query.to_console() if sink == "to_console" else getattr(query, sink)(tmp_path)
    assert query.engine.start().await_termination(30)


def test_files_are_named_by_text(tmp_path: Path) -> None:
    for path, pattern in ((5, "*"), (tmp_path, 5)):
        with pytest.raises(ms.SourceError, match="names no files"):
            ms.files(path, pattern=pattern)  # pyright: ignore[reportArgumentType]  the point


def test_no_path_is_not_the_current_folder() -> None:
    with pytest.raises(ms.SourceError, match='"" names no file and no folder') as raised:
        stream("")
    assert raised.value.hint == 'For the current folder, write ".".'


@pytest.mark.parametrize("timeout", ["x", True, [1]])
def test_a_timeout_is_a_number_of_seconds(timeout: Any) -> None:
    query = stream().where("true").named("a")
    run = query.engine.start()
    for wait in (run.await_termination, run.process_all_available):
        with pytest.raises(ms.RunError, match="is not a number of seconds"):
            wait(timeout)
    assert run.await_termination(30)


def test_the_punctuations_of_an_epoch_are_a_list() -> None:
    with pytest.raises(ms.SourceError, match="the punctuations of epoch 0 are str, not a list"):
        stream([ms.Epoch([{"ts": 1}], "ts < 5")])  # pyright: ignore[reportArgumentType]  the point


def test_a_query_that_has_run_keeps_its_name() -> None:
    query = stream().where("true").named("a")
    query.engine.start().await_termination(30)
    with pytest.raises(ms.PlanError, match="query 'a' has run under that name"):
        query.named("b")


def test_a_callback_may_stop_the_run() -> None:
    query = stream(lambda: ROWS).where("true")
    runs: list[ms.Run] = []
    query.for_each(lambda _, epoch: runs[0].stop() if epoch and runs else None)
    runs.append(query.engine.start(ms.every("1 ms")))
    assert runs[0].await_termination(30)
