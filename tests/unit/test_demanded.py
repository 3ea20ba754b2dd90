"""Demanded feedback: flagged partial results now, exact finals later; and groups that are doomed before they end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import millstream as ms
from support.bags import freeze
from support.crash import STEPS, ended, pulled
from support.disk import rows_of

CARS = [{"ts": i, "segment": (i * i) % 5, "speed": 40 + i * 7 % 30} for i in range(400)]
HOSTS = ["in memory", "durable"]


def engine_on(host: str, folder: Path) -> ms.Engine:
    return ms.Engine(host="local", **({"checkpoint": folder / "ck", "partitions": 2} if host == "durable" else {}))


def cars(engine: ms.Engine, each: int = 20) -> ms.Stream:
    return engine.stream("cars", CARS, progress=ms.ordered("ts"), epoch_rows=each)


def finish(engine: ms.Engine) -> dict[str, Any]:
    started = engine.start(ms.available_now(), end_of_stream=True, allow_unbounded=True)
    started.await_termination()
    return dict(started.progress["queries"])


def bag(rows: list[dict[str, Any]]) -> list[Any]:
    return sorted(map(repr, map(freeze, rows)))


def so_far(rows: int) -> list[tuple[int, int, int]]:
    """Windows of 100 that are open after so many rows: window, segment, count."""
    now = [row for row in CARS[:rows] if row["ts"] // 100 == (rows - 1) // 100]
    found = {(row["ts"] // 100, row["segment"]) for row in now}
    return sorted((w, s, sum(1 for row in now if row["segment"] == s)) for w, s in found)


@pytest.mark.parametrize("host", HOSTS)
def test_partial_results_come_at_once_with_a_flag_and_the_exact_ones_later(host: str, tmp_path: Path) -> None:
    engine = engine_on(host, tmp_path)
    query = cars(engine).window("ts", range=100).group_by("segment").agg(n=ms.count()).named("q")
    query.feedback(ms.demanded("segment >= 1", ttl=3))
    report = finish(engine)
    plain = ms.Engine(host="local")
    expected = cars(plain).window("ts", range=100).group_by("segment").agg(n=ms.count()).named("q")
    finish(plain)
    partial = query.partial.table().to_pylist()

    assert {False} == {row["is_final"] for row in partial}
    for at, epoch in enumerate(sorted({row["epoch"] for row in partial})):
        found = sorted((r["window_id"], r["segment"], r["n"]) for r in partial if r["epoch"] == epoch)
        assert [one for one in so_far(20 * (at + 1)) if one[1] >= 1] == found
    assert 3 == len({row["epoch"] for row in partial})
    assert bag(expected.table().to_pylist()) == bag(query.table().to_pylist())
    assert 0 == report["q"]["books"]["unaccounted"]
    assert [] == report["q"]["feedback"]


ASKS = {
    "sliding": lambda s: s.window("ts", range=100, slide=30).group_by("segment").agg(m=ms.median("speed")),
    "conditions above": lambda s: s.window("ts", range=90).group_by("segment").agg(n=ms.count()).where("n > 3"),
    "windows of windows": lambda s: (
        s.window("ts", range=20)
        .group_by("segment")
        .agg(n=ms.count())
        .window("window_end", range=100)
        .group_by("segment")
        .agg(total=ms.sum("n"))
    ),
    "rows without a partner": lambda s: s.join(
        s.where("speed > 60").select("ts", "segment"), on="segment", how="left", within=(0, 90)
    ),
    "first rows": lambda s: (
        s.window("ts", range=90).group_by("segment").agg(n=ms.count()).top(2, per="window_end", by="n DESC")
    ),
    "sessions": lambda s: s.window("ts", gap=30).group_by("segment").agg(n=ms.count()),
    "sorted": lambda s: s.sort("ts"),
    "distinct": lambda s: s.distinct("ts", "segment"),
    "as of": lambda s: s.join_as_of(s.where("speed > 60").select("ts", "segment", other="speed"), on="segment"),
    "rows": lambda s: s.window("ts", range=7, by="rows", partition_by="segment").agg(t=ms.sum("speed")),
    "computed": lambda s: s.compute(lambda rows: {"made": rows["speed"]}, "made BIGINT", budget=15),
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("ask", ASKS)
def test_a_demand_changes_no_final_result_whatever_is_asked(ask: str, host: str, tmp_path: Path) -> None:
    found: list[Any] = []
    for demanding in (False, True):
        engine = engine_on(host, tmp_path / str(demanding))
        query = ASKS[ask](cars(engine)).named("q")
        if demanding:
            query.feedback(
                ms.demanded(f"{'segment' if 'segment' in query.schema.names else 'left_segment'} >= 0", ttl=50)
            )
        books = finish(engine)["q"]["books"]
        found.append((bag(query.table().to_pylist()), books))

    assert found[0] == found[1]


def test_partial_results_are_those_of_a_stream_that_ends_here() -> None:
    for ask in ("sliding", "windows of windows", "first rows", "sessions"):
        engine = ms.Engine(host="local")
        query = ASKS[ask](cars(engine)).named("q")
        query.feedback(ms.demanded("segment >= 0", ttl=7))
        finish(engine)
        short = ms.Engine(host="local")
        stream = short.stream("cars", CARS[:140], progress=ms.ordered("ts"), epoch_rows=20)
        expected = ASKS[ask](stream).named("q")
        finish(short)
        looked = [row for row in query.partial.table().to_pylist() if row.pop("epoch") == 6 and not row.pop("is_final")]
        complete = [
            row for row in query.table().to_pylist() if freeze(row) in set(map(freeze, expected.table().to_pylist()))
        ]

        assert set(bag(looked)) <= set(bag(expected.table().to_pylist()))
        assert set(bag(expected.table().to_pylist())) <= {*bag(looked), *bag(complete)}


def test_nothing_is_spent_on_rows_that_wait_for_a_costly_function() -> None:
    asked: list[int] = []

    def dear(rows: pa.Table) -> dict[str, Any]:
        asked.append(rows.num_rows)
        return {"made": rows["speed"]}

    engine = ms.Engine(host="local")
    query = cars(engine).compute(dear, "made BIGINT", budget=5).window("ts", range=100).agg(n=ms.count()).named("q")
    query.feedback(ms.demanded("n >= 0", ttl=3))
    finish(engine)

    assert 400 == sum(asked)
    assert [5, 10, 15] == query.partial.table()["n"].to_pylist()


@pytest.mark.parametrize("step", STEPS)
def test_one_sink_has_both_and_each_once_whatever_step_the_plug_is_pulled_at(tmp_path: Path, step: str) -> None:
    def attempt() -> Any:
        engine = engine_on("durable", tmp_path)
        query = cars(engine).window("ts", range=100).group_by("segment").agg(n=ms.count())
        query.partial.with_finals().to_parquet(tmp_path / "both", mode="append")
        query.to_parquet(tmp_path / "out", mode="append").named("q")
        query.feedback(ms.demanded("segment = 1", ttl=30))
        return ended(engine.start(ms.available_now(), end_of_stream=True))

    with pulled(step, 3) as plug:
        error = attempt()
    if plug.pulled:
        assert error is not None
        assert attempt() is None
    rows = ds.dataset(tmp_path / "both", format="parquet").to_table().to_pylist()
    keys = [(row["window_id"], row["segment"], row["is_final"], row["epoch"]) for row in rows]
    finals = [{k: v for k, v in row.items() if k not in ("is_final", "epoch")} for row in rows if row["is_final"]]

    assert len(keys) == len(set(keys))
    assert bag(finals) == bag(rows_of(tmp_path / "out"))
    assert {1} == {row["segment"] for row in rows if not row["is_final"]}


def test_demanded_in_sql_with_a_folder_for_partial_results(tmp_path: Path) -> None:
    engine = ms.Engine(host="local")
    cars(engine)
    script = ms.Script(
        "INSERT INTO memory 'q' SELECT segment, count(*) AS n FROM cars [RANGE 100, WATTR ts] GROUP BY segment;"
        f"INSERT INTO parquet '{tmp_path / 'partial'}' SELECT * FROM PARTIAL(q);"
        "FEEDBACK DEMANDED ON q WHERE segment = 1 FOR 2 EPOCHS;"
    )
    script.bind(engine)
    finish(engine)
    rows = rows_of(tmp_path / "partial")

    assert [(1, False), (1, False)] == [(row["segment"], row["is_final"]) for row in rows]


def test_only_partial_results_can_have_finals_beside_them() -> None:
    query = cars(ms.Engine(host="local")).where("ts > 0")
    with pytest.raises(ms.PlanError, match="the late output has no complete results"):
        query.late.with_finals()


# --- doomed groups --------------------------------------------------------------------------------


UNSIGNED = pa.schema({"ts": pa.int64(), "segment": pa.int64(), "speed": pa.uint32()})
SWEEPS = {
    "count": ("n >= 10", lambda s: s.agg(n=ms.count())),
    "maximum": ("top >= 60", lambda s: s.agg(top=ms.max("speed"), n=ms.count())),
    "minimum": ("low < 45", lambda s: s.agg(low=ms.min("speed"), n=ms.count())),
    "sum of what is not negative": ("total >= 300", lambda s: s.agg(total=ms.sum("speed"))),
    "several at once": ("n >= 5 AND top >= 50 AND segment < 4", lambda s: s.agg(n=ms.count(), top=ms.max("speed"))),
}


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("sweep", SWEEPS)
def test_doomed_groups_are_forgotten_do_not_form_again_and_are_relayed(sweep: str, host: str, tmp_path: Path) -> None:
    said, aggregate = SWEEPS[sweep]
    found: dict[bool, Any] = {}
    for heeding in (False, True):
        engine = engine_on(host, tmp_path / str(heeding))
        stream = engine.stream(
            "cars", pa.Table.from_pylist(CARS, schema=UNSIGNED), progress=ms.ordered("ts"), epoch_rows=20
        )
        query = aggregate(stream.window("ts", range=100).group_by("segment")).named("q")
        patterns = [one.pattern for one in query.feedback(ms.assumed(said)).bound] if heeding else []
        guards: list[int] = []
        engine.on_epoch(lambda r, g=guards: g.append(sum(one["guards"] for one in r["queries"]["q"]["operators"])))
        report = finish(engine)["q"]
        found[heeding] = query.table().to_pylist(), report["books"], patterns, guards
    rows, books, patterns, guards = found[True]
    wanted = [row for row in found[False][0] if not any(one.matches(row) for one in patterns)]

    assert bag(wanted) == bag(rows)
    assert 0 < len(found[False][0]) - len(wanted)
    assert books["guarded"] > 50  # rows that the stream drops, because their group is doomed
    assert 0 == books["unaccounted"]
    assert max(guards) <= 2 * 6 + 2  # of windows that are over nothing stays: five groups of one window, twice


@pytest.mark.parametrize(
    ("said", "aggregate"),
    [
        ("avg >= 50", lambda s: s.agg(avg=ms.avg("speed"))),
        ("n <= 10", lambda s: s.agg(n=ms.count())),
        ("total >= 300", lambda s: s.agg(total=ms.sum("speed"))),  # a later value may be negative
        ("top <= 60", lambda s: s.agg(top=ms.max("speed"), n=ms.count())),
    ],
)
def test_what_may_still_change_is_not_swept(said: str, aggregate: Any) -> None:
    engine = ms.Engine(host="local")
    query = aggregate(cars(engine).window("ts", range=100).group_by("segment")).named("q")
    query.feedback(ms.assumed(said))
    assert 0 == finish(engine)["q"]["books"]["guarded"]


def test_a_doomed_group_stays_away_when_the_feedback_is_withdrawn_and_the_next_window_is_whole() -> None:
    engine = ms.Engine(host="local")
    query = cars(engine).window("ts", range=100).group_by("segment").agg(n=ms.count()).named("q")
    handle = query.feedback(ms.assumed("n >= 10"))
    engine.on_epoch(lambda report: handle.cancel() if report["epoch"] == 3 else None)
    finish(engine)

    # Of window 0, segments 0, 1 and 4 are doomed by then; all of the others are complete.
    assert {(w, s) for w in (1, 2, 3) for s in (0, 1, 4)} == {
        (row["window_id"], row["segment"]) for row in query.table().to_pylist()
    }
    assert {20, 40} == set(query.table()["n"].to_pylist())
