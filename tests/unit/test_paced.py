"""Pace and compute: rows that fall behind are dropped, and nothing is spent on those that will be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.plan.feedback.placing import Knobs
from support.bags import freeze

ESTIMATE = 99
READINGS = [{"ts": i, "sensor": i % 5, "speed": -1 if i % 2 else 40 + i % 20} for i in range(12000)]


class Counted:
    """An estimate, and how many rows it was asked for."""

    def __init__(self) -> None:
        self.rows = 0

    def __call__(self, rows: pa.Table) -> dict[str, Any]:
        self.rows += rows.num_rows
        return {"speed": [ESTIMATE] * rows.num_rows}


def imputed(engine: ms.Engine, how: str, *, budget: int = 9, rows: int = 4000) -> tuple[ms.Query, Counted]:
    estimate = Counted()
    sensors = engine.stream("sensors", READINGS[:rows], progress=ms.ordered("ts"), epoch_rows=100)
    clean = sensors.where("speed >= 0")
    dirty = sensors.where("speed < 0").compute(estimate, "speed BIGINT", budget=budget)
    query = clean.union(dirty) if how == "union" else clean.pace(dirty, on="ts", within=300, headroom=100)
    return query.named("q"), estimate


def run(how: str, *, silent: bool = False, **named: Any) -> tuple[ms.Query, Counted, dict[str, Any]]:
    engine = ms.Engine(host="local")
    query, estimate = imputed(engine, how, **named)
    if silent:
        engine.host.feedback.knobs = lambda _: Knobs(propagate=False)
    started = engine.start(ms.available_now(), end_of_stream=True)
    started.await_termination()
    return query, estimate, started.progress["queries"]["q"]


def test_compute_gives_the_same_rows_whatever_the_budget() -> None:
    rows = {budget: sorted(map(freeze, run("union", budget=budget)[0].table().to_pylist())) for budget in (1, 9, 10**6)}

    assert rows[1] == rows[9] == rows[10**6]
    assert 4000 == len(rows[9])


def test_rows_wait_and_punctuation_waits_behind_them() -> None:
    engine = ms.Engine(host="local")
    cars = engine.stream("cars", READINGS[:100], progress=ms.ordered("ts"), epoch_rows=10)
    counts = cars.compute(Counted(), "speed BIGINT", budget=5).window("ts", range=10).agg(n=ms.count()).named("q")
    started = engine.start(ms.available_now(), end_of_stream=True)
    started.await_termination()

    assert [10] * 10 == counts.table()["n"].to_pylist()
    assert 0 == started.progress["queries"]["q"]["books"]["unaccounted"]


def test_a_row_leaves_pace_iff_it_is_near_the_greatest_value_on_either_input() -> None:
    for late in ("left", "right"):
        engine = ms.Engine(host="local")
        ahead = engine.stream("ahead", [{"ts": 10}, {"ts": 20}], progress=ms.ordered("ts"))
        behind = engine.stream("behind", [{"ts": 16}, {"ts": 17}, {"ts": 19}], progress=ms.ordered("ts"))
        query = (
            ahead.pace(behind, on="ts", within=3) if late == "right" else behind.pace(ahead, on="ts", within=3)
        ).named("q")
        started = engine.start(ms.available_now(), end_of_stream=True)
        started.await_termination()

        assert {17, 19, 20} <= set(query.table()["ts"].to_pylist()) <= {16, 17, 19, 20}
        assert 0 == started.progress["queries"]["q"]["books"]["unaccounted"]


def test_h4_timely_rows_by_pace_that_tells_its_inputs_against_pace_alone() -> None:
    alone, spent_alone, _ = run("pace", silent=True, rows=12000)
    told, spent, report = run("pace", rows=12000)

    def timely(query: ms.Query) -> int:
        return sum(1 for row in query.table().to_pylist() if row["speed"] == ESTIMATE)

    assert timely(told) >= 5 * timely(alone)
    assert spent.rows <= 0.25 * spent_alone.rows
    assert 0 == report["books"]["unaccounted"]
    # It holds one record for each input, however long it runs.
    assert max(one["guards"] for one in report["operators"]) <= 2


def test_pace_and_compute_on_a_host_with_a_checkpoint(tmp_path: Path) -> None:
    engine = ms.Engine(host="local", checkpoint=tmp_path / "ck", partitions=2)
    query, estimate = imputed(engine, "pace")
    started = engine.start(ms.available_now(), end_of_stream=True)
    started.await_termination()
    rows = query.table().to_pylist()

    assert 2000 <= len(rows) < 4000
    assert estimate.rows < 1000
    assert 0 == started.progress["queries"]["q"]["books"]["unaccounted"]


def test_what_is_desired_is_computed_first_and_the_rows_are_the_same() -> None:
    ranks: dict[bool, list[int]] = {}
    bags: dict[bool, list[Any]] = {}
    for wanted in (False, True):
        engine = ms.Engine(host="local")
        cars = engine.stream("cars", READINGS[:500], progress=ms.ordered("ts"), epoch_rows=50)
        query = cars.compute(Counted(), "speed BIGINT", budget=20).named("q")
        if wanted:
            query.feedback(ms.desired(sensor=3))
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        rows = query.table().to_pylist()
        ranks[wanted] = [i for i, row in enumerate(rows) if row["sensor"] == 3]
        bags[wanted] = sorted(map(freeze, rows))

    assert bags[False] == bags[True]
    assert sorted(ranks[True])[50] < sorted(ranks[False])[50]


def test_desired_rows_of_an_epoch_are_the_first_that_a_sink_gets() -> None:
    engine = ms.Engine(host="local")
    cars = engine.stream("cars", READINGS[:20], progress=ms.ordered("ts"), epoch_rows=10)
    query = cars.where("ts >= 0").named("q")
    query.feedback(ms.desired("sensor = 3"))
    engine.start(ms.available_now()).await_termination()

    assert [3, 8, 0, 1, 2, 4, 5, 6, 7, 9] == query.table()["ts"].to_pylist()[:10]


@pytest.mark.parametrize(
    ("ask", "fact"),
    [
        (lambda s: s.pace(s.select("ts"), on="ts", within=3), "other columns"),
        (lambda s: s.pace(s, on="tz", within=3), "no column 'tz'"),
        (lambda s: s.compute(3, "speed BIGINT"), "cannot be called"),
        (lambda s: s.compute(Counted(), "speed BIGINT", cost=10, budget=5), "no row is ever computed"),
        (lambda s: s.compute(Counted(), "ts BIGINT"), "by which its stream progresses"),
        (lambda s: s.select("speed").compute(Counted(), "speed BIGINT"), "makes progress"),
    ],
)
def test_what_cannot_be_is_refused(ask: Any, fact: str) -> None:
    stream = ms.Engine(host="local").stream("cars", READINGS[:20], progress=ms.ordered("ts"))
    with pytest.raises(ms.MillstreamError, match=fact):
        ask(stream)


def test_pace_in_sql() -> None:
    engine = ms.Engine(host="local")
    engine.stream("a", [{"ts": 1, "x": 1}, {"ts": 9, "x": 1}], progress=ms.ordered("ts"))
    engine.stream("b", [{"ts": 2, "x": 2}, {"ts": 8, "x": 2}], progress=ms.ordered("ts"))
    query = engine.sql(
        "SELECT ts, x FROM a UNION ALL SELECT ts, x FROM b WHERE x > 0 WITH PACE ON max(a.ts, b.ts) 3", name="q"
    )
    engine.start(ms.available_now()).await_termination()

    assert [9, 8] == query.table()["ts"].to_pylist()


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("SELECT ts FROM a UNION SELECT ts FROM a WITH PACE ON ts 3", "PACE is for UNION ALL"),
        ("SELECT ts FROM a UNION ALL SELECT ts FROM a WITH PACE ON max(a.ts, a.x) 3", "one column of all streams"),
        ("SELECT ts FROM a UNION ALL SELECT ts FROM a WITH PACE ON ts soon", "is no length"),
        ("SELECT ts FROM a UNION ALL SELECT ts FROM a WITH PACE ON tz 3", "no column 'tz'"),
        ("SELECT ts FROM a WITH PACE ON ts 3", "WITH"),
    ],
)
def test_a_pace_that_is_wrong_says_where(text: str, fact: str) -> None:
    engine = ms.Engine(host="local")
    engine.stream("a", [{"ts": 1, "x": 1}], progress=ms.ordered("ts"))
    with pytest.raises(ms.SqlError, match=fact):
        engine.sql(text)


@pytest.mark.parametrize("host", ["in memory", "durable"])
def test_a_thrifty_join_tells_the_dense_side_what_finds_no_partner(host: str, tmp_path: Path) -> None:
    sensors = [{"ts": ts, "k": k, "speed": 50} for ts in range(600) for k in range(4)]
    probes = [{"ts": ts, "k": ts % 4, "probe": 60} for ts in (5, 130, 131, 420, 599)]
    found: dict[bool, Any] = {}
    for thrifty in (False, True):
        options: dict[str, Any] = {"checkpoint": tmp_path / str(thrifty), "partitions": 3} if host == "durable" else {}
        engine = ms.Engine(host="local", **options)
        dense = engine.stream("dense", sensors, progress=ms.ordered("ts"), epoch_rows=100)
        sparse = engine.stream("sparse", probes, progress=ms.ordered("ts"))
        averages = dense.window("ts", range=10).group_by("k").agg(speed=ms.avg("speed"))
        others = sparse.window("ts", range=10).group_by("k").agg(probe=ms.avg("probe"))
        query = averages.join(others, on=["k", "window_end"], within=0, time="window_end", thrifty=thrifty).named("q")
        started = engine.start(ms.available_now(), end_of_stream=True)
        started.await_termination()
        report = started.progress["queries"]["q"]
        found[thrifty] = sorted(map(freeze, query.table().to_pylist())), report["books"]

    assert found[False][0] == found[True][0]
    assert 5 == len(found[True][0])
    assert 0 == found[False][1]["guarded"] == found[True][1]["unaccounted"]
    assert found[True][1]["guarded"] > 1200


def test_only_a_join_of_the_same_time_can_be_thrifty() -> None:
    stream = ms.Engine(host="local").stream("cars", READINGS[:20], progress=ms.ordered("ts"))
    wrong: list[dict[str, Any]] = [{"within": 3}, {"within": 0, "how": "left"}]
    for options in wrong:
        with pytest.raises(ms.PlanError, match="can be thrifty"):
            stream.join(stream, on="sensor", thrifty=True, **options)


@pytest.mark.parametrize("host", ["in memory", "durable"])
def test_an_impatient_join_has_its_pairs_earlier_and_the_same_ones(host: str, tmp_path: Path) -> None:
    sensors = [{"ts": ts, "k": ts % 10, "speed": -1} for ts in range(1000)]
    probes = [{"ts": ts, "k": 3, "probe": 60} for ts in (3, 503, 993)]
    ranks: dict[bool, list[int]] = {}
    bags: dict[bool, list[Any]] = {}
    for impatient in (False, True):
        options: dict[str, Any] = (
            {"checkpoint": tmp_path / str(impatient), "partitions": 2} if host == "durable" else {}
        )
        engine = ms.Engine(host="local", **options)
        dense = engine.stream("dense", sensors, progress=ms.ordered("ts"), epoch_rows=100)
        sparse = engine.stream("sparse", probes, progress=ms.ordered("ts"))
        costly = dense.compute(Counted(), "speed BIGINT", budget=20)
        query = costly.join(sparse, on="k", within=(-200, 200), impatient=impatient).named("q")
        epochs: list[int] = []
        engine.on_epoch(lambda report, epochs=epochs: epochs.append(report["queries"]["q"]["rows_out"]))
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        ranks[impatient] = epochs
        bags[impatient] = sorted(map(freeze, query.table().to_pylist()))

    assert bags[False] == bags[True]
    assert sum(ranks[True]) > sum(ranks[False])  # more of them after each epoch


def test_only_an_inner_join_with_keys_can_be_impatient() -> None:
    stream = ms.Engine(host="local").stream("cars", READINGS[:20], progress=ms.ordered("ts"))
    with pytest.raises(ms.PlanError, match="can be impatient"):
        stream.join(stream, on="sensor", how="left", within=3, impatient=True)
