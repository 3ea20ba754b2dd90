"""Flushes: when results that are held back leave, what is kept of them, and what cannot be asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.errors import StateError, WindowError
from millstream.ops.windowing import smoothed
from support import in_process
from support.disk import rows_of
from support.harness import Stepper

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string())])


def asked(flush: Any, *, groups: tuple[str, ...] = ("k",), strategy: str = "paned", **window: Any) -> Stepper:
    window = window or {"range": 10}
    return Stepper(
        lambda s: s.window("ts", **window, flush=flush).group_by(*groups).agg(n=ms.count(), strategy=strategy),
        schema=SCHEMA,
    )


def rows(ts: int, keys: str) -> list[dict[str, Any]]:
    return [{"ts": ts, "k": key} for key in keys]


def left(found: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(row["window_id"], row.get("k", "")) for row in found]


def test_a_slow_flush_lets_the_oldest_go_first_and_no_more_than_so_many() -> None:
    query = asked(ms.slow_flush(rows=2, windows=5))

    assert [(0, "a"), (0, "b")] == left(query.step([*rows(1, "abc"), *rows(11, "ab")], 20))
    assert [(0, "c"), (1, "a")] == left(query.step())
    assert [(1, "b")] == left(query.step())
    assert [] == query.step()


def test_a_row_leaves_when_so_many_windows_have_closed_after_its_own() -> None:
    query = asked(ms.slow_flush(rows=1, windows=2))

    assert [(0, "a")] == left(query.step([*rows(1, "abcd"), *rows(11, "a")], 20))
    assert [(0, "b")] == left(query.step([], 29))
    assert [(0, "c"), (0, "d")] == left(query.step([], 30))  # forced, and so more than one
    assert [(1, "a")] == left(query.step())


def test_a_lazy_flush_lets_a_row_go_with_the_next_of_its_group() -> None:
    query = asked(ms.lazy_flush(windows=2))

    assert [] == query.step(rows(1, "abc"), 10)
    assert [(0, "b")] == left(query.step(rows(12, "b")))
    assert [] == query.step()
    assert [] == query.step([], 20)  # (1, b) is closed now, and waits for the next b in turn
    assert [(0, "a"), (0, "c")] == left(query.step([], 30))
    assert [(1, "b")] == left(query.step(rows(31, "b")))


def test_a_lazy_flush_tells_of_a_window_in_the_epoch_in_which_its_last_row_leaves() -> None:
    query = asked(ms.lazy_flush(windows=2))
    query.step(rows(1, "a"), 10)
    assert 0 == query.graph.at(query.query.node).told.bound("window_id")

    query.step(rows(12, "a"))  # no progress comes with it
    assert 1 == query.graph.at(query.query.node).told.bound("window_id")


def test_without_groups_any_row_is_the_next_one() -> None:
    query = asked(ms.lazy_flush(windows=9), groups=())

    assert [] == query.step([1, 11], 20)
    assert [(0, ""), (1, "")] == left(query.step([25]))


def test_a_null_group_is_a_group() -> None:
    query = asked(ms.lazy_flush(windows=9))

    assert [] == query.step([{"ts": 1, "k": None}, {"ts": 1, "k": "a"}], 10)
    assert [(0, None)] == left(query.step([{"ts": 11, "k": None}]))


def test_a_group_that_is_over_keeps_nothing_back() -> None:
    query = asked(ms.lazy_flush(windows=9))
    query.step([*rows(1, "ab"), *rows(11, "a")], 10)

    assert [(0, "a"), (1, "a")] == left(query.step([], ms.punctuation(k="a")))
    told = query.graph.at(query.query.node).told
    assert {("k",): {("a",)}} == told.over


def test_a_group_ahead_of_the_others_is_punctuated_as_far_as_it_is_out() -> None:
    query = asked(ms.slow_flush(rows=1, windows=3))
    query.step([*rows(1, "ab"), *rows(11, "a")], ms.punctuation("ts", before=20, k="a"))
    told = query.graph.at(query.query.node).told

    # (0, a) has left, (1, a) has not.
    assert 1 == told.bound("window_id", {"k": "a"})
    assert told.rules_out({"window_id": 0, "window_start": 0, "window_end": 10, "k": "a"}) is not None
    assert told.rules_out({"window_id": 1, "window_start": 10, "window_end": 20, "k": "a"}) is None


def test_the_end_of_the_stream_lets_everything_go() -> None:
    query = asked(ms.slow_flush(rows=1, windows=5))
    query.step([*rows(1, "abc"), *rows(11, "a")], 10)

    assert [(0, "b"), (0, "c"), (1, "a")] == left(query.step(end=True))
    assert query.graph.at(query.query.node).told.ended


def test_windows_of_several_lengths_are_each_late_by_their_own_slides() -> None:
    query = asked(ms.lazy_flush(windows=2), range=[5, 20], groups=())

    assert [] == query.step([1], 20)[1:]  # 5 + 2·5 <= 20: the short one must leave
    assert [] == query.step([], 59)
    assert [(0, "")] == left(query.step([], 60))


@pytest.mark.parametrize("strategy", ["wid", "paned", "differential", "buffered", "adaptive"])
def test_what_is_held_is_counted_as_state(strategy: str) -> None:
    query = asked(ms.slow_flush(rows=1, windows=9), strategy=strategy)
    query.step(rows(1, "abcd"), 10)

    assert 3 == sum(s.tables["held"].num_rows for s in query.operator.store.segments if "held" in s.tables)
    assert query.operator.store.rows >= 3
    assert (4, 1) == (query.operator.meter.rows_in, query.operator.meter.rows_out)


def test_letting_a_few_go_leaves_most_segments_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smoothed, "_CUT", 4)
    query = asked(ms.slow_flush(rows=3, windows=9))
    query.step(rows(1, "abcdefghijkl"), 10)
    before = [s.tables["held"] for s in query.operator.store.segments if "held" in s.tables]
    query.step()
    after = [s.tables["held"] for s in query.operator.store.segments if "held" in s.tables]

    assert [1, 4, 4] == [table.num_rows for table in before]
    assert [2, 4] == [table.num_rows for table in after]
    assert before[2] is after[1]


def test_many_small_segments_become_few() -> None:
    query = asked(ms.lazy_flush(windows=1000), range=1)
    for ts in range(100):
        query.step(rows(ts, "abcdefgh"[ts % 8]), ts)

    assert len(query.operator.store.segments) <= 40


@pytest.mark.parametrize("trigger", [ms.available_now(), ms.once()], ids=["available now", "once"])
def test_only_a_run_that_takes_all_there_is_lets_all_go(trigger: Any) -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", rows(1, "abc") + rows(11, "a"), progress=ms.ordered("ts"), schema=SCHEMA)
    query = stream.window("ts", range=10, flush=ms.slow_flush(rows=1)).group_by("k").agg(n=ms.count()).named("q")
    run = engine.start(trigger)
    run.await_termination()

    everything = trigger == ms.available_now()
    assert (3 if everything else 1) == query.table().num_rows
    assert [1, 3][: 1 + everything] == [one["queries"]["q"]["rows_out"] for one in run.recent_progress]


def test_a_window_above_hears_of_a_window_when_all_of_it_is_out() -> None:
    def ask(s: ms.Stream) -> ms.Query:
        counts = s.window("ts", range=10, flush=ms.slow_flush(rows=1, windows=9)).group_by("k").agg(n=ms.count())
        return counts.window("window_end", range=10).agg(n=ms.count())

    query = Stepper(ask, schema=SCHEMA)

    assert [] == query.step(rows(1, "abc"), 40)
    assert [] == query.step()
    assert [3] == [row["n"] for row in query.step()]


def test_a_checkpoint_has_what_is_held_and_readers_are_told_no_less(tmp_path: Path) -> None:
    held: list[int] = []

    def live(partitions: int, flush: Any, *, end: bool = False) -> None:
        engine = in_process.engine(tmp_path / "ck", partitions)
        tables = [pa.Table.from_pylist(rows(ts, "abcd"), schema=SCHEMA) for ts in (1, 11, 21, 31)]
        stream = engine.stream("s", tables, schema=SCHEMA, progress=ms.ordered("ts"))
        counts = stream.window("ts", range=10, flush=flush).group_by("k").agg(n=ms.count())
        counts.window("window_end", range=20).agg(n=ms.sum("n")).named("q").to_parquet(tmp_path / "out")
        run = engine.start(ms.once(), end_of_stream=end)
        run.await_termination()
        held.append(sum(one.tables["held"].rows for one in engine.host.ledger.segments if "held" in one.tables))
        state = [one["state_rows"] for one in run.progress["queries"]["q"]["operators"]]
        assert held[-1] <= sum(state)

    slow = ms.slow_flush(rows=1, windows=2)
    for partitions in (1, 3, 2, 3):
        live(partitions, slow)
    with pytest.raises(StateError, match="slow flush: at most 1 row per epoch, none later than 2 windows"):
        live(2, ms.slow_flush(rows=2, windows=2))
    live(1, slow, end=True)

    assert [0, 3, 6, 7, 0] == held
    assert [4, 4, 8] == sorted(row["n"] for row in rows_of(tmp_path / "out"))


def test_explain_and_check_say_it() -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", [], schema=SCHEMA, progress=ms.ordered("ts"))
    stream.window("ts", range=10, slide=5, flush=ms.slow_flush(rows=100)).agg(n=ms.count()).named("q")

    assert "slow flush: at most 100 rows per epoch, none later than 2 windows" in engine.explain()
    assert "and results that are held back" in str(engine.check())
    assert "20 of ts: range 10 + flush 10" in str(engine.check())


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: ms.slow_flush(rows=0), "rows=0, which is not a whole number from 1 up"),
        (lambda: ms.slow_flush(rows=True), "rows=True, which is not a whole number"),
        (lambda: ms.slow_flush(rows="many"), "rows='many', which is not a whole number"),  # pyright: ignore[reportArgumentType]  the point
        (lambda: ms.slow_flush(rows=5, windows=0), "windows=0, which is not a whole number"),
        (lambda: ms.lazy_flush(windows=-1), "windows=-1, which is not a whole number"),
        (lambda: asked(1000), "flush=1000 is no flush"),
        (lambda: asked(ms.lazy_flush(), gap=5), "a flush does not fit a session window"),
        (lambda: asked(ms.lazy_flush(), range=5, by="rows"), 'a flush does not fit a window by="rows"'),
        (lambda: asked(ms.lazy_flush(), range=5, per="tuple"), "a flush does not fit a window that ends at a row"),
        (
            lambda: asked(ms.lazy_flush(), extent=lambda w: (w, w + 1), wids=lambda t: [t]),
            "does not fit a user-defined",
        ),
        (lambda: asked(ms.lazy_flush(windows=2**62)), "is too long for a slide of 10 ticks"),
    ],
)
def test_a_flush_that_cannot_be(make: Callable[[], Any], fact: str) -> None:
    with pytest.raises(WindowError, match=fact) as raised:
        make()
    assert raised.value.hint


@pytest.mark.parametrize("flush", [ms.lazy_flush(windows=3), ms.slow_flush(rows=1, windows=3)], ids=["lazy", "slow"])
@pytest.mark.parametrize("window", [{"range": 10}, {"range": 12, "slide": 4}, {"range": "all", "slide": 5}], ids=str)
def test_no_more_is_kept_than_the_horizon_says(window: dict[str, Any], flush: Any) -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", [], schema=SCHEMA, progress=ms.ordered("ts"))
    stream.window("ts", **window, flush=flush).agg(n=ms.count()).named("q")
    (verdict,) = engine.check()["q"].checked.verdicts
    assert verdict.horizon is not None
    most = verdict.horizon.rows(rate=2)
    query = asked(flush, groups=(), strategy="auto" if window["range"] == "all" else "wid", **window)
    for ts in range(100):
        query.step([ts, ts], ts)
        assert most is not None
        assert query.operator.store.rows <= most


class Kept:
    """A sink that has all rows, and how many came in each step."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.steps: list[int] = []

    def write(self, rows: pa.Table, epoch: int) -> None:
        self.rows += rows.to_pylist()
        self.steps.append(rows.num_rows)

    def close(self) -> None:
        """Nothing to let go of."""


@pytest.mark.parametrize("host", ["local", "tasks"])
def test_what_is_held_leaves_slowly_while_nothing_comes(host: str, tmp_path: Path) -> None:
    engine = ms.Engine(host="local") if host == "local" else in_process.engine(tmp_path, 2)
    table = pa.Table.from_pylist([*rows(1, "abcdefgh"), *rows(11, "a")], schema=SCHEMA)
    stream = engine.stream("s", [table], schema=SCHEMA, progress=ms.ordered("ts"))
    kept = Kept()
    flush = ms.slow_flush(rows=2, windows=9)
    stream.window("ts", range=10, flush=flush).group_by("k").agg(n=ms.count()).named("q").to(kept)
    run = engine.start(ms.every("5 milliseconds"))
    until = time.monotonic() + 60
    while len(kept.rows) < 8 and run.is_active and time.monotonic() < until:
        time.sleep(0.01)
    run.stop()

    assert [(0, key) for key in "abcdefgh"] == sorted(left(kept.rows))
    assert max(kept.steps) <= 2
