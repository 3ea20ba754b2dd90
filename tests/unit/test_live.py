"""Queries that come and go: what is complete at once, what is forgotten, and what a kill cannot undo."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.runtime.run import Run
from support.in_process import engine as engine_on_disk

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
HOUR = 60
ROWS = [{"ts": ts, "k": "ab"[ts % 2], "v": ts % 4} for ts in range(4 * HOUR)]
TABLES = [pa.Table.from_pylist(ROWS[at : at + 30], schema=SCHEMA) for at in range(0, 4 * HOUR, 30)]


def made(place: Path | None) -> tuple[ms.Engine, Any]:
    engine = ms.Engine(host="local") if place is None else engine_on_disk(place / "checkpoint", 2)
    return engine, engine.stream("s", list(TABLES), schema=SCHEMA, progress=ms.ordered("ts"))


def epochs(engine: ms.Engine, number: int) -> ms.Run:
    for _ in range(number):
        run = engine.start(ms.once())
        run.await_termination()
    return run


def counts(stream: Any, size: int, slide: int | None = None, **more: Any) -> Any:
    return stream.window("ts", range=size, slide=slide or size).group_by("k").agg(n=ms.count(), **more)


@pytest.mark.parametrize("host", ["memory", "disk"])
def test_short_windows_over_panes_that_reach_back_an_hour_are_complete_at_once(host: str, tmp_path: Path) -> None:
    engine, stream = made(tmp_path if host == "disk" else None)
    counts(stream, HOUR, 5, total=ms.sum("v")).named("hour")
    epochs(engine, 4)  # rows up to 119 have come, and 119 is the bound
    late = counts(stream, 5, total=ms.sum("v")).named("late")
    longer = counts(stream, 30, 10).named("longer")
    other = counts(stream, 5, least=ms.min("v")).named("other")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert (115, 90, 120) == (late.complete_from, longer.complete_from, other.complete_from)
    assert 115 == min(row["window_start"] for row in late.table().to_pylist())
    assert 90 == min(row["window_start"] for row in longer.table().to_pylist())
    assert 120 == min(row["window_start"] for row in other.table().to_pylist())
    assert {2, 3} == {row["n"] for row in late.table().to_pylist()}
    assert {15} == {row["n"] for row in longer.table().to_pylist() if row["window_end"] <= 4 * HOUR}


@pytest.mark.parametrize("host", ["memory", "disk"])
def test_panes_that_lie_between_windows_are_not_taken_for_kept(host: str, tmp_path: Path) -> None:
    engine, stream = made(tmp_path if host == "disk" else None)
    stream.window("ts", range=5, slide=20).group_by("k").agg(n=ms.count()).named("gaps")
    stream.window("ts", range=5, slide=20, start=10).group_by("k").agg(n=ms.count(), t=ms.sum("v")).named("others")
    epochs(engine, 4)
    late = counts(stream, 20, 5).named("late")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert 120 == late.complete_from
    assert {10} == {row["n"] for row in late.table().to_pylist() if row["window_end"] <= 4 * HOUR}


@pytest.mark.parametrize("host", ["memory", "disk"])
def test_a_second_query_is_not_told_of_panes_that_a_longer_one_does_not_have_yet(host: str, tmp_path: Path) -> None:
    engine, stream = made(tmp_path if host == "disk" else None)
    counts(stream, 5).named("short")
    epochs(engine, 2)  # rows up to 59
    counts(stream, HOUR, 5).named("long")
    epochs(engine, 1)  # rows up to 89: the long one reads from 60 on, the short one has forgotten what was before 85
    late = counts(stream, 30, 5).named("late")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert late.complete_from == 60
    assert {15} == {row["n"] for row in late.table().to_pylist() if row["window_end"] <= 4 * HOUR}


@pytest.mark.parametrize("host", ["memory", "disk"])
def test_a_stream_whose_last_query_has_gone_is_not_at_its_beginning(host: str, tmp_path: Path) -> None:
    engine, stream = made(tmp_path if host == "disk" else None)
    counts(stream, 20).named("first")
    epochs(engine, 3)  # rows up to 89
    engine.drop("first")
    late = counts(stream, 20).named("late")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert 90 == late.complete_from
    assert [100, 100] == [row["window_start"] for row in late.table().to_pylist()][:2]


def state(run: ms.Run) -> int:
    found = (one for query in run.progress["queries"].values() for one in query["operators"])
    return max(one["state_rows"] for one in found if one["operator"] == "panes")


@pytest.mark.parametrize("host", ["memory", "disk"])
def test_the_state_of_a_dropped_query_is_gone_after_the_next_epoch(host: str, tmp_path: Path) -> None:
    engine, stream = made(tmp_path if host == "disk" else None)
    counts(stream, 5).named("short")
    counts(stream, 2 * HOUR, 1, middle=ms.median("v")).named("long")
    counts(stream.where("v > 1"), 2 * HOUR, 1).named("some")
    full = state(epochs(engine, 4))
    files = sum(1 for _ in tmp_path.rglob("*.arrow"))
    engine.drop("long")
    engine.drop("some")
    left = state(epochs(engine, 2))

    assert full > 200
    assert left <= 20
    assert host == "memory" or files > sum(1 for _ in tmp_path.rglob("*.arrow"))


def test_a_kill_right_after_a_change_keeps_the_change(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    engine, stream = made(first)
    counts(stream, 20).named("old")
    epochs(engine, 3)
    run = engine.start(ms.every("1 hour"))
    new = counts(stream, 20, 10).named("new")
    engine.drop("old")
    other = counts(stream, 20).named("old")  # by the name of one that is gone
    shutil.copytree(first, second)  # what a process finds that begins where this one is killed
    came = new.complete_from, other.complete_from
    run.stop()
    run.await_termination()

    again, stream = made(second)
    old, back = counts(stream, 20).named("old"), counts(stream, 20, 10).named("new")
    again.start(ms.available_now(), end_of_stream=True).await_termination()

    assert None not in came
    assert came == (back.complete_from, old.complete_from)
    assert came == tuple(min(row["window_start"] for row in one.table().to_pylist()) for one in (back, old))
    for one in (back, old):
        assert {10} == {row["n"] for row in one.table().to_pylist() if row["window_end"] <= 4 * HOUR}


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "checkpoint"])
def test_a_query_that_is_named_by_a_callback_of_the_first_epoch_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, durable: bool
) -> None:
    began = threading.Event()
    begin = Run.begin

    def slowly(self: Run) -> Run:
        made = begin(self)
        assert began.wait(10)  # `start` has not returned when the first epoch is over
        return made

    monkeypatch.setattr(Run, "begin", slowly)
    engine = ms.Engine(host="local", checkpoint=tmp_path / "ck" if durable else None)
    stream = engine.stream("s", [[{"ts": 1}], [{"ts": 2}], [{"ts": 3}]], schema="ts BIGINT", progress=ms.ordered("ts"))
    stream.named("all")
    later: list[ms.Query] = []

    def name(_: dict[str, Any]) -> None:
        if not later:
            later.append(stream.where("ts > 0").named("later"))
            began.set()

    engine.on_epoch(name)
    engine.start(ms.available_now()).await_termination()

    assert [2, 3] == later[0].table()["ts"].to_pylist()
