"""What is equal is computed once; state is shared only by queries that began together, and keeps its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.plan import nodes
from support.bags import difference
from support.harness import SCHEMA
from support.in_process import engine as engine_on_disk

COUNTS = "SELECT k, count(*) AS n FROM s [RANGE 10, SLIDE 5, WATTR ts] WHERE v > 1 GROUP BY k"
ROWS = [{"ts": ts, "k": "ab"[ts % 2], "v": ts % 4, "f": 0.5} for ts in range(60)]
TABLES = [pa.Table.from_pylist(ROWS[at : at + 20], schema=SCHEMA) for at in (0, 20, 40)]


def local(*statements: str) -> ms.Engine:
    engine = ms.Engine(host="local")
    engine.stream("s", list(TABLES), schema=SCHEMA, progress=ms.ordered("ts"))
    for i, statement in enumerate(statements):
        engine.sql(statement, name=f"q{i}")
    return engine


def operators(engine: ms.Engine, kind: type) -> int:
    return sum(isinstance(vertex.node, kind) for vertex in engine.host.graph.vertices.values())


def test_two_statements_that_say_the_same_are_one_aggregate() -> None:
    engine = local(COUNTS, COUNTS.replace("v > 1", "(v>1)"), COUNTS.replace("v > 1", "v > 2"))
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert (1, 2) == (operators(engine, nodes.Panes), operators(engine, nodes.Answers))
    assert engine._queries["q0"].table().num_rows
    assert {} == difference(*(engine._queries[name].table().to_pylist() for name in ("q0", "q1")))


def test_explain_says_what_is_shared_where_it_begins() -> None:
    engine = local(COUNTS, COUNTS.replace("count(*) AS n", "sum(v) AS n").replace("10", "20"))
    expected = """
        query q0
        └─ aggregate by k: n = count(*) [kernel]
              window range 10 slide 5 on ts [CF]
              of rows where v > 1
              answered from shared panes
           └─ panes by k: count(*), sum(v) [kernel]
                 window range 10 slide 5 on ts
                 window range 20 slide 5 on ts
                 shared with q1
                 strategy panes: 2 aggregates share one reduction of the rows
              └─ select where v > 1 [kernel]
                 └─ stream s: ordered on ts [kernel]

        query q1
        └─ aggregate by k: n = sum(v) [kernel]
              window range 20 slide 5 on ts [CF]
              of rows where v > 1
              answered from shared panes
           └─ panes by k: count(*), sum(v): shared, see query q0
    """

    assert dedent(expected).strip() == engine.explain()


def test_conditions_that_differ_are_computed_once_for_each_row() -> None:
    engine = local(COUNTS, COUNTS.replace("v > 1", "v > 2"), COUNTS.replace("WHERE v > 1 ", ""))

    assert "2 conditions are computed once for each row, into a bitmap" in engine.explain()


def test_a_query_that_comes_later_has_the_windows_of_which_all_rows_are_there() -> None:
    query = "SELECT count(*) AS n FROM s [RANGE 10, SLIDE 10, START 5, WATTR ts]"
    engine = local(query)
    engine.start(ms.once()).await_termination()
    engine.sql(query, name="late")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    first, late = (
        {row["window_start"]: row["n"] for row in engine._queries[name].table().to_pylist()} for name in ("q0", "late")
    )

    # The first epoch had the rows up to 19. The panes from 15 on were still there, those before were not.
    assert (10, 10, 10, 10) == (first[15], late[15], first[5], late[25])
    assert 5 not in late


def test_a_query_that_comes_later_shares_what_keeps_no_state() -> None:
    engine = local(COUNTS)
    engine.start(ms.once()).await_termination()
    engine.sql(COUNTS, name="late")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert (1, 2, 1) == tuple(operators(engine, kind) for kind in (nodes.Panes, nodes.Answers, nodes.Select))


def test_a_query_written_upon_another_reads_its_results_however_late_it_comes() -> None:
    engine = local(COUNTS)
    engine.start(ms.once()).await_termination()
    engine._queries["q0"].where("n > 2").named("late")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert 1 == operators(engine, nodes.Aggregate) + operators(engine, nodes.Answers)


Query = Callable[[ms.Stream], ms.Query]


def counts(stream: ms.Stream) -> ms.Query:
    return stream.where("v > 1").window("ts", range=10, slide=5).group_by("k").agg(n=ms.count())


LATER: dict[str, tuple[Query, Callable[[Any], Any]]] = {
    "a filter on groups": (lambda s: counts(s), lambda q: q.where("k = 'a'")),
    "fewer columns": (lambda s: s.distinct("k", "v"), lambda q: q.select("k")),
    "a filter upon a filter on groups": (lambda s: counts(s).where("k = 'a'"), lambda q: q.where("n > 0 AND k < 'z'")),
    "a filter upon columns": (lambda s: counts(s).select("k", "n"), lambda q: q.where("k = 'a'")),
}


@pytest.mark.parametrize("case", LATER)
def test_no_rewrite_parts_a_later_query_from_the_results_it_was_written_upon(case: str) -> None:
    first, then = LATER[case]
    engine = ms.Engine(host="local")
    tables = [pa.Table.from_pylist(ROWS[at : at + 15], schema=SCHEMA) for at in (0, 15, 30, 45)]
    early = first(engine.stream("s", tables, schema=SCHEMA, progress=ms.ordered("ts"))).named("early")
    engine.start(ms.once(), allow_unbounded=True).await_termination()
    before = early.table().num_rows
    late = then(early).named("late")
    engine.start(ms.once(), allow_unbounded=True).await_termination()
    third = then(early).named("third")  # the other two run already, and read the same state
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert 1 == sum(operators(engine, kind) for kind in (nodes.Aggregate, nodes.Answers, nodes.Distinct))
    rest = pa.Table.from_pylist(early.table().to_pylist()[before:], schema=early.table().schema)
    lower = ms.Engine(host="local")
    expected = then(lower.stream("r", [rest])).named("q")
    lower.start(end_of_stream=True).await_termination()
    assert {} == difference(expected.table().to_pylist(), late.table().to_pylist())
    assert third.table().num_rows <= late.table().num_rows


# --- with a checkpoint --------------------------------------------------------------------------------


class Lives:
    """One checkpoint, several lives; `tables` of a stream grow from life to life."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.number = 0

    def live(self, queries: dict[str, Query], *, epochs: int, end: bool = False) -> dict[str, list[str]]:
        """Run to the end of the epochs there are; returns the names of each query's operators."""
        engine = engine_on_disk(self.root / "ck", 2)
        stream = engine.stream("s", list(TABLES[:epochs]), schema=SCHEMA, progress=ms.ordered("ts"))
        for name, query in queries.items():
            query(stream).named(name).to_parquet(self.root / name)
        run = engine.start(ms.available_now(), end_of_stream=end)
        run.await_termination()
        return engine.host.ledger.operators

    def results(self, name: str) -> list[Any]:
        return [
            row for file in sorted((self.root / name).glob("part-*")) for row in pa.parquet.read_table(file).to_pylist()
        ]


