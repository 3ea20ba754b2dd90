"""Experiments with feedback: an instrument that speaks, knobs of operators, and contracts that refuse what stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millstream as ms

CARS = [{"ts": i, "segment": i % 8, "speed": 40 + i % 30} for i in range(400)]
HOSTS = ["in memory", "durable"]


def engine_on(host: str, folder: Path) -> ms.Engine:
    return ms.Engine(host="local", **({"checkpoint": folder / "ck", "partitions": 2} if host == "durable" else {}))


def cars(engine: ms.Engine) -> ms.Stream:
    return engine.stream("cars", CARS, progress=ms.ordered("ts"), epoch_rows=20)


def finish(engine: ms.Engine, **named: Any) -> dict[str, Any]:
    started = engine.start(ms.available_now(), end_of_stream=True, **named)
    started.await_termination()
    return dict(started.progress["queries"]["q"])


@pytest.mark.parametrize("host", HOSTS)
def test_it_speaks_after_so_many_rows_and_operators_below_leave_them_out(host: str, tmp_path: Path) -> None:
    engine = engine_on(host, tmp_path)
    counts = cars(engine).window("ts", range=40).group_by("segment").agg(n=ms.count())
    query = counts.instrument(ms.assumed("window_id < 6"), every=10).named("q")
    report = finish(engine)
    found = sorted({row["window_id"] for row in query.table().to_pylist()})

    # It speaks when ten windows have come; until then they go on.
    assert set(range(6, 10)) <= set(found)
    assert {5} == set(query.table()["n"].to_pylist())
    assert len(found) < 10
    assert report["operators"][0]["guarded"] > 0  # the stream itself drops rows
    assert 0 == report["books"]["unaccounted"]
    assert 0 == sum(one["guards"] for one in report["operators"])  # punctuation has passed it


@pytest.mark.parametrize("once", [False, True])
def test_it_names_the_values_of_columns_of_every_nth_row_or_of_the_first(*, once: bool) -> None:
    engine = ms.Engine(host="local")
    query = cars(engine).instrument(on=["ts", "segment"], every=7, once=once).named("q")
    operators: list[int] = []
    engine.on_epoch(lambda report: operators.append(report["queries"]["q"]["operators"][0]["guards"]))
    finish(engine)

    assert 400 == query.table().num_rows  # a value that has come does not come again
    assert max(operators) <= (1 if once else 3)


def test_in_an_experiment_with_ten_epochs_the_named_segment_is_left_out_from_the_next_epoch_on() -> None:
    engine = ms.Engine(host="local")
    query = cars(engine).instrument(on=["segment"], every=4, once=True).named("q")
    report = finish(engine, allow_unbounded=True)
    shown = [row["ts"] for row in query.table().to_pylist() if row["segment"] == 3]

    assert [3, 11, 19] == shown  # the fourth row has segment 3, and the rest of its epoch is under way
    assert 47 == report["books"]["guarded"]


def test_a_plan_whose_guards_would_stay_for_ever_is_refused() -> None:
    every: list[dict[str, Any]] = [
        {"on": ["segment"]}, {"said": ms.assumed("segment < 4")}, {"said": ms.assumed("ts >= 9")},
    ]  # fmt: skip
    for said in every:
        engine = ms.Engine(host="local")
        cars(engine).instrument(**said).named("q")
        with pytest.raises(ms.ContractError, match="that would stay for ever: its input promises"):
            engine.start(ms.available_now())


def test_a_literal_beside_a_bound_does_not_cover_the_bound_alone() -> None:
    engine = ms.Engine(host="local")
    rows = [{"ts": 1, "k": "a"}]
    stream = engine.stream("s", rows, progress=ms.per_group("k", ms.ordered("ts")))
    stream.instrument(ms.assumed("ts < 5")).named("q")
    with pytest.raises(ms.ContractError, match="would stay for ever"):
        engine.start(ms.available_now())

    engine = ms.Engine(host="local")
    stream = engine.stream("s", rows, progress=ms.per_group("k", ms.ordered("ts")))
    stream.instrument(ms.assumed("ts < 5 AND k = 'a'")).named("q")
    engine.start(ms.available_now()).await_termination()


@pytest.mark.parametrize(
    ("ask", "fact"),
    [
        (lambda s: s.instrument(), "does not know what to say"),
        (lambda s: s.instrument(ms.assumed("ts < 5"), every=0), "does not know what to say, or when"),
        (lambda s: s.instrument(ms.desired("ts < 5")), "not desired"),
        (lambda s: s.instrument(on=["tz"]), "no column 'tz'"),
        (lambda s: s.instrument(ms.assumed("tz < 5")), "no column of the query"),
    ],
)
def test_what_an_instrument_cannot_say_is_refused(ask: Any, fact: str) -> None:
    with pytest.raises(ms.MillstreamError, match=fact):
        ask(cars(ms.Engine(host="local")))


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("kind", ["aggregate", "join", "select"])
def test_with_a_knob_turned_savings_end_at_that_operator_and_results_are_the_same(
    kind: str, host: str, tmp_path: Path
) -> None:
    found: dict[str, Any] = {}
    for how in ("all", "told nobody", "let all through"):
        engine = engine_on(host, tmp_path / how)
        stream = cars(engine).where("speed > 0")
        pairs = stream.join(stream.select("ts", "segment", x="speed"), on=["segment", "ts"], within=0)
        query = pairs.window("ts", range=40).group_by("segment").agg(n=ms.count()).named("q")
        query.feedback(ms.assumed("segment < 4"))
        if how != "all":
            engine.knobs(kind, propagate=False, exploit=how == "told nobody")
        report = finish(engine)
        operators = {one["operator"]: one for one in report["operators"]}
        found[how] = sorted(map(repr, query.table().to_pylist())), operators["source"]["guarded"]
    rows, dropped = found["all"]

    assert 200 == dropped
    assert 0 == found["told nobody"][1] == found["let all through"][1]
    assert rows == found["told nobody"][0]
    assert rows == found["let all through"][0] or kind == "aggregate"


def test_a_knob_of_no_operator_is_refused() -> None:
    with pytest.raises(ms.PlanError, match="no kind of operator 'jion'"):
        ms.Engine(host="local").knobs("jion")
