"""Select, project, union, distinct and sort: what passes, what is held, and what is promised on."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.domain import BOTTOM
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from millstream.ops.distinct import Distinct
from millstream.plan import nodes
from support import oracle
from support.bags import difference
from support.harness import SCHEMA, Stepper, cut, punctuated, run, some_rows, stray

ROWS = [
    {"ts": 3, "k": "a", "v": 1, "f": None},
    {"ts": 1, "k": "b", "v": 4, "f": None},
    {"ts": 9, "k": "a", "v": None, "f": None},
    {"ts": 6, "k": "b", "v": 4, "f": None},
]


def test_operators_know_their_inputs_and_their_readers() -> None:
    stepper = Stepper(lambda s: s.where("v > 1").union(s.where("v < 9")).distinct("k").named("q"))
    vertices = stepper.graph.vertices.values()

    down = {(id(above), port, id(below)) for above in vertices for port, below in enumerate(above.inputs)}
    up = {(id(above), port, id(below)) for below in vertices for above, port in below.readers}
    assert down == up
    assert len(down) == 5  # two conditions, two inputs of the union, one of the distinct
    assert all([one.node for one in above.inputs] == list(nodes.inputs(above.node)) for above in vertices)


def promised(stepper: Stepper, name: str) -> int:
    return stepper.operator.promises().bound(name)


# --- select -----------------------------------------------------------------------------------------


def test_select_drops_rows_whose_condition_is_false_or_null_and_counts_them() -> None:
    query = Stepper(lambda s: s.where("v > 2"))

    assert {} == difference([ROWS[1], ROWS[3]], query.step(ROWS))
    assert 2 == query.operator.meter.filtered


def test_select_passes_punctuation_untouched() -> None:
    query = Stepper(lambda s: s.where("v > 2"))
    query.step(ROWS, 5, ms.punctuation("ts", before=9, k="a"))

    assert ["ts < 5", "k = a, ts < 9"] == [str(p) for p in query.operator.promises().punctuations()]


# --- project ----------------------------------------------------------------------------------------


def test_project_computes_columns_and_keeps_arrival_order() -> None:
    query = Stepper(lambda s: s.select("ts AS at", double="v * 2"))

    assert [(3, 2), (1, 8), (9, None), (6, 8)] == [tuple(row.values()) for row in query.step(ROWS)]


def test_punctuation_passes_a_rename_under_the_new_name() -> None:
    query = Stepper(lambda s: s.select("ts AS at", "k AS who"))
    query.step(ROWS, 5, ms.punctuation("ts", before=9, k="a"))

    assert ["at < 5", "at < 9, who = a"] == [str(p) for p in query.operator.promises().punctuations()]


def test_punctuation_passes_to_every_copy_of_a_column() -> None:
    query = Stepper(lambda s: s.select("ts AS first", "ts AS second"))
    query.step(ROWS, 5)

    assert (5, 5) == (promised(query, "first"), promised(query, "second"))


def test_punctuation_on_a_column_that_is_dropped_or_computed_goes_no_further() -> None:
    query = Stepper(lambda s: s.select("k", "ts + 1 AS ts"))
    query.step(ROWS, 5)

    assert BOTTOM == promised(query, "ts")


def test_group_wise_punctuation_goes_no_further_without_its_key() -> None:
    query = Stepper(lambda s: s.select("ts"))
    query.step(ROWS, ms.punctuation("ts", before=9, k="a"))

    assert [] == list(query.operator.promises().punctuations())


def test_windows_close_by_punctuation_that_came_through_a_rename() -> None:
    query = Stepper(lambda s: s.select("ts AS at", "v").window("at", range=5).agg(n=ms.count()))

    assert [{"window_id": 0, "window_start": 0, "window_end": 5, "n": 2}] == query.step(ROWS, 5)


def test_columns_that_swap_names_carry_their_own_punctuation() -> None:
    query = Stepper(lambda s: s.select("ts AS v", "v AS ts"))
    query.step(ROWS, 5)

    assert (5, BOTTOM) == (promised(query, "v"), promised(query, "ts"))


# --- union ------------------------------------------------------------------------------------------


def both(first: Any, second: Any, *, end: bool = True) -> tuple[ms.Engine, ms.Query, ms.Run]:
    engine = ms.Engine(host="local")
    a, b = (
        engine.stream(name, source, schema=SCHEMA, progress=ms.supplied("ts"))
        for name, source in (("a", first), ("b", second))
    )
    query = a.union(b).window("ts", range=5).agg(n=ms.count()).named("q")
    running = engine.start(ms.available_now(), end_of_stream=end)
    running.await_termination()
    return engine, query, running


def test_a_union_closes_a_window_when_the_last_input_has_passed_it() -> None:
    fast = [ms.Epoch(ROWS, [{"ts": 100}]), ms.Epoch([], [])]
    slow = [ms.Epoch(ROWS[:1], [{"ts": 4}]), ms.Epoch(ROWS[:0], [{"ts": 5}])]
    _, query, _ = both(iter(fast), iter(slow), end=False)

    assert [{"window_id": 0, "window_start": 0, "window_end": 5, "n": 3}] == query.table().to_pylist()


def test_a_union_has_the_answers_of_all_its_rows_together() -> None:
    for seed in range(20):
        rnd = random.Random(seed)
        streams = [stray(some_rows(rnd, 25, 60), 20, rnd) for _ in range(2)]
        first, second = (iter(punctuated(cut(rows, rnd), rnd)) for rows in streams)
        _, query, _ = both(first, second)
        expected = oracle.answers(oracle.sliding([*streams[0], *streams[1]], "ts", 5, 5), (), {"n": len})

        assert {} == difference(expected, oracle.result(query.table(), (), ["n"])), f"seed {seed}"


def test_a_union_stores_no_row() -> None:
    engine, query, _ = both([ms.Epoch(ROWS)], [ms.Epoch(ROWS)], end=False)
    planned = engine.host.queries[query.name].node
    unions = [node for node in nodes.walk(planned) if isinstance(node, nodes.Union)]

    assert [0] == [engine.host.graph.at(union).operator.meter.peak_rows for union in unions]


def test_late_rows_of_two_streams_in_one_epoch_all_reach_the_late_output() -> None:
    late = [ms.Epoch(ROWS, [{"ts": 10}]), ms.Epoch(ROWS[:1])]
    _, query, running = both(iter(late), iter(late))

    assert [3, 3] == query.late.table()["ts"].to_pylist()
    assert 2 == running.progress["queries"]["q"]["books"]["late"]


def test_late_rows_of_streams_with_other_columns_stand_side_by_side() -> None:
    engine = ms.Engine(host="local")
    sources = {
        "a": (pa.schema([("ts", pa.int64()), ("x", pa.int64())]), [{"ts": 9, "x": 1}], [{"ts": 3, "x": 2}]),
        "b": (pa.schema([("t", pa.int64())]), [{"t": 9}], [{"t": 4}]),
    }
    a, b = (
        engine.stream(
            name,
            iter([ms.Epoch(first, [{schema.names[0]: 9}]), ms.Epoch(second)]),
            schema=schema,
            progress=ms.supplied(schema.names[0]),
        )
        for name, (schema, first, second) in sources.items()
    )
    query = a.select("ts").union(b.select("t AS ts")).window("ts", range=5).agg(n=ms.count()).named("q")
    engine.start(end_of_stream=True).await_termination()
    expected = [
        {"ts": 3, "x": 2, "t": None, "punctuation": "ts < 9", "epoch": 1},
        {"ts": None, "x": None, "t": 4, "punctuation": "t < 9", "epoch": 1},
    ]

    assert {} == difference(expected, query.late.table().to_pylist())


def test_a_stream_that_is_split_and_united_has_the_answers_of_the_whole() -> None:
    # One ordered input becomes a disordered union when the branches differ: no order is assumed.
    rnd = random.Random(35)
    rows = some_rows(rnd, 60, 80)
    ran = run(
        iter(punctuated(cut(rows, rnd), rnd)),
        lambda s: s.where("v < 3").union(s.where("v >= 3")).window("ts", range=10, slide=4).agg(n=ms.count()),
        progress=ms.supplied("ts"),
    )
    there = [row for row in rows if row["v"] is not None]

    assert {} == difference(oracle.answers(oracle.sliding(there, "ts", 10, 4), (), {"n": len}), ran.answers((), ["n"]))


# --- distinct ---------------------------------------------------------------------------------------


def test_distinct_passes_the_first_row_of_each_combination_across_epochs() -> None:
    query = Stepper(lambda s: s.distinct("k", "v"))

    assert ([ROWS[0], ROWS[1], ROWS[2]], []) == (query.step(ROWS), query.step(ROWS))
    assert 5 == query.operator.meter.filtered


def test_distinct_forgets_what_punctuation_says_cannot_come_again() -> None:
    query = Stepper(lambda s: s.distinct("ts", "k"))
    query.step(ROWS)
    held = [query.operator.store.rows]
    for given in (4, ms.punctuation("ts", before=9, k="b"), ms.punctuation(k="a")):
        query.step((), given)
        held.append(query.operator.store.rows)

    assert [4, 2, 1, 0] == held


def test_distinct_looks_up_its_own_groups_and_not_all_that_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    operator, now, asked = Distinct(("k", "v"), set()), Progress(), []
    monkeypatch.setattr("millstream.ops.complete.matching", lambda *given: asked.append(given))
    operator.take(0, pa.table({"k": [*range(0, 100, 2), None], "v": [1] * 51}))
    for key in range(90):
        now.accept(Punctuation.over({"k": key}))

    operator.advance(0, now)

    assert [90, 92, 94, 96, 98, None] == operator.store.segments[0].tables["seen"]["k"].to_pylist()
    assert [] == asked


def test_distinct_passes_punctuation_on() -> None:
    query = Stepper(lambda s: s.distinct("ts"))
    query.step(ROWS, 5)

    assert 5 == promised(query, "ts")


def test_distinct_holds_no_more_than_disorder_asks_for_on_a_long_stream() -> None:
    query = Stepper(lambda s: s.distinct("ts", "k"), progress=ms.bounded_disorder("ts", 3))
    held = []
    for ts in range(100):
        query.step([{"ts": ts, "k": key, "v": 1, "f": None} for key in "ab"])
        held.append(query.operator.store.rows)

    assert max(held) == 2 * 4


def test_null_is_a_value_to_distinct() -> None:
    query = Stepper(lambda s: s.distinct("v"))

    assert [1, 4, None] == [row["v"] for row in query.step([*ROWS, *ROWS])]


def test_distinct_takes_columns_that_no_window_could() -> None:
    ran = run(
        pa.table({"ts": [1, 1], "wide": pa.array([1, 1], pa.decimal128(30, 2))}),
        lambda s: s.distinct(),
        schema=None,
    )

    assert 1 == ran.query.table().num_rows


# --- sort -------------------------------------------------------------------------------------------


def test_sort_releases_rows_in_order_as_far_as_punctuation_reaches() -> None:
    query = Stepper(lambda s: s.sort("ts"))

    assert [1, 3] == [row["ts"] for row in query.step(ROWS, 5)]
    assert [6, 9] == [row["ts"] for row in query.step((), end=True)]


def test_sort_output_is_ordered_and_complete_on_disordered_streams() -> None:
    for seed in range(20):
        rnd = random.Random(seed)
        rows = stray(some_rows(rnd, 50, 60), 15, rnd)
        ran = run(iter(punctuated(cut(rows, rnd), rnd)), lambda s: s.sort("ts"), progress=ms.supplied("ts"))
        table = ran.query.table()

        assert sorted(table["ts"].to_pylist()) == table["ts"].to_pylist(), f"seed {seed}"
        assert {} == difference(rows, table.to_pylist()), f"seed {seed}"


def test_sort_keeps_ties_in_order_of_arrival() -> None:
    query = Stepper(lambda s: s.sort("ts"))
    query.step([{"ts": 1, "k": "first"}, {"ts": 0, "k": "z"}])

    assert ["z", "first", "second"] == [row["k"] for row in query.step([{"ts": 1, "k": "second"}], end=True)]


def test_sort_rejects_a_row_without_a_value_to_sort_by() -> None:
    ran = run(
        [{"ts": None, "k": "x", "v": 1, "f": None}, *ROWS], lambda s: s.sort("ts"), progress=ms.supplied(), epoch_rows=2
    )

    assert [1, 3, 6, 9] == ran.query.table()["ts"].to_pylist()
    assert [("x", "ts is null")] == [(row["k"], row["reason"]) for row in ran.query.rejected.table().to_pylist()]


def test_sort_keeps_only_what_it_has_not_released() -> None:
    query = Stepper(lambda s: s.sort("ts"))
    query.step(ROWS, 5)

    assert 2 == query.operator.store.rows


# --- aggregates over aggregates ---------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["auto", "wid", "paned", "differential", "buffered", "adaptive"])
def test_aggregates_over_the_results_of_aggregates_have_the_answers_of_the_definition(strategy: str) -> None:
    # The most rows of any key in 4, over the last 12 of such counts.
    for seed in range(8):
        rnd = random.Random(seed)
        rows = stray(some_rows(rnd, 50, 90), 12, rnd)

        def chained(s: ms.Stream) -> ms.Query:
            inner = s.window("ts", range=4).group_by("k").agg(n=ms.count(), strategy=strategy)
            return inner.window("window_end", range=12, slide=8).agg(top=ms.max("n"), strategy=strategy)

        ran = run(iter(punctuated(cut(rows, rnd), rnd)), chained, progress=ms.supplied("ts"))
        inner = oracle.answers(oracle.sliding(rows, "ts", 4, 4), ("k",), {"n": len})
        results = [{"window_end": 4 * (wid + 1), "n": n} for wid, _, n in inner]
        expected = oracle.answers(
            oracle.sliding(results, "window_end", 12, 8), (), {"top": lambda found: max(row["n"] for row in found)}
        )

        assert {} == difference(expected, ran.answers((), ["top"])), f"seed {seed}"


@pytest.mark.parametrize(
    "window",
    [
        {"gap": 3},
        {"range": "all", "slide": 7},
        {"range": 9, "per": "tuple"},
        {"range": [4, 8], "slide": 4},
        {"extent": lambda w: (5 * w, 5 * w + 5), "wids": lambda a: [a // 5]},
    ],
    ids=["session", "landmark", "tuple", "several", "user-defined"],
)
def test_no_result_comes_after_its_own_promise(window: dict[str, Any]) -> None:
    # Results pass on at once; a second stage that is told too much would have to call some of them late.
    for seed in range(10):
        rnd = random.Random(seed)
        rows = stray(some_rows(rnd, 40, 60), 12, rnd)
        query = Stepper(lambda s: s.window("ts", **window).group_by("k").agg(n=ms.count()))
        told: dict[str, int] = {}
        for epoch in punctuated(cut(rows, rnd), rnd):
            for row in query.step(epoch.rows.to_pylist(), *epoch.punctuations):
                early = [name for name, bound in told.items() if row[name] is not None and row[name] < bound]
                assert [] == early, f"seed {seed}: {row} after {told}"
            promises = query.operator.promises()
            told = {name: promises.bound(name) for name in ("window_id", "window_start", "window_end")}


def test_a_first_stage_lets_the_second_close_before_the_stream_ends() -> None:
    query = Stepper(
        lambda s: s.window("ts", range=5).agg(n=ms.count()).window("window_end", range=10).agg(total=ms.sum("n"))
    )
    left = query.step(ROWS, 21)

    # Windows end at 5 (two rows) and 10 (two rows): the second stage has them in [0, 10) and [10, 20).
    assert [(0, 2), (1, 2)] == [(row["window_id"], row["total"]) for row in left]


def test_sort_passes_on_no_promise_about_rows_that_it_holds() -> None:
    engine = ms.Engine(host="local")
    rows = pa.schema([("ts", pa.int64()), ("k", pa.string())])
    epochs = [
        ms.Epoch([{"ts": 1, "k": "a"}, {"ts": 7, "k": "a"}], [ms.punctuation("ts", before=5)]),
        ms.Epoch([], [ms.punctuation("ts", before=20, k="a")]),
    ]
    stream = engine.stream("s", epochs, schema=rows, progress=ms.supplied("ts"))
    query = stream.sort("ts").window("ts", range=10).group_by("k").agg(n=ms.count()).named("q")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert [{"window_id": 0, "window_start": 0, "window_end": 10, "k": "a", "n": 2}] == query.table().to_pylist()