@pytest.fixture
def lives(tmp_path: Path) -> Lives:
    return Lives(tmp_path)


def whole(query: Query) -> list[Any]:
    engine = ms.Engine(host="local")
    made = query(engine.stream("s", list(TABLES), schema=SCHEMA, progress=ms.ordered("ts"))).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return made.table().to_pylist()


def test_queries_that_begin_together_share_their_state_in_every_life(lives: Lives) -> None:
    first = lives.live({"p": counts, "q": counts}, epochs=1)
    second = lives.live({"q": counts, "p": counts}, epochs=2)
    lives.live({"p": counts, "q": counts}, epochs=3, end=True)

    assert first["p"] == first["q"] == second["p"] == second["q"]
    for name in ("p", "q"):
        assert {} == difference(whole(counts), lives.results(name))


def test_a_second_query_leaves_the_first_ones_state_alone(lives: Lives) -> None:
    alone = lives.live({"p": counts}, epochs=1)
    both = lives.live({"p": counts, "q": counts}, epochs=2)
    again = lives.live({"q": counts, "p": counts}, epochs=3, end=True)

    assert alone["p"] == both["p"] == again["p"]
    assert both["q"] == again["q"]
    assert both["p"][-1] != both["q"][-1]
    assert {} == difference(whole(counts), lives.results("p"))
    later = [row for row in whole(counts) if row["window_start"] >= 20]
    assert {} == difference(later, [row for row in lives.results("q") if row["window_start"] >= 20])


def test_a_query_that_goes_leaves_the_state_to_the_other(lives: Lives) -> None:
    both = lives.live({"p": counts, "q": counts}, epochs=1)
    alone = lives.live({"q": counts}, epochs=2)
    back = lives.live({"p": counts, "q": counts}, epochs=3, end=True)

    assert both["q"] == alone["q"] == back["q"]
    assert back["p"][-1] != back["q"][-1]
    assert {} == difference(whole(counts), lives.results("q"))


def test_a_query_upon_another_finds_its_state_in_every_life(lives: Lives) -> None:
    def both(epochs: int, *, end: bool = False) -> dict[str, list[str]]:
        made: list[ms.Query] = []

        def lower(stream: ms.Stream) -> ms.Query:
            made.append(counts(stream))
            return made[0]

        return lives.live({"p": lower, "q": lambda _: made[0].where("n > 2")}, epochs=epochs, end=end)

    lives.live({"p": counts}, epochs=1)
    second, third = both(2), both(3, end=True)

    assert second == third
    assert second["p"][-1] in second["q"]
    assert {} == difference(whole(counts), lives.results("p"))


