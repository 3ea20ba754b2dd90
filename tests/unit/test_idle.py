"""A silent stream goes on by the clock: it closes its windows and holds no other stream up."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.core.domain import BOTTOM, Domain, Kind
from millstream.core.generator import IdleDisorder, Seen
from support import in_process


class Clock:
    """A clock that stands where it is put."""

    def __init__(self, now: int = 1000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


def bounds(steps: list[tuple[int, int | None]], *, began: int = 1000) -> list[int | None]:
    """The bound after each step: the clock, and the greatest value that came or None."""
    clock = Clock(began)
    generator = IdleDisorder("ts", 5, 30, clock).bind(Domain(kind=Kind.INTEGER))
    state: dict[str, Any] = {}
    out: list[int | None] = []
    for now, high in steps:
        state, found = generator.step(state, Seen(rows=high is not None, high=BOTTOM if high is None else high), now)
        split = found[0].split("ts") if found else None
        out.append(None if split is None else split[0])
    return out


def test_the_bound_moves_with_the_clock_after_so_long_without_rows() -> None:
    steps = [(1000, 100), (1010, None), (1030, None), (1031, None), (1040, None)]

    assert [95, 95, 95, 96, 105] == bounds(steps)


def test_rows_after_a_silence_begin_a_new_one_and_the_bound_never_goes_back() -> None:
    steps = [(1000, 100), (1040, None), (1041, 103), (1060, None), (1071, None), (1081, None), (1090, 200)]

    assert [95, 105, 105, 105, 105, 108, 195] == bounds(steps)


def test_a_stream_without_any_row_follows_the_clock() -> None:
    assert [None, None, 1001 - 5, 1010 - 5] == bounds([(1000, None), (1030, None), (1031, None), (1040, None)])


def test_time_in_which_nobody_looked_does_not_count() -> None:
    assert [95, 95, 96] == bounds([(1000, 100), (5010, None), (5031, None)], began=5000)


def test_a_generator_travels_without_its_clock() -> None:
    generator = IdleDisorder("ts", 5, 30, Clock()).bind(Domain(kind=Kind.INTEGER))

    assert (5, 30) == (pickle.loads(pickle.dumps(generator)).span, pickle.loads(pickle.dumps(generator)).idle)


@pytest.mark.parametrize("host", ["local", "spark"])
def test_a_silent_stream_holds_no_union_up(host: str, tmp_path: Path) -> None:
    clock = Clock()
    engine = ms.Engine(host="local") if host == "local" else in_process.engine(tmp_path / "checkpoint", 2)
    promise = ms.bounded_disorder("ts", 5, idle=30, clock=clock)
    epochs = iter([[{"ts": 100}], [{"ts": 140}], [{"ts": 150}], [{"ts": 160}]])

    def ticking() -> Any:
        clock.now += 40
        return next(epochs, None)

    loud = engine.stream("loud", ticking, schema="ts BIGINT", progress=ms.ordered("ts"))
    quiet = engine.stream("quiet", [{"ts": 101}], progress=promise)
    query = loud.union(quiet).window("ts", range=10).agg(n=ms.count()).named("q")
    engine.start(ms.available_now()).await_termination()

    assert {"window_id": 10, "window_start": 100, "window_end": 110, "n": 2} in query.table().to_pylist()


def test_each_group_has_its_own_silence() -> None:
    clock = Clock()
    engine = ms.Engine(host="local")
    promise = ms.per_group("k", ms.bounded_disorder("ts", 5, idle=30, clock=clock))
    epochs = iter([[{"ts": 1, "k": "a"}, {"ts": 1, "k": "b"}], [{"ts": 9, "k": "b"}], [{"ts": 11, "k": "b"}], []])

    def ticking() -> Any:
        clock.now += 25
        return next(epochs, None)

    stream = engine.stream("s", ticking, schema="ts BIGINT, k STRING", progress=promise)
    query = stream.window("ts", range=10).group_by("k").agg(n=ms.count()).named("q")
    engine.start(ms.available_now()).await_termination()

    assert ["a"] == query.table()["k"].to_pylist()


def test_the_clause_and_what_explain_says(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("ts,k\n2026-01-01T00:00:00Z,a\n")
    engine = ms.Engine(host="local")
    text = (
        "CREATE STREAM s (ts TIMESTAMP, k STRING) FROM csv '{}' PROGRESS ON ts WITHIN 5 seconds IDLE 30 seconds PER k"
    )
    engine.sql(text.format(tmp_path), name="q")

    assert "ts within 5 s, by the clock after 30 s without rows" in engine.explain()
    with pytest.raises(ms.SqlError, match="WITHIN n ROWS has no IDLE"):
        engine.sql(text.format(tmp_path).replace("5 seconds", "5 ROWS").replace("STREAM s", "STREAM t"))


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"rows": 5, "idle": "1 second"}, "disorder in rows has no idle"),
        ({"span": 5, "idle": -1}, "is negative"),
        ({"span": 5, "idle": 3, "clock": "noon"}, "cannot be called"),
        ({"span": 5, "idle": "30 seconds"}, "is not a whole number"),
    ],
)
def test_a_wrong_silence_is_told(arguments: dict[str, Any], fact: str) -> None:
    with pytest.raises(ms.MillstreamError, match=fact):
        ms.Engine(host="local").stream("s", [{"ts": 1}], progress=ms.bounded_disorder("ts", **arguments))
