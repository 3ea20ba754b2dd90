"""Feedback: the worked examples and counter-examples, and how long what a reader says is heeded."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.feedback import Feedback, Intent
from millstream.core.pattern import Equal, From, Pattern, UpTo
from millstream.core.window import Sliding
from millstream.ops.guard import wanted
from millstream.plan import nodes
from millstream.plan.feedback.placing import Knobs, place
from millstream.runtime.batch import Batch
from millstream.runtime.feedback import FeedbackLoop
from millstream.state.codec import plain, restore
from millstream.state.files import read_table
from support.bags import freeze
from support.crash import STEPS, ended, pulled
from support.disk import rows_of
from support.feedback import check_def_1, query_of, run, some_case

EVER = 10**6
CARS = [{"ts": i, "segment": i % 8, "speed": 40 + i % 30} for i in range(400)]


def cars(engine: ms.Engine, rows: Sequence[dict[str, Any]] = CARS, each: int = 20) -> ms.Stream:
    return engine.stream("cars", list(rows), progress=ms.ordered("ts"), epoch_rows=each)


def averages(engine: ms.Engine, rows: Sequence[dict[str, Any]] = CARS) -> ms.Query:
    return cars(engine, rows).window("ts", range=40).group_by("segment").agg(n=ms.count(), top=ms.max("speed"))


def finish(engine: ms.Engine, **named: Any) -> dict[str, Any]:
    started = engine.start(ms.available_now(), end_of_stream=True, allow_unbounded=True, **named)
    started.await_termination()
    return dict(started.progress["queries"])


# --- feedback as a value -------------------------------------------------------------------------


def test_feedback_goes_to_plain_values_and_back() -> None:
    loop = FeedbackLoop()
    loop.send("q", Feedback(Intent.ASSUMED, Pattern({"a": UpTo(4), "k": Equal("x")}), ttl=7), 3)
    loop.send("q", Feedback(Intent.DESIRED, Pattern({"a": From(9)})), 3)
    loop.lingering = {"node": (Pattern({"window_start": UpTo(5)}),)}
    again = FeedbackLoop()
    again.restore(restore(json.loads(json.dumps(plain(loop.to_plain())))), {})

    assert loop.sent == again.sent
    assert loop.lingering == again.lingering
    assert loop.numbers == again.numbers


def test_a_column_that_the_output_does_not_have_is_refused() -> None:
    query = averages(ms.Engine(host="local")).named("q")
    with pytest.raises(ms.SchemaError, match="names 'speed', which is no column of the query"):
        query.feedback(ms.assumed("speed < 50", ttl=1))


def test_feedback_without_a_condition_is_refused() -> None:
    with pytest.raises(ms.PatternError, match="speaks of every row"):
        ms.assumed(ttl=3)


def test_a_value_of_another_type_is_refused() -> None:
    query = averages(ms.Engine(host="local")).named("q")
    with pytest.raises(ms.MillstreamError, match="segment"):
        query.feedback(ms.assumed(segment="north", ttl=1))


def test_a_guard_drops_a_row_iff_some_record_matches_it_fully_and_null_only_where_anything_does() -> None:
    rows = pa.table({"a": [1, 5, None, 9], "b": [3, 3, 3, None]})
    records = (Pattern({"a": UpTo(4), "b": Equal(3)}), Pattern({"a": From(9)}))

    kept = wanted(records, rows)
    assert kept is not None
    assert [False, True, True, False] == kept.tolist()


# --- lifetime ------------------------------------------------------------------------------------


def test_a_record_goes_when_punctuation_has_passed_it() -> None:
    engine = ms.Engine(host="local")
    query = averages(engine).named("q")
    handle = query.feedback(ms.assumed("window_id < 2"))
    seen: list[tuple[Any, bool]] = []
    engine.on_epoch(lambda report: seen.append((report["sources"]["cars"]["progress"], handle.in_force)))
    finish(engine)
    # Window 1 ends at 80; in order, the bound of an epoch is its greatest value.
    assert [True] * 4 == [heeded for _, heeded in seen[:4]]
    assert not any(heeded for _, heeded in seen[5:])


@pytest.mark.parametrize("said", ["window_id >= 2", "n >= 50", "segment = 3"])
def test_what_no_punctuation_can_pass_has_a_limit_and_the_report_says_so(said: str) -> None:
    engine = ms.Engine(host="local")
    query = averages(engine).named("q")
    assert [3] == [one.ttl for one in query.feedback(ms.assumed(said, ttl=3)).bound]
    assert [1000] == [one.ttl for one in query.feedback(ms.assumed(said)).bound]
    (one,) = finish(engine)["q"]["feedback"]

    assert one["until"] == 1000
    assert "for 1000 epochs" in one["feedback"]


@pytest.mark.parametrize("said", ["window_id < 2", "window_id = 2", "window_end <= 80 AND segment = 3"])
def test_what_punctuation_passes_has_no_limit(said: str) -> None:
    query = averages(ms.Engine(host="local")).named("q")
    assert [None] == [one.ttl for one in query.feedback(ms.assumed(said)).bound]


def test_feedback_that_is_sent_again_is_renewed_and_held_once() -> None:
    engine = ms.Engine(host="local")
    query = averages(engine).named("q")
    engine.on_epoch(lambda _: query.feedback(ms.assumed("segment < 4", ttl=2)) and None)
    query.feedback(ms.assumed("segment < 4", ttl=2))
    report = finish(engine)["q"]

    assert {4, 5, 6, 7} == set(query.table()["segment"].to_pylist())
    assert 1 == len(report["feedback"])


def test_feedback_holds_for_as_many_epochs_as_it_says() -> None:
    engine = ms.Engine(host="local")
    query = cars(engine).where("ts >= 0").named("q")
    query.feedback(ms.assumed("segment >= 0", ttl=3))
    finish(engine)

    assert list(range(60, 400)) == query.table()["ts"].to_pylist()


def test_a_record_that_a_newer_one_covers_is_replaced_and_only_one_is_held() -> None:
    engine = ms.Engine(host="local")
    query = averages(engine).named("q")
    for bound in range(1, 101):
        query.feedback(ms.assumed(f"window_id < {bound}"))
    assert 0 == len(engine.host.feedback.sent)  # they wait for the start
    report = finish(engine)["q"]

    assert 1 >= len(report["feedback"])
    assert 0 == query.table().num_rows


def test_too_many_messages_that_stay_are_refused() -> None:
    loop = FeedbackLoop()
    for value in range(64):
        loop.send("q", Feedback(Intent.ASSUMED, Pattern({"a": Equal(value)}), ttl=9), 0)
    with pytest.raises(ms.PlanError, match="64 feedbacks are in force"):
        loop.send("q", Feedback(Intent.ASSUMED, Pattern({"b": Equal(1)}), ttl=9), 0)


def test_after_cancel_rows_come_again_and_results_as_soon_as_they_are_whole() -> None:
    plain_engine, engine = ms.Engine(host="local"), ms.Engine(host="local")
    expected = averages(plain_engine).named("q")
    finish(plain_engine)
    query = averages(engine).named("q")
    handle = query.feedback(ms.assumed("segment < 4", ttl=EVER))
    engine.on_epoch(lambda report: handle.cancel() if report["epoch"] == 4 else None)
    report = finish(engine)["q"]

    shown = {(row["window_id"], row["segment"]) for row in query.table().to_pylist()}
    # Rows up to 99 had come: window 2 begins at 80 and has lost some, window 3 has all of its own.
    assert {(w, s) for w in range(10) for s in range(8) if s >= 4 or w >= 3} == shown
    assert {} == {
        key: 1 for key in shown if key not in {(r["window_id"], r["segment"]) for r in expected.table().to_pylist()}
    }
    assert 0 == report["operators"][-1]["guards"]
    assert 0 == len(engine.host.feedback.lingering)


def test_a_viewport_that_moves_100_times_leaves_guards_flat_and_answers_exact() -> None:
    rows = [{"ts": i, "segment": i % 8, "speed": 40 + i % 30} for i in range(2400)]
    plain_engine, engine = ms.Engine(host="local"), ms.Engine(host="local")
    expected = averages(plain_engine, rows).named("q")
    finish(plain_engine)
    query = averages(engine, rows).named("q")
    handles: list[Any] = []
    guards: list[int] = []
    state: list[int] = []
    views: dict[int, range] = {}

    def move(report: dict[str, Any]) -> None:
        guards.append(sum(one["guards"] for one in report["queries"]["q"]["operators"]))
        state.append(sum(one["state_rows"] for one in report["queries"]["q"]["operators"]))
        low = report["epoch"] % 5
        views[report["epoch"] + 1] = range(low, low + 4)
        for handle in handles:
            handle.cancel()
        handles[:] = [
            query.feedback(ms.assumed(f"segment < {low}", ttl=EVER)),
            query.feedback(ms.assumed(f"segment > {low + 3}", ttl=EVER)),
        ]

    engine.on_epoch(move)
    finish(engine)
    everything = [tuple(row.values()) for row in expected.table().to_pylist()]
    shown = [tuple(row.values()) for row in query.table().to_pylist()]

    assert 100 < len(guards)
    assert max(guards[5:]) <= 16
    assert set(shown) <= set(everything)
    assert len(shown) == len(set(shown))
    assert 0 < len(shown) < len(everything)
    assert max(state[5:]) <= 8
    # What was in view while its window was open, and until it left, is there.
    seen = {(row["window_id"], row["segment"]) for row in query.table().to_pylist()}
    for window in range(1, 58):
        during = [views[epoch] for epoch in range(2 * window, 2 * window + 3)]
        assert {(window, s) for s in range(8) if all(s in view for view in during)} <= seen


# --- operators: the worked examples ---------------------------------------------------------------


def joined(first: list[tuple[int, int]], second: list[tuple[int, int]], said: str) -> list[tuple[int, ...]]:
    """S1(a, b) joined with S2(b, c) on b: S2 comes first, then the feedback, then S1 row by row."""
    engine = ms.Engine(host="local")
    schema = pa.schema({"a": pa.int64(), "b": pa.int64()})
    epochs = [[], *([{"a": a, "b": b}] for a, b in first)]
    left = engine.stream("s1", [pa.Table.from_pylist(rows, schema=schema) for rows in epochs], schema=schema)
    right = engine.stream("s2", [{"b": b, "c": c} for b, c in second], schema="b BIGINT, c BIGINT")
    query = left.join(right, on="b").select("a", "b", "c").named("q")
    query.feedback(ms.assumed(said, ttl=EVER))
    finish(engine)
    return sorted(tuple(row.values()) for row in query.table().to_pylist())


FIRST = [(1, 1), (2, 1), (3, 1), (4, 1)]


@pytest.mark.parametrize(
    ("said", "second", "expected"),
    [
        ("a <= 3 AND c = 2", [(1, 2)], [(4, 1, 2)]),
        ("a <= 3 AND b = 1 AND c = 2", [(1, 1), (1, 2)], [(1, 1, 1), (2, 1, 1), (3, 1, 1), (4, 1, 1), (4, 1, 2)]),
        ("a <= 3 AND b = 1", [(1, 1), (1, 2)], [(4, 1, 1), (4, 1, 2)]),
    ],
)
def test_the_three_counter_examples_of_joins_keep_the_pair_that_is_wanted(
    said: str, second: list[tuple[int, int]], expected: list[tuple[int, ...]]
) -> None:
    assert expected == joined(FIRST, second, said)


def responses(query: ms.Query, **said: Any) -> dict[int, str]:
    found = query.node.responds(Pattern({name: Equal(value) for name, value in said.items()}))
    return {port: str(one) for port, one in found.inputs.items()}


def two(engine: ms.Engine, how: str = "inner") -> ms.Query:
    left = engine.stream("a", [{"a": 1, "t": 1, "id": 1}], progress=ms.ordered("t"))
    right = engine.stream("b", [{"t": 1, "id": 1, "b": 1}], progress=ms.ordered("t"))
    return left.join(right, on=["t", "id"], how=how, within=0, time="t")


def test_joins_tell_each_side_what_it_can_say_in_its_own_columns() -> None:
    query = two(ms.Engine(host="local"))

    assert {0: "id = 4, t = 3", 1: "id = 4, t = 3"} == responses(query, t=3, id=4)
    assert {0: "a = 50"} == responses(query, a=50)
    assert {0: "a = 50, t = 3"} == responses(query, a=50, t=3)
    assert {} == responses(query, a=50, b=50)
    assert {} == responses(query, a=50, t=3, b=50)


@pytest.mark.parametrize(("how", "sides"), [("left", [0]), ("full", []), ("semi", [0]), ("anti", [0])])
def test_where_rows_without_a_partner_leave_only_their_own_side_may_lose_rows(how: str, sides: list[int]) -> None:
    query = two(ms.Engine(host="local"), how)

    assert sides == list(query.node.responds(Pattern({"a": Equal(50)})).inputs)


def test_project_relays_only_columns_that_go_on_as_they_are() -> None:
    query = cars(ms.Engine(host="local")).select("ts", s="segment", t="segment", double="speed * 2")

    assert {0: "segment = 3"} == responses(query, s=3)
    assert {0: "segment = 3"} == responses(query, s=3, t=3)
    assert {} == responses(query, double=80)
    assert {} == responses(query, s=3, double=80)


def test_union_relays_to_all_its_inputs_and_keeps_duplicates() -> None:
    engine = ms.Engine(host="local")
    stream = cars(engine, CARS[:16])
    query = stream.union(stream).named("q")
    query.feedback(ms.assumed("segment < 4", ttl=EVER))
    finish(engine)

    assert {0: "segment = 3", 1: "segment = 3"} == responses(query, segment=3)
    assert 16 == query.table().num_rows
    assert {4, 5, 6, 7} == set(query.table()["segment"].to_pylist())


def test_an_average_that_is_ignored_is_looked_at_when_it_is_complete_and_not_before() -> None:
    engine = ms.Engine(host="local")
    rows = [{"ts": 1, "speed": 51}, {"ts": 2, "speed": 31}, {"ts": 11, "speed": 60}, {"ts": 21, "speed": 1}]
    stream = engine.stream("s", rows, progress=ms.ordered("ts"), epoch_rows=1)
    query = stream.window("ts", range=10).agg(avg=ms.avg("speed")).named("q")
    query.feedback(ms.assumed("avg >= 50", ttl=EVER))
    books = finish(engine)["q"]["books"]

    assert {} == responses(query, avg=51.0)
    assert [41.0, 1.0] == query.table()["avg"].to_pylist()
    assert 4 == books["accepted"]


def test_a_maximum_that_is_ignored_up_to_a_bound_needs_no_rows_up_to_it() -> None:
    schema = pa.schema([pa.field("ts", pa.int64()), pa.field("x", pa.int64(), nullable=False)])
    rows = pa.Table.from_pylist([{"ts": i, "x": i * 7 % 10} for i in range(100)], schema=schema)
    made: dict[bool, tuple[list[Any], int]] = {}
    for heeding in (False, True):
        engine = ms.Engine(host="local")
        stream = engine.stream("s", rows, progress=ms.ordered("ts"), epoch_rows=10)
        query = stream.window("ts", range=3).agg(top=ms.max("x")).named("q")
        if heeding:
            query.feedback(ms.assumed("top <= 7", ttl=EVER))
        books = finish(engine)["q"]["books"]
        made[heeding] = [row for row in query.table().to_pylist() if row["top"] > 7], books["guarded"]

    assert made[False][0] == made[True][0]
    assert made[True][1] == sum(1 for i in range(100) if i * 7 % 10 <= 7)


def test_distinct_leaves_out_only_by_the_columns_that_tell_rows_apart() -> None:
    query = cars(ms.Engine(host="local")).distinct("ts", "segment")

    assert {0: "segment = 3"} == responses(query, segment=3)
    assert {} == responses(query, speed=41)


def test_a_store_leaves_out_only_what_all_its_readers_ignore() -> None:
    engine = ms.Engine(host="local")
    stream = cars(engine)
    one = stream.window("ts", range=40).group_by("segment").agg(n=ms.count()).named("one")
    other = stream.window("ts", range=80, slide=40).group_by("segment").agg(n=ms.count()).named("other")
    one.feedback(ms.assumed("segment < 4", ttl=EVER))
    other.feedback(ms.assumed("segment >= 2", ttl=EVER))
    report = finish(engine)

    assert {4, 5, 6, 7} == set(one.table()["segment"].to_pylist())
    assert {0, 1} == set(other.table()["segment"].to_pylist())
    assert {5} == set(one.table()["n"].to_pylist())
    # Both ignore segments 2 and 3.
    assert 100 == report["one"]["books"]["guarded"] == report["other"]["books"]["guarded"]


def test_a_query_that_comes_to_a_store_which_has_left_out_rows_has_no_wrong_window() -> None:
    engine = ms.Engine(host="local")
    stream = cars(engine)
    first = stream.window("ts", range=40).group_by("segment").agg(n=ms.count()).named("first")
    first.feedback(ms.assumed("segment < 4", ttl=EVER))
    late: list[ms.Query] = []

    def come(report: dict[str, Any]) -> None:
        if report["epoch"] == 4:
            late.append(
                stream.window("ts", range=40).group_by("segment").agg(n=ms.count(), s=ms.sum("speed")).named("late")
            )

    engine.on_epoch(come)
    finish(engine)

    assert {5} == set(late[0].table()["n"].to_pylist())
    assert set(range(8)) == set(late[0].table()["segment"].to_pylist())


def behind(stream: ms.Stream) -> ms.Stream:
    """A stream of which nothing comes, so that others wait for it."""
    schema = pa.schema({"ts": pa.int64(), "segment": pa.int64(), "x": pa.int64()})
    return stream.engine.stream("behind", [schema.empty_table()], schema=schema, progress=ms.ordered("ts"))


def held_segments(engine: ms.Engine) -> set[int]:
    """The segments of the road of which some operator holds anything."""
    if hasattr(engine.host, "graph"):
        stores = [store for one in engine.host.graph.vertices.values() for store in one.operator.stores]
        tables = [table for store in stores for segment in store.segments for table in segment.tables.values()]
    else:
        saved = [written for one in engine.host.ledger.segments for written in one.tables.values()]
        tables = [read_table(engine.host.storage, written.key) for written in saved]
    return {value for table in tables if "segment" in table.column_names for value in table["segment"].to_pylist()}


@pytest.mark.parametrize("host", ["in memory", "durable"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.window("ts", range=300).group_by("segment").agg(n=ms.count()),
        lambda s: s.window("ts", range=300, slide=100).group_by("segment").agg(n=ms.count()),
        lambda s: s.window("ts", range=300).group_by("segment").agg(m=ms.median("speed")),
        lambda s: s.window("ts", range=300).group_by("segment").agg(n=ms.count(), strategy="buffered"),
        lambda s: s.window("ts", range=[300, 400]).group_by("segment").agg(m=ms.median("speed")),
        lambda s: s.join(s.select("ts", "segment"), on=["segment"], within=(0, 300)).select("segment", "speed"),
        lambda s: s.top(5, per=["ts", "segment"], by="speed"),
        lambda s: s.distinct("ts", "segment", "speed"),
        lambda s: s.join_as_of(behind(s), on="segment"),
        lambda s: s.sort("ts"),
        lambda s: s.compute(lambda rows: {"made": rows["speed"]}, "made BIGINT", budget=5),
    ],
)
def test_what_is_held_of_ignored_rows_is_forgotten_in_the_same_epoch(ask: Any, host: str, tmp_path: Path) -> None:
    engine = ms.Engine(host="local", **({"checkpoint": tmp_path / "ck", "partitions": 2} if host == "durable" else {}))
    query = ask(engine.stream("cars", CARS, progress=ms.bounded_disorder("ts", 300), epoch_rows=20)).named("q")
    seen: list[set[int]] = []

    def speak(report: dict[str, Any]) -> None:
        seen.append(held_segments(engine))
        if report["epoch"] == 2:
            query.feedback(ms.assumed("segment < 4", ttl=EVER))

    engine.on_epoch(speak)
    finish(engine)

    assert set(range(8)) == seen[2]
    assert {4, 5, 6, 7} == seen[3]


# --- experiments ----------------------------------------------------------------------------------


def test_an_aggregate_that_does_not_exploit_feedback_does_not_propagate_it() -> None:
    query = averages(ms.Engine(host="local")).named("q")
    ignored = {"q": (Pattern({"segment": UpTo(4)}),)}
    placed = place({"q": query.node}, ignored, knobs=lambda node: Knobs(exploit=node is not query.node))

    assert {} == placed


def test_without_propagation_an_operator_guards_its_own_input() -> None:
    query = averages(ms.Engine(host="local")).named("q")
    ignored = {"q": (Pattern({"segment": UpTo(4)}),)}
    placed = place({"q": query.node}, ignored, knobs=lambda node: Knobs(propagate=node is not query.node))

    assert [id(query.node)] == list(placed)
    assert {0: (Pattern({"segment": UpTo(4)}),)} == placed[id(query.node)].inputs


def test_the_guard_is_where_the_stream_enters_and_nowhere_between() -> None:
    query = averages(ms.Engine(host="local")).where("n > 0").named("q")
    placed = place({"q": query.node}, {"q": (Pattern({"segment": UpTo(4)}),)})
    titles = {id(node): type(node).__name__ for node in nodes.walk(query.node)}

    assert {"Source": 1, "Aggregate": 1} == {
        titles[key]: len(one.output) + sum(map(len, one.inputs.values()))
        for key, one in placed.items()
        if one.output or one.inputs
    }


@pytest.mark.parametrize(
    ("window", "said", "expected"),
    [
        (Sliding(size=2, slide=2, start=1), {"window_id": UpTo(2)}, "t < 5"),
        (Sliding(size=2, slide=2, start=1), {"window_id": From(1)}, "t >= 3"),
        (Sliding(size=2, slide=2, start=1), {"window_id": Equal(1)}, "t in [3, 5)"),
        (Sliding(size=10, slide=3), {"window_id": UpTo(4)}, "t < 5"),
        (Sliding(size=10, slide=3), {"window_id": Equal(4)}, None),
    ],
)
def test_windows_that_are_ignored_as_a_range_of_rows(
    window: Sliding, said: dict[str, Any], expected: str | None
) -> None:
    found = window.within(Pattern(said))

    assert expected == (None if found is None else str(Pattern({"t": found})))


# --- restart ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("nth", [0, 2, 5])
def test_whatever_step_the_plug_is_pulled_at_the_output_satisfies_def_1(tmp_path: Path, step: str, nth: int) -> None:
    case = some_case(random.Random(nth), "united counts")
    without = run(case, heeding=False)
    said: list[Any] = []

    def attempt() -> Any:
        query, engine = query_of(ms.Engine(host="local", checkpoint=tmp_path / "ck", partitions=2), case)
        query.to_parquet(tmp_path / "out", mode="append")
        for handle in [query.feedback(ms.assumed(conditions["text"], ttl=ttl)) for _, conditions, ttl in case.said]:
            said.extend(one.pattern for one in handle.bound)
        return ended(engine.start(ms.available_now(), end_of_stream=True, allow_unbounded=True))

    with pulled(step, nth) as plug:
        error = attempt()
    if plug.pulled:
        assert error is not None
        assert attempt() is None
    check_def_1(without.rows, [freeze(row) for row in rows_of(tmp_path / "out")], said)


def test_a_restart_goes_on_with_what_was_in_force(tmp_path: Path) -> None:
    def engine_at(rows: int) -> tuple[ms.Engine, ms.Query]:
        engine = ms.Engine(host="local", checkpoint=tmp_path / "ck", partitions=2)
        stream = engine.stream("cars", _Cars(rows), progress=ms.ordered("ts"))
        query = stream.window("ts", range=40).group_by("segment").agg(n=ms.count()).named("q")
        return engine, query.to_parquet(tmp_path / "out")

    engine, query = engine_at(200)
    query.feedback(ms.assumed("segment < 4", ttl=EVER))
    engine.start(ms.available_now()).await_termination()
    engine, query = engine_at(400)
    report = finish(engine)["q"]
    assert {4, 5, 6, 7} == {row["segment"] for row in rows_of(tmp_path / "out")}
    assert 200 == report["books"]["guarded"]
    assert 0 == report["books"]["unaccounted"]


class _Cars:
    """A source that can go on where it was."""

    schema = pa.schema({"ts": pa.int64(), "segment": pa.int64(), "speed": pa.int64()})

    def __init__(self, rows: int) -> None:
        self.rows, self.next = rows, 0

    def batches(self) -> Any:
        while self.next < self.rows:
            first, self.next = self.next, min(self.next + 20, self.rows)
            yield Batch(pa.Table.from_pylist(CARS[first : self.next], schema=self.schema))

    @property
    def position(self) -> dict[str, int]:
        return {"next": self.next}

    def seek(self, position: Any) -> None:
        self.next = position["next"]


# --- SQL -------------------------------------------------------------------------------------------


def test_feedback_in_a_script() -> None:
    engine = ms.Engine(host="local")
    cars(engine)
    script = ms.Script(
        "INSERT INTO memory 'q' SELECT segment, count(*) AS n FROM cars [RANGE 40, WATTR ts] GROUP BY segment;"
        "FEEDBACK ASSUMED ON q WHERE segment < 4 FOR 1000 EPOCHS; FEEDBACK ASSUMED ON q WHERE window_end <= 80;"
    )
    (query,) = script.bind(engine)
    finish(engine)

    assert {4, 5, 6, 7} == set(query.table()["segment"].to_pylist())
    assert 120 == min(query.table()["window_end"].to_pylist())


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("FEEDBACK ASSUMED ON q WHERE speed < 4 FOR 3 EPOCHS", "no column of the query"),
        ("FEEDBACK ASSUMED ON r WHERE n < 4", 'there is no query "r"'),
        ("FEEDBACK ASSUMED ON q WHERE n + 1 < 4", "not a condition on one column"),
        ("FEEDBACK ASSUMED ON q WHERE n < 4 FOR 0 EPOCHS", "no number of epochs"),
        ("FEEDBACK ABSURD ON q WHERE n < 4", "ASSUMED, DESIRED or DEMANDED is expected"),
    ],
)
def test_statements_that_are_wrong_say_where(text: str, fact: str) -> None:
    engine = ms.Engine(host="local")
    averages(engine).named("q")
    with pytest.raises(ms.SqlError, match=fact):
        engine.sql(text)


# --- joins that share a store ----------------------------------------------------------------------


def pairs_of(said: dict[str, str], *, at: int | None = None, host: str = "in memory", folder: Path) -> Any:
    """Two joins over the same rows, a third that comes after an epoch, and what is held of segments."""
    engine = ms.Engine(host="local", **({"checkpoint": folder, "partitions": 2} if host == "durable" else {}))
    stream = cars(engine)
    others = stream.select("ts", "segment", x="speed")
    queries = {
        "near": stream.join(others, on="segment", within=(0, 30)).named("near"),
        "far": stream.join(others, on="segment", within=(0, 60)).named("far"),
    }
    held: list[set[int]] = []

    def speak(report: dict[str, Any]) -> None:
        held.append(held_segments(engine))
        if report["epoch"] == 3:
            for name, text in said.items():
                queries[name].feedback(ms.assumed(text))
        if report["epoch"] == at:
            queries["late"] = stream.join(others, on="segment", within=(0, 50)).named("late")

    engine.on_epoch(speak)
    report = finish(engine)
    assert {0} == {one["books"]["unaccounted"] for one in report.values()}
    return {name: list(map(freeze, one.table().to_pylist())) for name, one in queries.items()}, held, queries


@pytest.mark.parametrize("host", ["in memory", "durable"])
def test_a_shared_join_leaves_out_and_forgets_what_all_who_read_it_ignore(host: str, tmp_path: Path) -> None:
    full, _, _ = pairs_of({}, host=host, folder=tmp_path / "a")
    told, held, _ = pairs_of({"near": "segment < 6", "far": "segment < 4"}, host=host, folder=tmp_path / "b")

    assert set(range(8)) == held[3]
    assert {4, 5, 6, 7} == held[4]
    for name, bound in (("near", 6), ("far", 4)):
        assert set(told[name]) <= set(full[name])
        assert {row for row in full[name] if dict(row)["segment"] >= bound} <= set(told[name])


def test_a_join_that_comes_to_a_store_which_has_left_out_rows_begins_behind_them(tmp_path: Path) -> None:
    full, _, asked = pairs_of({}, at=2, folder=tmp_path / "a")
    told, _, queries = pairs_of({"near": "segment < 6", "far": "segment < 4"}, at=8, folder=tmp_path / "b")
    since = queries["late"].complete_from
    first = asked["late"].complete_from or 0

    assert since > first
    assert set(told["late"]) <= set(full["late"])
    assert {row for row in full["late"] if max(dict(row)["left_ts"], dict(row)["right_ts"]) >= since} <= set(
        told["late"]
    )
