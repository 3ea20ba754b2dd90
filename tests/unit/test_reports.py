"""Reports: one shape before, during and after a run; a lag that says its unit; a callback after each epoch."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from support import in_process

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROWS = [{"ts": NOON + timedelta(seconds=s), "k": "ab"[s % 2]} for s in (1, 3, 2, 9, 14)]


@pytest.fixture(params=["local", "spark"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> ms.Engine:
    """An engine on each host, with a query."""
    made = ms.Engine(host="local") if request.param == "local" else in_process.engine(tmp_path / "checkpoint", 2)
    stream = made.stream("s", ROWS, progress=ms.bounded_disorder("ts", "5 seconds"), epoch_rows=2)
    stream.where("k = 'a' or k = 'b'").window("ts", range="5 seconds").group_by("k").agg(n=ms.count()).named("q")
    return made


def shape(value: Any) -> Any:
    """The keys of a report, all the way down; lists by the shape of their first item."""
    if isinstance(value, dict):
        return {key: shape(one) for key, one in value.items() if key != "duration_ms"}
    return [shape(value[0])] if isinstance(value, list) and value else "value"


def test_a_report_has_one_shape_before_the_first_epoch_and_after_the_last(engine: ms.Engine) -> None:
    gate = engine.stream("gate", lambda: None, schema="x BIGINT")
    gate.named("g")
    run = engine.start(ms.available_now())
    before = run._before
    run.await_termination()

    assert shape(before) == shape(run.progress)
    assert (-1, 0) == (before["epoch"], before["input_rows"])
    assert 0 == sum(before["queries"]["q"]["books"].values())
    assert len(ROWS) == run.progress["sources"]["s"]["rows_in"]


def test_a_run_that_found_nothing_has_a_report_of_that_shape() -> None:
    engine = ms.Engine(host="local")
    engine.stream("s", [], schema="ts BIGINT", progress=ms.ordered("ts")).named("q")
    run = engine.start(ms.once())
    run.await_termination()
    empty = ms.Engine(host="local")
    empty.stream("s", iter(()), schema="ts BIGINT", progress=ms.ordered("ts")).named("q")
    other = empty.start(ms.available_now())
    other.await_termination()

    assert shape(run.progress) == shape(other.progress)
    assert 0 == other.progress["input_rows"]


def test_spark_names_are_answered_to_as_well(engine: ms.Engine) -> None:
    run = engine.start(ms.available_now())
    run.await_termination()
    report = run.recent_progress[0]

    assert report["input_rows"] == report["numInputRows"] == 2
    assert report["batch"] == report["batchId"]
    assert report["duration_ms"] is report["durationMs"]
    assert not [name for name in report if any(letter.isupper() for letter in name)]
    with pytest.raises(KeyError, match="rowsIn"):
        report["rowsIn"]


def test_a_lag_says_its_unit(engine: ms.Engine) -> None:
    run = engine.start(ms.available_now())
    run.await_termination()
    stream = run.progress["sources"]["s"]

    assert (5_000_000, "us", 5.0) == (stream["lag"], stream["lag_unit"], stream["lag_seconds"])


@pytest.mark.parametrize(
    ("values", "span", "expected"),
    [
        ([10, 30], 5, (5, "1", None)),
        ([date(2026, 1, 1), date(2026, 1, 9)], "2 days", (2, "days", 172800.0)),
        ([Decimal("1.25"), Decimal("7.50")], "0.5", (50, "0.01", None)),
    ],
)
def test_lags_of_other_attributes(values: list[Any], span: Any, expected: tuple[Any, ...]) -> None:
    engine = ms.Engine(host="local")
    schema = "x DECIMAL(10, 2)" if isinstance(values[0], Decimal) else None
    rows = [{"x": value} for value in values]
    engine.stream("s", rows, schema=schema, progress=ms.bounded_disorder("x", span)).named("q")
    run = engine.start(ms.available_now())
    run.await_termination()
    stream = run.progress["sources"]["s"]

    assert expected == (stream["lag"], stream["lag_unit"], stream["lag_seconds"])


def test_a_callback_hears_every_report(engine: ms.Engine) -> None:
    heard: list[dict[str, Any]] = []
    engine.on_epoch(heard.append)
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    assert run.recent_progress == heard
    assert len(ROWS) == sum(one["input_rows"] for one in heard)


def test_what_a_callback_raises_is_a_failure_of_the_run_with_its_cause(engine: ms.Engine) -> None:
    @engine.on_epoch
    def refuse(report: dict[str, Any]) -> None:
        if report["epoch"] == 1:
            raise ValueError("enough")

    run = engine.start(ms.available_now())

    with pytest.raises(ms.RunError, match="refuse failed after epoch 1: ValueError: enough") as caught:
        run.await_termination()
    assert isinstance(caught.value.__cause__, ValueError)
    engine._listeners.clear()
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    counted = sum(row["n"] for row in engine._queries["q"].table().to_pylist())
    assert len(ROWS) == counted  # nothing twice, nothing lost


def test_what_cannot_be_called_hears_nothing(engine: ms.Engine) -> None:
    with pytest.raises(ms.PlanError, match="'loud' cannot be called"):
        engine.on_epoch("loud")  # type: ignore[arg-type]  # on purpose


def ordered(made: ms.Engine, rows: list[dict[str, Any]]) -> ms.Query:
    return made.stream("s", rows, progress=ms.ordered("ts")).window("ts", range=5).agg(n=ms.count()).named("q")


@pytest.mark.parametrize("host", ["local", "tasks"])
def test_a_run_that_finds_nothing_new_reports_how_far_the_streams_are(host: str, tmp_path: Path) -> None:
    made = ms.Engine(host="local") if host == "local" else in_process.engine(tmp_path, 2)
    ordered(made, [{"ts": 3}, {"ts": 12}])
    first = made.start(ms.available_now())
    first.await_termination()
    if host == "tasks":
        made = in_process.engine(tmp_path, 2)
        ordered(made, [{"ts": 3}, {"ts": 12}])
    second = made.start(ms.available_now())
    second.await_termination()

    assert [] == second.recent_progress
    assert ("12", 2) == (str(second.progress["sources"]["s"]["progress"]), second.progress["sources"]["s"]["rows_in"])
    same = ("epoch", "sources", "queries")
    assert [first.progress[name] for name in same] == [second.progress[name] for name in same]


def test_what_fails_at_the_start_fails_in_no_epoch(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    made = ms.Engine(host="local")
    ordered(made, [{"ts": 3}]).to_parquet(tmp_path / "file" / "out")
    with pytest.raises(ms.SinkError) as caught:
        made.start(ms.available_now()).await_termination()

    assert [] == getattr(caught.value, "__notes__", [])


def test_what_fails_in_an_epoch_says_in_which() -> None:
    def fail(*_: object) -> None:
        raise ms.SinkError("no")

    made = ms.Engine(host="local")
    ordered(made, [{"ts": 3}, {"ts": 12}]).for_each(fail)
    with pytest.raises(ms.MillstreamError) as caught:
        made.start(ms.available_now()).await_termination()

    assert ["in epoch 0 of 'run'"] == caught.value.__notes__
