"""Golden plans: each rewrite before and after, and where it must leave a plan alone."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.plan import nodes
from millstream.plan.optimize import REWRITES, optimize
from millstream.plan.plan import Plan
from millstream.plan.rewrite.assign_panes import assign_panes
from millstream.plan.rewrite.choose_strategy import choose_strategy
from millstream.plan.rewrite.prune_columns import prune_columns
from millstream.plan.rewrite.push_filters import push_filters
from support.sides import Ask, asked, rewritten

ITEMS = pa.table({"k": ["a", "b"], "n": [1, 2], "v": [3, 4]})
SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64()), ("f", pa.float64())])


def text(block: str) -> str:
    return dedent(block).strip()


# --- totals -----------------------------------------------------------------------------------------

TOTAL = {
    "v > 3": True,
    "v > 3.5": True,
    "v > 0.12345678901234567890": False,
    "v = f": True,
    "f * 2 > 1": True,
    "f + v > 1": True,
    "v * 2 > 1": False,
    "v + 1 > 1": False,
    "-v > 1": False,
    "v > -1": True,
    "k = 'a' AND NOT (v IS NULL OR v IN (1, 2))": True,
    "v BETWEEN 1 AND 3": True,
    "k LIKE 'a%'": True,
    "upper(k) = 'A'": True,
    "upper(k) = 'A' OR v / 2 > 1": True,
    "v / f > 1": False,
    "try_divide(v, f) > 1": True,
    "date_trunc('day', timestamp_micros(v)) > '2024-01-01'": True,
    "k > 5": False,
    "cast(k AS int) = 1": False,
    "ts > 3": True,
}


@pytest.mark.parametrize("condition", TOTAL)
def test_a_condition_is_known_to_be_total_only_if_no_value_can_make_it_fail(condition: str) -> None:
    bound = asked(lambda s, _: s.where(condition))

    assert isinstance(bound, nodes.Select)
    assert TOTAL[condition] == bound.condition.total


# --- push filters -----------------------------------------------------------------------------------

PUSHED: dict[str, tuple[Ask, str]] = {
    "neighbours become one": (
        lambda s, _: s.where("v > 1").where("k = 'a'").where("f < 2"),
        """
        └─ select where v > 1 AND k = 'a' AND f < 2
           └─ stream s: ts within 8
        """,
    ),
    "below renames": (
        lambda s, _: s.select("ts AS at", "v AS n").where("n > 1"),
        """
        └─ project ts as at, v as n
           └─ select where v > 1
              └─ stream s: ts within 8
        """,
    ),
    "below what is computed and cannot fail": (
        lambda s, _: s.select("ts", "f * 2 AS g", "v > 3 AS dear").where("g > 1 OR dear"),
        """
        └─ project ts, f * 2 as g, v > 3 as dear
           └─ select where f * 2 > 1 OR v > 3
              └─ stream s: ts within 8
        """,
    ),
    "below a function of its column": (
        lambda s, _: s.select("upper(k) AS k").where("k = 'A'"),
        """
        └─ project upper(k) as k
           └─ select where upper(k) = 'A'
              └─ stream s: ts within 8
        """,
    ),
    "a function, below a rename": (
        lambda s, _: s.select("k AS key").where("upper(key) = 'A'"),
        """
        └─ project k as key
           └─ select where upper(k) = 'A'
              └─ stream s: ts within 8
        """,
    ),
    "a function, below columns of the same name": (
        lambda s, _: s.select("ts", "k").where("upper(k) = 'A'"),
        """
        └─ project ts, k
           └─ select where upper(k) = 'A'
              └─ stream s: ts within 8
        """,
    ),
    "into each input of a union": (
        lambda s, t: s.union(t.select("ts", "v AS k1", "v", "f").select("ts", "'x' AS k", "v", "f")).where("v > 2"),
        """
        └─ union of 2 inputs: progress is their minimum
           ├─ select where v > 2
           │  └─ stream s: ts within 8
           └─ project ts, 'x' as k, v, f
              └─ project ts, v as k1, v, f
                 └─ select where v > 2
                    └─ stream t: ts within 8
        """,
    ),
    "below a distinct on the columns that it reads": (
        lambda s, _: s.distinct("k", "v").where("k = 'a' AND f > 1"),
        """
        └─ select where f > 1
           └─ distinct on k, v
              └─ select where k = 'a'
                 └─ stream s: ts within 8
        """,
    ),
    "below a sort of what is never null": (
        lambda s, _: s.sort("ts").where("v > 2"),
        """
        └─ sort by ts, as far as punctuation reaches
           └─ select where v > 2
              └─ stream s: ts within 8
        """,
    ),
    "below a sort that rejects": (
        lambda s, _: s.sort("v").where("k = 'a'"),
        """
        └─ sort by v, as far as punctuation reaches
           └─ select where k = 'a'
                 but rows whose v cannot be used go on, to be rejected above
              └─ stream s: ts within 8
        """,
    ),
    "below an as-of join, as far as it speaks of the left side": (
        lambda s, t: s.join_as_of(t, on="k", within=5).where("left_v > 2 AND right_v > 1 AND k = 'a'"),
        """
        └─ select where right_v > 1
           └─ as-of join on k = k
                 the last ts up to ts, no more than 5 before
              ├─ select where v > 2 AND k = 'a'
              │  └─ stream s: ts within 8
              └─ stream t: ts within 8
        """,
    ),
    "below a look into a table, as far as it speaks of the stream": (
        lambda s, _: s.enrich(ITEMS, on="k", how="left").where("left_v > 2 AND (n > 1 OR n IS NULL)"),
        """
        └─ select where n > 1 OR n IS NULL
           └─ left enrich from table table_1 on k = k
              └─ select where v > 2
                 └─ stream s: ts within 8
        """,
    ),
    "below an aggregate, as far as it speaks of groups": (
        lambda s, _: s.window("ts", range=5).group_by("k").agg(n=ms.count()).where("n > 2 AND k = 'a'"),
        """
        └─ select where n > 2
           └─ aggregate by k: n = count(*)
                 window range 5 slide 5 on ts [CF]
              └─ select where k = 'a'
                    but rows whose ts cannot be used go on, to be rejected above
                 └─ stream s: ts within 8
        """,
    ),
    "below an aggregate and what is below it": (
        lambda s, _: (
            s.where("v > 1").select("ts", "k AS key").window("ts", gap=5).group_by("key").agg(n=ms.count())
            .where("key IS NULL")
        ),
        """
        └─ aggregate by key: n = count(*)
              window sessions on ts with gap 5 [FCA]
           └─ project ts, k as key
              └─ select where k IS NULL
                    but rows whose ts cannot be used go on, to be rejected above
                 └─ select where v > 1
                    └─ stream s: ts within 8
        """,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PUSHED)
def test_a_filter_moves(case: str) -> None:
    ask, expected = PUSHED[case]

    assert text(expected) == rewritten(ask, push_filters)


def test_no_row_need_be_spared_where_the_attribute_is_short_and_progresses() -> None:
    schema = pa.schema([("ts", pa.int32()), ("k", pa.string())])
    expected = """
        └─ aggregate by k: n = count(*)
              window range 5 slide 5 on ts [CF]
           └─ select where k = 'a'
              └─ stream s: ts within 8
    """

    assert text(expected) == rewritten(
        lambda s, _: s.window("ts", range=5).group_by("k").agg(n=ms.count()).where("k = 'a'"),
        push_filters,
        schema=schema,
    )


def _counted(s: ms.Stream, **window: Any) -> ms.Query:
    return s.window(**window).group_by("k").agg(n=ms.count()).where("k = 'a'")


STAYS: dict[str, Ask] = {
    "above a stream": lambda s, _: s.where("v > 1"),
    "above what can fail": lambda s, _: s.select("v * 2 AS w", "k").where("k = 'a'"),
    "above a filter that can fail": lambda s, _: s.where("cast(k AS int) > 1").where("v > 1"),
    "that can fail, above a filter": lambda s, _: s.where("v > 1").where("cast(k AS int) > 1"),
    "above a union of one stream twice": lambda s, _: s.union(s).where("v > 1"),
    "above a distinct on other columns": lambda s, _: s.distinct("k").where("v > 1"),
    "that can fail, above a distinct": lambda s, _: s.distinct("k").where("cast(k AS int) > 1"),
    "that can fail, above a sort": lambda s, _: s.sort("ts").where("v + 1 > 1"),
    "above an as-of join that rejects": lambda s, t: s.join_as_of(t.select("ts AS at", "f"), time=("v", "at")).where(
        "left_f > 1"
    ),
    "that can fail, above an as-of join": lambda s, t: s.join_as_of(t, within=5).where("left_v + 1 > 1"),
    "on the partner of an as-of join": lambda s, t: s.join_as_of(t, within=5).where("right_v > 1 OR left_v > 1"),
    "above a table with a condition": lambda s, _: s.enrich(ITEMS, on="k", where="left_v / n > 1").where("ts > 1"),
    "on the columns of a table": lambda s, _: s.enrich(ITEMS, on="k").where("n > 1"),
    "on an aggregate": lambda s, _: s.window("ts", range=5).group_by("k").agg(n=ms.count()).where("n > 1"),
    "on a group and an aggregate at once": lambda s, _: (
        s.window("ts", range=5).group_by("k").agg(n=ms.count()).where("n > 1 OR k = 'a'")
    ),
    "on a window": lambda s, _: s.window("ts", range=5).group_by("k").agg(n=ms.count()).where("window_end > 9"),
    "on groups of a landmark": lambda s, _: _counted(s, attribute="ts", range="all", slide=5),
    "on groups of rows": lambda s, _: _counted(s, by="rows", range=5),
    "on groups of slide-by-tuple": lambda s, _: _counted(s, attribute="ts", range=5, per="tuple"),
    "on groups of a user's windows": lambda s, _: _counted(
        s, attribute="ts", extent=lambda w: (w, w + 1), wids=lambda a: [a]
    ),
}


@pytest.mark.parametrize("case", STAYS)
def test_a_filter_stays(case: str) -> None:
    assert rewritten(STAYS[case]) == rewritten(STAYS[case], push_filters)


def test_conditions_meet_whose_names_differ_in_capitals_only() -> None:
    schema = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("K", pa.int64())])
    expected = """
        └─ select where k > 1 AND K > 1
           └─ stream s: ts within 8
    """

    assert text(expected) == rewritten(lambda s, _: s.where("k > 1").where("K > 1"), push_filters, schema=schema)


def test_a_filter_does_not_pass_what_has_another_reader() -> None:
    def ask(s: ms.Stream, _: ms.Stream) -> ms.Query:
        counts = s.window("ts", range=5).group_by("k").agg(n=ms.count())
        return counts.where("k = 'a'").union(counts.where("n > 3"))

    assert rewritten(ask) == rewritten(ask, push_filters)


def test_a_filter_does_not_pass_a_top() -> None:
    engine = ms.Engine(host="local")
    engine.stream("s", [], schema=SCHEMA, progress=ms.ordered("ts"))
    counts = engine.sql("SELECT k, count(*) AS n FROM s [RANGE 5, WATTR ts] GROUP BY k ORDER BY n LIMIT 1")
    query = counts.where("k = 'a'")
    top = [type(node).__name__ for node in nodes.walk(optimize(Plan.of({"q": query.node}))["q"])]

    assert top.index("Top") < max(i for i, name in enumerate(top) if name == "Select")


# --- prune columns ----------------------------------------------------------------------------------

PRUNED: dict[str, tuple[Ask, str]] = {
    "for a filter below an aggregate": (
        lambda s, _: s.where("v > 1").window("ts", range=5).agg(n=ms.count()),
        """
        └─ aggregate: n = count(*)
              window range 5 slide 5 on ts [CF]
           └─ select where v > 1
              └─ project ts, v
                 └─ stream s: ts within 8
        """,
    ),
    "for each input of a union": (
        lambda s, t: s.union(t.where("v > 1")).window("ts", range=5).group_by("k").agg(n=ms.count()),
        """
        └─ aggregate by k: n = count(*)
              window range 5 slide 5 on ts [CF]
           └─ union of 2 inputs: progress is their minimum
              ├─ project ts, k
              │  └─ stream s: ts within 8
              └─ select where v > 1
                 └─ project ts, k, v
                    └─ stream t: ts within 8
        """,
    ),
    "below what keeps rows": (
        lambda s, _: s.distinct("k").sort("ts").select("v"),
        """
        └─ project v
           └─ sort by ts, as far as punctuation reaches
              └─ distinct on k
                 └─ project ts, k, v
                    └─ stream s: ts within 8
        """,
    ),
    "of a table and of the stream before it": (
        lambda s, _: s.enrich(ITEMS, on="k", where="n > 1").window("ts", range=5).group_by("k").agg(n=ms.count()),
        """
        └─ aggregate by k: n = count(*)
              window range 5 slide 5 on ts [CF]
           └─ enrich from table table_1 on k = k and n > 1
              └─ project ts, k
                 └─ stream s: ts within 8
        """,
    ),
    "that are computed and cannot fail": (
        lambda s, _: s.select("ts", "k", "f * 2 AS g", "v * 2 AS w").distinct("k").select("ts"),
        """
        └─ project ts
           └─ distinct on k
              └─ project ts, k, v * 2 as w
                 └─ stream s: ts within 8
        """,
    ),
}


@pytest.mark.parametrize("case", PRUNED)
def test_columns_are_left_behind(case: str) -> None:
    ask, expected = PRUNED[case]

    assert text(expected) == rewritten(ask, prune_columns)


WHOLE: dict[str, Ask] = {
    "rows that leave": lambda s, _: s.where("v > 1"),
    "rows that a sort may reject": lambda s, _: s.sort("v").select("k"),
    "rows that a projection reads": lambda s, _: s.select("ts", "v"),
    "what settles ties of an as-of join": lambda s, t: s.join_as_of(t, on="k", within=5).select("left_v"),
    "the arguments of an aggregate": lambda s, _: s.window("ts", range=5).agg(n=ms.sum("v")),
}


@pytest.mark.parametrize("case", WHOLE)
def test_columns_stay(case: str) -> None:
    assert rewritten(WHOLE[case]) == rewritten(WHOLE[case], prune_columns)


# --- strategies and panes ---------------------------------------------------------------------------


def _aggregate(ask: Ask, *, distributed: bool = False) -> nodes.Aggregate:
    node = assign_panes(choose_strategy(Plan.of({"q": asked(ask)}, distributed=distributed)))["q"]
    assert isinstance(node, nodes.Aggregate)
    return node


def test_several_windows_take_panes_before_there_are_rows() -> None:
    node = _aggregate(lambda s, _: s.window("ts", range=[4, 10], slide=2).agg(n=ms.count()))

    assert node.choice is not None
    assert ("auto", "paned", 2) == (node.strategy, node.choice.strategy, node.pane)


def test_one_window_waits_for_its_rows() -> None:
    node = _aggregate(lambda s, _: s.window("ts", range=10, slide=4).agg(n=ms.count()))

    assert (None, 2) == (node.choice, node.pane)


def test_rows_that_travel_are_reduced_to_panes() -> None:
    node = _aggregate(lambda s, _: s.window("ts", range=10, slide=4).agg(n=ms.count()), distributed=True)

    assert node.choice is not None
    assert "paned" == node.choice.strategy


@pytest.mark.parametrize("strategy", ["wid", "buffered", "adaptive"])
def test_a_strategy_that_was_asked_for_is_not_chosen_again_and_has_no_panes(strategy: str) -> None:
    node = _aggregate(lambda s, _: s.window("ts", range=9, slide=3).agg(n=ms.count(), strategy=strategy))

    assert (strategy, None, None) == (node.strategy, node.choice, node.pane)


# --- all of them ------------------------------------------------------------------------------------

EVERY: dict[str, Ask] = {
    **{name: ask for name, (ask, _) in {**PUSHED, **PRUNED}.items()},
    **STAYS,
    **WHOLE,
}


@pytest.mark.parametrize("at", range(len(REWRITES) + 1))
@pytest.mark.parametrize("case", EVERY)
def test_a_rewrite_once_more_changes_nothing(case: str, at: int) -> None:
    rewrite = (*REWRITES, optimize)[at]
    plan = Plan.of({"q": asked(EVERY[case]), "r": asked(EVERY[case])})
    for before in REWRITES[:at]:
        plan = before(plan)
    once = rewrite(plan)

    assert once is rewrite(once)


@pytest.mark.parametrize("case", EVERY)
def test_streams_stay_the_very_same(case: str) -> None:
    node = asked(EVERY[case])

    assert nodes.sources(node) == nodes.sources(optimize(Plan.of({"q": node}))["q"])
