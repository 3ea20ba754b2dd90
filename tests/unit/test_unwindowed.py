"""Grouping without a window, partitions that end, and what operators promise: as their contracts say."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import millstream as ms
from millstream.core.contract.scheme import ungrammatical
from millstream.core.progress import Progress
from support import in_process
from support.harness import SCHEMA, Stepper, cut, punctuated, run, some_rows, stray


def count_by_key(stream: ms.Stream) -> ms.Query:
    return stream.group_by("k").agg(n=ms.count(), total=ms.sum("v"))


def over(key: str) -> object:
    return ms.punctuation(k=key)


def test_a_group_without_a_window_is_answered_when_it_is_over() -> None:
    steps = Stepper(count_by_key, progress=ms.supplied(per="k"))

    assert [] == steps.step([{"ts": 1, "k": "a", "v": 2}, {"ts": 1, "k": "b", "v": 3}, {"ts": 9, "k": "a", "v": 5}])
    assert [{"k": "a", "n": 2, "total": 7}] == steps.step([], over("a"))
    assert [{"k": "b", "n": 1, "total": 3}] == steps.step([], end=True)


def test_a_group_that_is_over_is_forgotten() -> None:
    steps = Stepper(count_by_key, progress=ms.supplied(per="k"))

    for i in range(50):
        steps.step([{"ts": i, "k": f"k{i}", "v": 1}, {"ts": i, "k": f"k{i + 1}", "v": 1}], over(f"k{i}"))

    aggregate = steps.graph.at(steps.query.node.input).operator  # type: ignore[union-attr]  # below the projection
    assert aggregate.store.rows <= 2


def test_without_groups_the_answer_comes_at_the_end() -> None:
    ran = run([{"ts": 1, "v": 2}, {"ts": 5, "v": None}], lambda s: s.group_by().agg(n=ms.count(), t=ms.sum("v")))

    assert [{"n": 2, "t": 2}] == ran.query.table().to_pylist()


def test_without_groups_no_rows_have_an_answer_too() -> None:
    ran = run([], lambda s: s.group_by().agg(n=ms.count(), t=ms.sum("v"), d=ms.count_distinct("k"), m=ms.median("v")))

    assert [{"n": 0, "t": None, "d": 0, "m": None}] == ran.query.table().to_pylist()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT count(*) AS n, sum(v) AS t FROM s", [(0, None)]),
        ("SELECT count(*) + 1 AS n FROM s WHERE v > 100", [(1,)]),
        ("SELECT count(*) FILTER (WHERE v > 1) AS n, max(k) AS m FROM s", [(0, None)]),
        ("SELECT count(*) AS n FROM s HAVING count(*) > 0", []),
        ("SELECT k, count(*) AS n FROM s GROUP BY k", []),
        ("SELECT count(*) AS n FROM s [RANGE 10, WATTR ts]", []),
        ("SELECT sum(n) AS n FROM (SELECT count(*) AS n FROM s [RANGE 10, WATTR ts])", [(None,)]),
    ],
)
def test_sql_over_no_rows(text: str, expected: list[tuple[object, ...]]) -> None:
    engine = ms.Engine(host="local")
    engine.stream("s", [], schema=SCHEMA)
    query = engine.sql(text, name="q")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    columns = query.schema.names if "RANGE" not in text or "sum" in text else ["n"]
    assert expected == [tuple(row[name] for name in columns) for row in query.table().to_pylist()]


def test_the_answer_to_no_rows_comes_once_and_only_at_the_end() -> None:
    steps = Stepper(lambda s: s.group_by().agg(n=ms.count()), progress=ms.ordered("ts"))

    assert [] == steps.step([], 5)
    assert [{"n": 0}] == steps.step([], end=True)
    assert [] == steps.step([], end=True)


def test_no_rows_have_one_answer_on_the_other_host_too_whatever_the_partitions(tmp_path: Path) -> None:
    engine = in_process.engine(tmp_path, 3)
    engine.stream("s", [], schema=SCHEMA)
    query = engine.sql("SELECT count(*) AS n, sum(v) AS t FROM s", name="q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert [{"n": 0, "t": None}] == query.table().to_pylist()


@pytest.mark.parametrize("seed", range(5))
def test_groups_without_a_window_are_a_batch_query(seed: int) -> None:
    rnd = random.Random(seed)
    rows = stray(some_rows(rnd, 80, 60), 8, rnd)
    ran = run(punctuated(cut(rows, rnd), rnd, group_wise=True), count_by_key, progress=ms.supplied())

    expected = {
        key: (len(mine), sum(row["v"] for row in mine if row["v"] is not None))
        for key in {row["k"] for row in rows}
        if (mine := [row for row in rows if row["k"] == key])
    }
    found = {row["k"]: (row["n"], row["total"] or 0) for row in ran.query.table().to_pylist()}
    assert expected == found
    assert len(expected) == ran.query.table().num_rows


def test_the_first_of_no_window_is_refused() -> None:
    stream = ms.Engine(host="local").stream("s", [], schema=SCHEMA)

    with pytest.raises(ms.PlanError, match="needs a window"):
        stream.group_by("k").agg(x=ms.first("v"))


def test_sql_groups_without_a_window_at_the_end_of_the_stream() -> None:
    engine = ms.Engine(host="local")
    engine.stream("s", [{"ts": 1, "k": "a"}, {"ts": 2, "k": "b"}, {"ts": 3, "k": "a"}])
    query = engine.sql("SELECT count(*) AS n, k FROM s GROUP BY k HAVING count(*) > 1", name="q")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert [{"n": 2, "k": "a"}] == query.table().to_pylist()


# --- partitions of row windows ----------------------------------------------------------------------


def counts_by(steps: Stepper, column: str) -> dict[str, int]:
    totals = steps.operator._counts.totals()
    return dict(zip(totals.keys[column].to_pylist(), totals.count.tolist(), strict=True))


def two_rows(stream: ms.Stream) -> ms.Query:
    return stream.window(by="rows", range=2, slide=2, partition_by="k").agg(n=ms.count())


def test_a_partition_that_is_over_gives_its_open_windows_and_is_forgotten() -> None:
    steps = Stepper(two_rows, progress=ms.supplied(per="k"))

    left = steps.step([{"ts": i, "k": key} for i, key in enumerate("aaabb")])
    assert {("a", 0, 2), ("b", 0, 2)} == {(row["k"], row["window_id"], row["n"]) for row in left}
    left = steps.step([], over("a"))
    assert [("a", 1, 1)] == [(row["k"], row["window_id"], row["n"]) for row in left]
    assert {"b": 2} == counts_by(steps, "k")
    assert [] == steps.step([], end=True)


def test_partitions_that_come_and_go_leave_nothing() -> None:
    steps = Stepper(two_rows, progress=ms.supplied(per="k"))

    for i in range(40):
        steps.step([{"ts": i, "k": f"k{i}"}], *([over(f"k{i - 1}")] if i else []))

    assert {"k39": 1} == counts_by(steps, "k")
    assert 1 == steps.operator.stores[1].rows
    assert steps.operator.store.rows <= 2


def test_an_ended_partition_is_promised_on() -> None:
    steps = Stepper(two_rows, progress=ms.supplied(per="k"))
    steps.step([{"ts": 1, "k": "a"}], over("a"))

    assert Progress(over={("k",): {("a",)}}) == steps.operator.promises()


# --- slide-by-tuple promises only for everybody -----------------------------------------------------


def test_a_group_that_is_ahead_still_has_answers_in_windows_that_others_end() -> None:
    steps = Stepper(lambda s: s.window("ts", range=10, per="tuple").group_by("k").agg(n=ms.count()))
    seen = steps.step([{"ts": 1, "k": "a"}], ms.punctuation("ts", before=30, k="a"))
    promised = list(steps.operator.promises().punctuations())
    seen += steps.step([{"ts": 5, "k": "b"}], 20)

    assert {("a", 1), ("a", 5), ("b", 5)} == {(row["k"], row["window_id"]) for row in seen}
    later = [{"k": row["k"], "window_id": row["window_id"]} for row in seen]
    assert [] == ungrammatical([*promised, *later])