@pytest.mark.parametrize("later", ["k = 'a'", "n > 1"])
def test_a_query_upon_another_that_is_older_reads_the_same_state_in_every_life(lives: Lives, later: str) -> None:
    def both(epochs: int, *, end: bool = False) -> dict[str, list[str]]:
        made: list[ms.Query] = []

        def lower(stream: ms.Stream) -> ms.Query:
            made.append(counts(stream))
            return made[0]

        return lives.live({"p": lower, "q": lambda _: made[0].where(later)}, epochs=epochs, end=end)

    lives.live({"p": counts}, epochs=1)
    second, third = both(2), both(3, end=True)

    assert second == third
    assert second["p"][-1] in second["q"]
    began = {(row["window_start"], row["k"], row["n"]) for row in lives.results("q")}
    assert began <= {(row["window_start"], row["k"], row["n"]) for row in lives.results("p")}


def test_a_query_that_began_with_the_one_it_is_upon_does_not_need_it(lives: Lives) -> None:
    def upon(stream: ms.Stream) -> ms.Query:
        return counts(stream).where("k = 'a'")

    made: list[ms.Query] = []

    def lower(stream: ms.Stream) -> ms.Query:
        made.append(counts(stream))
        return made[0]

    first = lives.live({"p": lower, "q": lambda _: made[0].where("k = 'a'")}, epochs=1)
    alone = lives.live({"q": upon}, epochs=3, end=True)

    assert first["q"] == alone["q"]
    assert {} == difference(whole(upon), lives.results("q"))


@pytest.mark.parametrize("change", ["k = 'a'", "n > 1"])
def test_a_filter_that_moves_finds_its_state_again(lives: Lives, change: str) -> None:
    def having(stream: ms.Stream) -> ms.Query:
        return counts(stream).where(change)

    first = lives.live({"p": having}, epochs=1)
    second = lives.live({"p": having, "q": counts}, epochs=3, end=True)

    assert first["p"] == second["p"]
    assert {} == difference(whole(having), lives.results("p"))


# --- joins --------------------------------------------------------------------------------------------


def test_a_shared_join_is_drawn_once_with_who_reads_it() -> None:
    engine = ms.Engine(host="local")
    a, b = (engine.stream(name, [], schema=SCHEMA, progress=ms.ordered("ts")) for name in ("a", "b"))
    a.join(b, on="k", within=5).named("near")
    a.where("v > 1").join(b, on="k", within=60, how="left").named("far")
    assert (
        dedent(
            """\
            query near
            └─ inner join on k = k [kernel]
                  ts less ts from -5 to 5
                  answered from a shared join
               └─ rows of both sides on k = k, for 2 joins [kernel]
                     shared with far
                     strategy slices: one store, one probe; pairs go to readers by slice: [-60, -5), [-5, 6), [6, 61)
                     1 condition is computed once for each left row, into a bitmap
                  ├─ stream a: ordered on ts [kernel]
                  └─ stream b: ordered on ts [kernel]

            query far
            └─ left join on k = k [kernel]
                  ts less ts from -60 to 60
                  of left rows where v > 1
                  answered from a shared join
               └─ rows of both sides on k = k, for 2 joins: shared, see query near"""
        )
        == engine.explain()
    )


def test_joins_on_other_keys_or_other_times_share_nothing() -> None:
    engine = ms.Engine(host="local")
    a, b = (engine.stream(name, [], schema=SCHEMA, progress=ms.ordered("ts")) for name in ("a", "b"))
    a.join(b, on="k", within=5).named("p").discard()
    a.join(b, on=["k", "v"], within=5).named("q").discard()
    a.join(b, on="k", window=5).named("r").discard()
    b.join(a, on="k", within=5).named("s").discard()
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    assert (4, 0) == (operators(engine, nodes.Join), operators(engine, nodes.SharedJoin))


def test_joins_that_shared_find_their_rows_again_and_a_later_one_shares_them(tmp_path: Path) -> None:
    def live(widths: tuple[int, ...]) -> list[Any]:
        engine = engine_on_disk(tmp_path / "ck", 2)
        a = engine.stream("a", list(TABLES), schema=SCHEMA, progress=ms.ordered("ts"))
        b = engine.stream("b", list(TABLES), schema=SCHEMA, progress=ms.ordered("ts"))
        for width in widths:
            a.join(b, on="k", within=width).named(f"q{width}").discard()
        engine.start(ms.available_now()).await_termination()
        kinds = [type(node).__name__ for _, node in engine.host.program.stops()]
        return [sorted(kinds), sorted({one.operator.split("-")[0] for one in engine.host.ledger.segments})]

    first = live((5, 20))
    assert [["SharedJoin"], ["join"]] == first
    assert first == live((5, 20))
    assert first == live((5, 20, 30))
    assert first == live((20, 30))
