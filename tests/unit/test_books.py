"""The books balance: every row in is late, rejected, filtered, outside, guarded or accepted; and the report says so."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.ops.distinct import Distinct
from millstream.ops.ingest import Ingest
from millstream.ops.operator import Operator
from millstream.ops.panes.store import PaneStore
from millstream.ops.project import Project
from millstream.ops.select import Select
from millstream.ops.sort import Sort
from millstream.ops.union import Union
from millstream.ops.windowing.adaptive import Adaptive
from millstream.ops.windowing.bins import OnePass
from millstream.ops.windowing.buffered import Buffered
from millstream.ops.windowing.custom import CustomWindows
from millstream.ops.windowing.differential import Differential
from millstream.ops.windowing.landmark import GrowingWindows
from millstream.ops.windowing.paned import Paned
from millstream.ops.windowing.rows import RowWindows
from millstream.ops.windowing.session import Sessions
from millstream.ops.windowing.wid import Wid
from support.harness import SCHEMA, Ran, cut, run, some_rows, stray
from support.in_process import engine as engine_on_disk

LOST = ("late", "rejected", "filtered", "outside", "guarded")

ASKS: dict[str, Callable[[ms.Stream], ms.Query]] = {
    "rows": lambda s: s.where("v > 2"),
    "distinct": lambda s: s.distinct("k", "v"),
    "sort": lambda s: s.sort("ts"),
    "sliding": lambda s: s.where("v > 1").window("ts", range=10, slide=4).group_by("k").agg(n=ms.count()),
    "gaps": lambda s: s.window("ts", range=2, slide=5).agg(n=ms.count()),
    "start": lambda s: s.window("ts", range=4, slide=4, start=0).agg(n=ms.count()),
    "several": lambda s: s.window("ts", range=[2, 3], slide=5).agg(n=ms.count()),
    "landmark": lambda s: s.window("ts", range="all", slide=7).agg(n=ms.count()),
    "session": lambda s: s.window("ts", gap=3).agg(n=ms.count()),
    "tuple": lambda s: s.window("ts", range=5, per="tuple").agg(n=ms.count()),
    "rank": lambda s: s.window("ts", range=5, slide=3, per="rank").agg(n=ms.count()),
    "row numbers": lambda s: s.window(by="rows", range=2, slide=5).agg(n=ms.count()),
    "row numbers by rank": lambda s: s.window("ts", by="rows", range=3, slide=2).agg(n=ms.count()),
    "partitioned": lambda s: s.window(by="rows", range=3, slide=2, partition_by="k").agg(n=ms.count()),
    "user-defined": lambda s: s.window(
        "ts", extent=lambda w: (10 * w, 10 * w + 4), wids=lambda a: [a // 10] if a % 10 < 4 else []
    ).agg(n=ms.count()),
    "chained": lambda s: s.window("ts", range=4).agg(n=ms.count()).window("window_end", range=8).agg(m=ms.max("n")),
    "split": lambda s: s.where("v > 2").union(s.where("v <= 2")).window("ts", range=10).agg(n=ms.count()),
    "two aggregates": lambda s: (
        s.window("ts", range=5).agg(n=ms.count()).union(s.window("ts", range=2, slide=7).agg(n=ms.count()))
    ),
    **{
        strategy: (
            lambda s, strategy=strategy: (
                s.window("ts", range=3, slide=5).group_by("k").agg(n=ms.count(), strategy=strategy)
            )
        )
        for strategy in ("wid", "paned", "differential", "buffered", "adaptive")
    },
}


def troubled(seed: int, ask: Callable[[ms.Stream], ms.Query], *, end: bool) -> Ran:
    """A run over rows of which some are late, some have no time, and some cannot be read."""
    rnd = random.Random(seed)
    rows: list[Any] = stray(some_rows(rnd, 50, 60), 25, rnd)
    for row in rnd.sample(rows, 4):
        row["ts"] = rnd.choice([None, "noon"])
    return run(iter(cut(rows, rnd)), ask, progress=ms.bounded_disorder("ts", 8), end=end)


@pytest.mark.parametrize("end", [False, True], ids=["open", "ended"])
@pytest.mark.parametrize("name", ASKS)
def test_rows_in_are_the_sum_of_all_the_places_a_row_can_go(name: str, end: bool) -> None:  # noqa: FBT001 - a parameter
    for seed in range(4):
        books = troubled(seed, ASKS[name], end=end).books

        assert books["rows_in"] == sum(books[place] for place in (*LOST, "accepted")), f"seed {seed}: {books}"
        assert 0 == books["unaccounted"], f"seed {seed}: {books}"


@pytest.mark.parametrize("name", [name for name in ASKS if name not in ("split", "two aggregates")])
def test_what_the_books_call_late_or_rejected_is_in_that_output(name: str) -> None:
    seen = {"late": 0, "rejected": 0}
    for seed in range(4):
        ran = troubled(seed, ASKS[name], end=True)
        outputs = {"late": ran.query.late.table().num_rows, "rejected": ran.query.rejected.table().num_rows}
        seen = {place: seen[place] + count for place, count in outputs.items()}

        assert outputs == {place: ran.books[place] for place in outputs}, f"seed {seed}"
        assert 50 == ran.books["rows_in"], f"seed {seed}"
    assert min(seen.values()) > 0, "these streams are no trouble"


@pytest.mark.parametrize("strategy", ["auto", "wid", "paned", "differential", "buffered", "adaptive"])
def test_every_accepted_row_is_in_one_tumbling_window(strategy: str) -> None:
    for seed in range(4):
        ran = troubled(seed, lambda s: s.window("ts", range=7).agg(n=ms.count(), strategy=strategy), end=True)

        assert ran.books["accepted"] == sum(ran.query.table()["n"].to_pylist()), f"seed {seed}"


LOSERS: list[tuple[str, type[Operator]]] = [
    ("sliding", Ingest), ("sliding", Select), ("sliding", Project), ("rows", Ingest), ("rows", Select),
    ("paned", Paned), ("wid", Wid), ("differential", Differential), ("buffered", Buffered), ("adaptive", Adaptive),
    ("landmark", GrowingWindows), ("session", Sessions), ("tuple", OnePass), ("row numbers", RowWindows),
    ("user-defined", CustomWindows), ("distinct", Distinct), ("sort", Sort), ("split", Union),
]  # fmt: skip


# On disk these are computed from stores.
STORED = {Paned: PaneStore, GrowingWindows: PaneStore}


@pytest.mark.parametrize("on_disk", [False, True], ids=["local", "tasks"])
@pytest.mark.parametrize(("name", "loser"), LOSERS, ids=[f"{name}-{one.__name__}" for name, one in LOSERS])
def test_a_row_that_an_operator_loses_is_seen(
    name: str,
    loser: type[Operator],
    on_disk: bool,  # noqa: FBT001 - a parameter
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    loser = STORED.get(loser, loser) if on_disk else loser
    method = "reduce" if loser is PaneStore else "_take"
    whole = getattr(loser, method)
    lost: list[bool] = []

    def lossy(self: Operator, port: int, rows: pa.Table) -> Any:
        if not lost and rows.num_rows > 1:
            lost.append(True)
            rows = rows.slice(1)
        return whole(self, port, rows)

    rows = pa.Table.from_pylist([{"ts": ts, "k": "a", "v": 5, "f": 0.0} for ts in range(1, 40)], schema=SCHEMA)
    made = engine_on_disk(tmp_path, 1) if on_disk else ms.Engine(host="local")
    # An operator whose rows all left would never have been seen before: the lossy one is put in its place.
    monkeypatch.setattr(loser, method, lossy)
    ASKS[name](made.stream("s", rows, progress=ms.ordered("ts"))).named("q")
    run = made.start(ms.available_now(), end_of_stream=True, allow_unbounded=True)
    run.await_termination()

    assert lost
    assert 1 == run.progress["queries"]["q"]["books"]["unaccounted"]
    assert "do not balance" in caplog.text


def test_the_books_of_a_query_that_comes_later_begin_when_it_comes() -> None:
    made = ms.Engine(host="local")
    waiting = [[{"ts": ts, "k": "a"} for ts in range(at, at + 10)] for at in (0, 10)]
    rows = made.stream("s", lambda: waiting.pop(0) if waiting else None, progress=ms.ordered("ts"))
    rows.window("ts", range=5).agg(n=ms.count()).named("first")
    made.start(ms.once()).await_termination()
    rows.window("ts", range=5).agg(n=ms.count(), m=ms.max("ts")).named("second")
    run = made.start(ms.available_now())
    run.await_termination()

    found = {name: query["books"] for name, query in run.progress["queries"].items()}
    assert {"first": (20, 20, 0), "second": (10, 10, 0)} == {
        name: (books["rows_in"], books["accepted"], books["unaccounted"]) for name, books in found.items()
    }


def test_a_stream_that_is_read_in_two_places_is_counted_in_each() -> None:
    books = troubled(1, ASKS["split"], end=True).books

    assert books["rows_in"] > 50
    assert books["accepted"] > 0
    assert 0 == books["unaccounted"]


def test_rows_that_wait_to_be_sorted_are_accepted() -> None:
    ran = run(
        [{"ts": ts, "k": "a", "v": 1, "f": None} for ts in (5, 3, 9)],
        lambda s: s.window("ts", by="rows", range=2).agg(n=ms.count()),
        progress=ms.bounded_disorder("ts", 100),
        end=False,
    )

    assert (3, 3) == (ran.books["rows_in"], ran.books["accepted"])


# --- the report -------------------------------------------------------------------------------------


def reported(*, end: bool, strategy: str = "wid") -> dict[str, Any]:
    rows = [
        {"ts": ts, "k": key, "v": 1, "f": None} for ts, key in ((1, "a"), (12, "b"), (2, "a"), (27, "a"), (None, "b"))
    ]
    epochs = [pa.Table.from_pylist(part, schema=SCHEMA) for part in (rows[:2], rows[2:])]
    ran = run(
        iter(epochs),
        lambda s: s.window("ts", range=10, slide=5).group_by("k").agg(n=ms.count(), strategy=strategy),
        progress=ms.bounded_disorder("ts", 4),
        end=end,
    )
    return ran.run.progress


def test_the_report_shows_each_stream_with_its_progress_and_lag() -> None:
    report = reported(end=False)

    assert {
        "rows_in": 5,
        "late": 1,
        "rejected": 1,
        "attribute": "ts",
        "progress": "23",
        "lag": 4,
        "lag_unit": "1",
        "lag_seconds": None,
    } == report["sources"]["s"]


def test_the_report_shows_each_operator_with_rows_and_state() -> None:
    operators = reported(end=False)["queries"]["q"]["operators"]

    assert ["source", "project", "aggregate"] == [one["operator"] for one in operators]
    assert [(5, 3, 1, 1), (3, 3, 0, 0), (3, 4, 0, 0)] == [
        (one["rows_in"], one["rows_out"], one["late"], one["rejected"]) for one in operators
    ]
    # 27 is in windows 5 and 6, which 23 has not closed.
    assert [(0, 0), (0, 0), (2, 2)] == [(one["state_rows"], one["open_windows"]) for one in operators]
    assert operators[-1]["state_bytes"] > 0
    assert operators[-1]["peak_rows"] >= 2


@pytest.mark.parametrize("strategy", ["wid", "paned", "differential", "buffered", "adaptive"])
def test_windows_that_are_not_closed_are_reported_as_open(strategy: str) -> None:
    still_open, closed = (reported(end=end, strategy=strategy)["queries"]["q"] for end in (False, True))

    assert (2, 0) == (still_open["operators"][-1]["open_windows"], closed["operators"][-1]["open_windows"])
    assert (4, 6) == (still_open["rows_out"], closed["rows_out"])


OPEN: dict[str, tuple[dict[str, Any], int]] = {
    "landmark": ({"range": "all", "slide": 10}, 2),
    "session": ({"gap": 3}, 1),
    "tuple": ({"range": 10, "per": "tuple"}, 1),
    "user-defined": ({"extent": lambda w: (10 * w, 10 * w + 10), "wids": lambda a: [a // 10]}, 1),
}


@pytest.mark.parametrize("kind", OPEN)
def test_open_windows_of_other_kinds_are_reported_too(kind: str) -> None:
    window, expected = OPEN[kind]
    rows = [{"ts": ts, "k": "a", "v": 1, "f": None} for ts in (1, 8, 25)]
    ran = run(
        rows, lambda s: s.window("ts", **window).agg(n=ms.count()), progress=ms.bounded_disorder("ts", 10), end=False
    )

    assert expected == ran.run.progress["queries"]["q"]["operators"][-1]["open_windows"]


def test_every_epoch_has_a_report_with_its_rows_and_times() -> None:
    ran = run(
        [{"ts": ts, "k": "a", "v": 1, "f": None} for ts in range(5)],
        lambda s: s.window("ts", range=2).agg(n=ms.count()),
        progress=ms.ordered("ts"),
        epoch_rows=2,
        end=False,
    )
    reports = ran.run.recent_progress

    assert [(0, 2), (1, 2), (2, 1)] == [(one["epoch"], one["numInputRows"]) for one in reports]
    assert [["deliver", "step"]] * 3 == [sorted(one["durationMs"]) for one in reports]
    assert ["1", "3", "4"] == [one["sources"]["s"]["progress"] for one in reports]


def test_progress_is_shown_in_the_attributes_own_words() -> None:
    at = datetime(2024, 3, 1, 12, 0, 7, tzinfo=UTC)
    ran = run(
        pa.table({"ts": pa.array([at], pa.timestamp("us", "UTC"))}),
        lambda s: s.window("ts", range="5 seconds").agg(n=ms.count()),
        progress=ms.bounded_disorder("ts", "7 seconds"),
        schema=None,
        end=False,
    )

    assert "2024-03-01T12:00:00+00:00" == ran.run.progress["sources"]["s"]["progress"]


def test_a_stream_that_has_ended_has_progressed_beyond_everything() -> None:
    stream = reported(end=True)["sources"]["s"]

    assert ("∞", None) == (stream["progress"], stream["lag"])


@pytest.mark.parametrize(
    ("progress", "bound", "lag"),
    [
        (ms.ordered("ts"), "9", 0),
        (ms.bounded_disorder("ts", 3), "6", 3),
        (ms.bounded_disorder("ts", rows=1), "5", 4),
        (ms.step("ts", 100), "9", 0),
    ],
    ids=["ordered", "disorder in time", "disorder in rows", "step"],
)
def test_lag_is_how_far_the_bound_trails_the_newest_row(progress: Any, bound: str, lag: int) -> None:
    ran = run(
        [{"ts": ts, "k": "a", "v": 1, "f": None} for ts in (1, 5, 9)],
        lambda s: s.where("v > 0"),
        progress=progress,
        end=False,
    )
    stream = ran.run.progress["sources"]["s"]

    assert (bound, lag) == (stream["progress"], stream["lag"])


def test_lag_is_known_where_punctuation_is_supplied() -> None:
    ran = run(
        iter([ms.Epoch([{"ts": 9, "k": "a", "v": 1, "f": None}], [{"ts": 4}])]),
        lambda s: s.where("v > 0"),
        progress=ms.supplied("ts"),
        end=False,
    )
    stream = ran.run.progress["sources"]["s"]

    assert ("4", 5) == (stream["progress"], stream["lag"])


@pytest.mark.parametrize("where", ["local", "tasks"])
@pytest.mark.parametrize(
    "progress",
    [ms.per_group("k", ms.ordered("ts")), ms.per_group(["v", "k"], ms.bounded_disorder("ts", 3)), ms.supplied(per="k")],
    ids=str,
)
def test_a_row_whose_group_no_punctuation_can_name_is_rejected(progress: Any, where: str, tmp_path: Path) -> None:
    rows = [{"ts": ts, "k": None if ts % 5 == 0 else "a", "v": 1, "f": 0.5} for ts in range(200)]
    tables = [pa.Table.from_pylist(rows[at : at + 20], schema=SCHEMA) for at in range(0, 200, 20)]
    engine = ms.Engine(host="local") if where == "local" else engine_on_disk(tmp_path, 2)
    stream = engine.stream("s", tables, schema=SCHEMA, progress=progress)
    query = stream.window("ts", range=10).group_by("v", "k").agg(n=ms.count()).named("q")
    ran = engine.start(ms.available_now(), allow_unbounded=True)
    ran.await_termination()

    rejected = query.rejected.table().to_pylist()
    assert (40, {"k is null"}) == (len(rejected), {row["reason"] for row in rejected})
    assert {None} == {row["k"] for row in rejected}
    books = ran.progress["queries"]["q"]["books"]
    assert (200, 40, 160) == tuple(books[name] for name in ("rows_in", "rejected", "accepted"))
    kept = sum(one.get("state_rows", 0) for one in ran.progress["queries"]["q"]["operators"])
    assert kept <= (20 if progress == ms.supplied(per="k") else 2)


def _fail(_: pa.Array) -> float:
    raise ValueError("no")


def _half(values: pa.Array) -> float:
    if len(values) == 1:
        raise ValueError("one is too few")
    return 0.5


FAILING: dict[str, tuple[Callable[[ms.Stream], ms.Query], int]] = {
    "an aggregate of one's own": (lambda s: s.window("ts", range=5).agg(x=ms.udaf(_fail, "v", returns="double")), 2),
    "one of its groups": (lambda s: s.window("ts", range=5).agg(x=ms.udaf(_half, "v", returns="double")), 1),
    "a column above an aggregate": (lambda s: s.window("ts", range=5).agg(n=ms.count()).select(x="1 / (n - 1)"), 1),
    "a condition above it": (lambda s: s.window("ts", range=5).agg(n=ms.count()).where("1 / (n - 1) > 0"), 1),
    "a pair": (lambda s: s.join(s, on="k", within=1, where="1 / (left_v - 1) > 0"), 2),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize("host", ["local", "tasks"])
def test_results_that_cannot_be_made_are_in_the_books(name: str, host: str, tmp_path: Path) -> None:
    ask, expected = FAILING[name]
    made = ms.Engine(host="local") if host == "local" else engine_on_disk(tmp_path, 2)
    rows = [{"ts": 1, "k": "a", "v": 1}, {"ts": 2, "k": "a", "v": 2}, {"ts": 7, "k": "b", "v": 3}]
    query = ask(made.stream("s", rows, progress=ms.ordered("ts"))).named("q")
    run_ = made.start(ms.available_now(), end_of_stream=True)
    run_.await_termination()
    books = run_.progress["queries"]["q"]["books"]

    assert (expected, 0, 0) == (books["results_rejected"], books["rejected"], books["unaccounted"])
    assert expected == query.rejected.table().num_rows
