"""Joins that come later: which rows that are there they use, from when they are complete, and what is forgotten."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.plan import nodes
from support.in_process import engine as engine_on_disk

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64()), ("w", pa.int64())])
SIZE, LAST = 20, 200
HOSTS = pytest.mark.parametrize("host", ["memory", "disk"])


def given(name: str, *, every: int = 1) -> list[pa.Table]:
    """A row a tick, twenty an epoch, all of one key; columns of the second stream end with a 2."""
    rows = [{"ts": ts, "k": "a", "v": ts % 10, "w": ts} for ts in range(0, LAST, every)]
    tables = [[one for one in rows if at <= one["ts"] < at + SIZE] for at in range(0, LAST, SIZE)]
    made = [pa.Table.from_pylist(one, schema=SCHEMA) for one in tables]
    return made if name == "a" else [one.rename_columns([f"{c}2" for c in SCHEMA.names]) for one in made]


def made(place: Path | None, *, every: int = 1) -> tuple[ms.Engine, ms.Stream, ms.Stream]:
    """Two streams in order; `every` so many ticks the second has a row."""
    engine = ms.Engine(host="local") if place is None else engine_on_disk(place / "checkpoint", 2)
    b = given("b", every=every)
    return (
        engine,
        engine.stream("a", given("a"), schema=SCHEMA, progress=ms.ordered("ts")),
        engine.stream("b", b, schema=b[0].schema, progress=ms.ordered("ts2")),
    )


def where(host: str, tmp_path: Path) -> Path | None:
    return tmp_path if host == "disk" else None


def epochs(engine: ms.Engine, number: int) -> ms.Run:
    for _ in range(number):
        run = engine.start(ms.once())
        run.await_termination()
    return run


def to_the_end(engine: ms.Engine) -> None:
    engine.start(ms.available_now(), end_of_stream=True).await_termination()


def band(a: ms.Stream, b: ms.Stream, width: int, **more: Any) -> ms.Query:
    """Columns w and w2 are read by none of these."""
    left, right = a.select("ts", "k", "v"), b.select("ts2", "k2", "v2")
    return left.join(right, on=[("k", "k2")], within=width, **more)


def wanted(width: int, since: int, which: Any = lambda _: True) -> list[tuple[int, int]]:
    """Pairs within a band whose later row is at `since` or later, of left rows that satisfy a condition."""
    return [
        (one, other)
        for one in range(LAST)
        for other in range(max(0, one - width), min(LAST, one + width + 1))
        if max(one, other) >= since and which(one)
    ]


def pairs(query: ms.Query) -> list[tuple[int, int]]:
    return sorted((row["ts"], row["ts2"]) for row in query.table().to_pylist())


@HOSTS
@pytest.mark.parametrize("alone", [True, False])
def test_a_band_within_the_widest_is_complete_at_once(host: str, alone: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a case
    """Rows of the first six epochs are known up to 119; a row that comes finds all its partners."""
    engine, a, b = made(where(host, tmp_path))
    wide = band(a, b, 50).named("wide")
    if not alone:
        band(a, b, 7).named("other")
    epochs(engine, 6)
    late = band(a, b, 30).named("late")
    to_the_end(engine)

    assert late.complete_from in (100, 119)  # on disk operators learn progress with the next rows
    assert wanted(30, late.complete_from) == pairs(late)
    assert wanted(50, 0) == pairs(wide)


@HOSTS
def test_a_wider_band_is_complete_when_it_has_been_filled(host: str, tmp_path: Path) -> None:
    """Spec 2.6: after w - w_N."""
    engine, a, b = made(where(host, tmp_path))
    band(a, b, 10).named("narrow")
    epochs(engine, 6)
    late = band(a, b, 40).named("late")
    to_the_end(engine)

    assert late.complete_from in (99 - 10 + 40, 119 - 10 + 40)
    assert wanted(40, late.complete_from) == pairs(late)


@HOSTS
@pytest.mark.parametrize(
    ("first", "second", "at_once"),
    [
        (None, "v > 4", True),
        ("v > 4", "v > 4", True),
        ("v > 4", "v > 4 AND v < 9", True),
        ("v > 4", None, False),
        ("v > 4", "v > 3", False),
        ("v > 4", "v < 9", False),
    ],
)
def test_a_selection_is_complete_at_once_if_the_rows_are_there(
    host: str, first: str | None, second: str | None, *, at_once: bool, tmp_path: Path
) -> None:
    engine, a, b = made(where(host, tmp_path))
    band(a if first is None else a.where(first), b, 20).named("first")
    epochs(engine, 6)
    late = band(a if second is None else a.where(second), b, 20).named("late")
    to_the_end(engine)
    tests = {None: lambda _: True, "v > 4": lambda t: t % 10 > 4, "v > 3": lambda t: t % 10 > 3}
    tests |= {"v < 9": lambda t: t % 10 < 9, "v > 4 AND v < 9": lambda t: 4 < t % 10 < 9}

    assert at_once == (late.complete_from <= 120)
    assert at_once or late.complete_from == 140  # for 120 and earlier rows nobody knows, and partners are 20 apart
    assert wanted(20, late.complete_from, tests[second]) == pairs(late)


@HOSTS
def test_a_column_that_was_not_kept_is_there_for_the_rows_to_come(host: str, tmp_path: Path) -> None:
    engine, a, b = made(where(host, tmp_path))
    band(a, b, 20).named("first")
    epochs(engine, 6)
    late = a.join(b, on=[("k", "k2")], within=20).named("late")
    to_the_end(engine)

    assert 140 == late.complete_from
    assert wanted(20, 140) == pairs(late)
    assert all(row["w"] == row["ts"] and row["w2"] == row["ts2"] for row in late.table().to_pylist())


@HOSTS
@pytest.mark.parametrize("how", ["left", "anti"])
def test_a_row_whose_partners_may_be_forgotten_is_not_taken_for_lonely(host: str, how: str, tmp_path: Path) -> None:
    """The second stream has a row every 15 ticks: many rows have no partner within 2 ticks, and all within 8."""
    engine, a, b = made(where(host, tmp_path), every=15)
    band(a, b, 2).named("narrow")
    epochs(engine, 6)
    late = band(a, b, 8, how=how).named("late")
    narrow = band(a, b, 1, how=how).named("lonely")
    to_the_end(engine)
    lonely = [row["ts"] for row in late.table().to_pylist() if row.get("ts2") is None]
    there = range(0, LAST, 15)

    assert [one for one in lonely if any(abs(one - other) <= 8 for other in there)] == []
    alone = [row["ts"] for row in narrow.table().to_pylist() if row.get("ts2") is None]
    expected = [t for t in range(narrow.complete_from, LAST) if all(abs(t - other) > 1 for other in there)]
    assert expected == sorted(alone)


@HOSTS
def test_rows_of_a_dropped_join_are_gone_after_the_next_epoch(host: str, tmp_path: Path) -> None:
    engine, a, b = made(where(host, tmp_path))
    band(a, b, 2).named("short")
    a.join(b, on=[("k", "k2")], within=150).named("long")
    full = state(epochs(engine, 6))
    engine.drop("long")
    left = state(epochs(engine, 2))

    assert full[0] >= 200
    assert left[0] <= 60  # two epochs of both sides at most: those of the last are known with the next
    if host == "memory":  # columns that nobody reads are gone, too
        assert left[1] / left[0] < full[1] / full[0]


def state(run: ms.Run) -> tuple[int, int]:
    """Rows and bytes."""
    found = [one for query in run.progress["queries"].values() for one in query["operators"]]
    return max((one["state_rows"], one["state_bytes"]) for one in found if one["state_rows"])


@HOSTS
@pytest.mark.parametrize("alone", [True, False])
def test_a_join_that_is_replaced_goes_on_with_the_rows_that_are_there(host: str, alone: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a case
    engine, a, b = made(where(host, tmp_path))
    query = band(a, b, 50).named("q")
    if not alone:
        band(a, b, 5).named("other")
    epochs(engine, 6)
    now = query.replace(band(a, b, 30))
    to_the_end(engine)

    assert now.complete_from is not None
    assert now.complete_from <= 119
    # Sinks stay, and what the first has given is there, too: pairs may have come twice.
    assert set(wanted(30, now.complete_from)) <= set(pairs(now))
    assert set(pairs(now)) <= set(wanted(50, 0))


def test_a_kill_right_after_a_change_keeps_the_change(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    engine, a, b = made(first)
    band(a, b, 50).named("old")
    epochs(engine, 6)
    run = engine.start(ms.every("1 hour"))
    new = band(a, b, 30, how="left").named("new")
    shutil.copytree(first, second)  # what a process finds that begins where this one is killed
    came = new.complete_from
    run.stop()
    run.await_termination()

    again, a, b = made(second)
    old, back = band(a, b, 50).named("old"), band(a, b, 30, how="left").named("new")
    to_the_end(again)
    assert came is not None
    assert came == back.complete_from
    assert wanted(30, came) == pairs(back)
    assert old.complete_from is None


@HOSTS
def test_windows_over_a_join_that_came_later_have_all_its_pairs(host: str, tmp_path: Path) -> None:
    engine, a, b = made(where(host, tmp_path))
    band(a, b, 10).named("narrow")
    epochs(engine, 6)
    late = band(a, b, 40).window("ts", range=10).agg(n=ms.count()).named("late")
    to_the_end(engine)
    found = {row["window_start"]: row["n"] for row in late.table().to_pylist()}
    whole = {at: sum(at <= one < at + 10 for one, _ in wanted(40, 0)) for at in range(0, LAST, 10)}

    assert found
    assert found == {at: n for at, n in whole.items() if at >= late.complete_from}


@HOSTS
def test_a_first_join_on_streams_that_have_run_says_from_when_it_is_complete(host: str, tmp_path: Path) -> None:
    engine, a, b = made(where(host, tmp_path))
    a.window("ts", range=10).agg(n=ms.count()).named("left")
    b.window("ts2", range=10).agg(n=ms.count()).named("right")
    epochs(engine, 6)
    late = band(a, b, 5, how="full").named("late")
    to_the_end(engine)

    assert 125 == late.complete_from
    assert wanted(5, 125) == pairs(late)


def test_who_comes_later_reads_the_store_that_is_there() -> None:
    engine, a, b = made(None)
    for width in (50, 10):
        band(a, b, width).named(f"q{width}")
    epochs(engine, 3)
    band(a, b, 20).named("late")
    epochs(engine, 1)
    stores = [v.node for v in engine.host.graph.vertices.values() if isinstance(v.node, nodes.SharedJoin)]

    assert [3] == [len(one.readings) for one in stores]
