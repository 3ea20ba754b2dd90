"""Both sides of each rewrite are executed on disordered streams: results, late and rejected rows and books agree."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.plan.optimize import REWRITES, optimize
from support.harness import SCHEMA
from support.sides import Ask, run

pytestmark = pytest.mark.slow

ITEMS = pa.table({"k": ["a", "b", "b", None], "n": [1, 2, 3, 4], "v": [3, 4, 0, None]})
ASKS: dict[str, Ask] = {
    "a filter": lambda s, _: s.where("v > 2"),
    "filters in a row": lambda s, _: s.where("v > 1").where("k = 'a'").where("f IS NULL OR f < 1"),
    "a filter after renames": lambda s, _: s.select("ts AS at", "v AS n", "k").where("n > 1 AND k <> 'b'"),
    "a filter on what is computed": lambda s, _: s.select("ts", "f * 2 AS g", "v > 3 AS dear").where("g > 1 OR dear"),
    "a filter after what can fail": lambda s, _: s.select("ts", "v * 2 AS w").where("w > 4"),
    "a filter after a constant": lambda s, _: s.select("ts", "'x' AS tag", "v").where("tag = 'x' AND v > 2"),
    "a filter on a union": lambda s, t: s.union(t).where("v > 2"),
    "a filter on a union of filters": lambda s, t: s.where("k = 'a'").union(t.select(*SCHEMA.names)).where("v > 2"),
    "a filter on a split": lambda s, _: s.where("v > 2").union(s.where("v < 2")).where("k = 'a'"),
    "a filter on distinct keys": lambda s, _: s.distinct("k", "v").where("k = 'a'"),
    "a filter on other columns": lambda s, _: s.distinct("k", "v").where("ts > 3 AND v > 1"),
    "a filter on a sort": lambda s, _: s.sort("ts").where("v > 2"),
    "a filter on a sort of what has no time": lambda s, _: s.select("v", "k", "ts").sort("v").where("k = 'a'"),
    "a filter below a window": lambda s, _: s.where("v > 1").window("ts", range=10, slide=4).agg(n=ms.count()),
    "a filter on results": lambda s, _: s.window("ts", range=9, slide=3).group_by("k").agg(n=ms.count()).where("n > 2"),
    "a filter on groups of a landmark": lambda s, _: (
        s.window("ts", range="all", slide=10).group_by("k").agg(n=ms.count()).where("k = 'a'")
    ),
    "a filter on groups of row numbers": lambda s, _: (
        s.window(by="rows", range=4, slide=2, partition_by="k").agg(n=ms.count()).where("k = 'a'")
    ),
    "a filter on groups of tuples": lambda s, _: (
        s.window("ts", range=6, per="tuple").group_by("k").agg(n=ms.count()).where("k = 'a'")
    ),
    "several windows": lambda s, _: s.window("ts", range=[5, 10, 20], slide=5).group_by("k").agg(t=ms.sum("v")),
    "a wide union": lambda s, t: s.union(t).window("ts", range=10).agg(t=ms.sum("v")),
    "a wide distinct": lambda s, _: s.distinct("k", "ts").window("ts", range=10).group_by("k").agg(n=ms.count()),
    "a wide sort": lambda s, _: s.sort("ts").window(by="rows", range=4, slide=2).agg(t=ms.sum("v")),
    "a wide sort of what has no time": lambda s, _: s.sort("v").select("k"),
    "a column that nobody reads": lambda s, _: s.select("ts", "f + 1 AS g", "v + 1 AS w").distinct("ts").select("ts"),
    "a chain": lambda s, _: (
        s.where("v > 0").window("ts", range=5).group_by("k").agg(n=ms.count())
        .window("window_end", range=20).group_by("k").agg(m=ms.max("n"))
    ),
    "a wide as-of join": lambda s, t: (
        s.where("v > 0").join_as_of(t.select("ts AS at", "v AS w"), time=("ts", "at"), how="left")
        .where("v > 2 OR w > 1")
    ),
    "a wide table": lambda s, _: (
        s.enrich(ITEMS, on="k", how="left", where="left_v > right_v").window("ts", range=10).agg(t=ms.sum("n"))
    ),
    "a difference": lambda s, t: s.select("ts", "k").difference(t.select("ts", "k"), time="ts").where("k = 'a'"),
    "an intersection by windows": lambda s, t: s.intersect(t, window=9, time="ts").select("k", "v"),
    "one thing twice": lambda s, t: s.where("v > 1").select("ts", "k").union(t.select("ts", "k")).distinct("k"),
}  # fmt: skip

HAVING: dict[str, Ask] = {
    "on an as-of join": lambda s, t: (
        s.join_as_of(t, on="k", time="ts", within=20).where("left_v > 2 AND right_f < 2 AND k = 'a'")
    ),
    "on a left as-of join": lambda s, t: s.join_as_of(t, on="k", time="ts", how="left").where("left_v > 2"),
    "on a table": lambda s, _: s.enrich(ITEMS, on="k").where("left_v > 2 AND n > 1"),
    "sliding": lambda s, _: (
        s.window("ts", range=10, slide=4).group_by("k", "v").agg(n=ms.count()).where("k = 'a' AND n > 1 AND v > 2")
    ),
    "gaps": lambda s, _: s.window("ts", range=2, slide=5).group_by("k").agg(n=ms.count()).where("k = 'a'"),
    "a session": lambda s, _: s.window("ts", gap=4).group_by("k").agg(n=ms.count()).where("k IS NULL"),
    "on a union": lambda s, t: s.union(t).window("ts", range=10).group_by("k").agg(n=ms.count()).where("k = 'a'"),
    "on another attribute": lambda s, _: s.window("v", range=2).group_by("k").agg(n=ms.count()).where("k = 'a'"),
    "after a sort": lambda s, _: s.sort("ts").window("ts", range=9).group_by("k").agg(n=ms.count()).where("k = 'a'"),
    "of a chain": lambda s, _: (
        s.window("ts", range=5).group_by("k").agg(n=ms.count())
        .window("window_end", range=20).group_by("k").agg(m=ms.max("n")).where("k = 'a'")
    ),
    **{
        strategy: lambda s, _, strategy=strategy: (
            s.window("ts", range=9, slide=3).group_by("k").agg(n=ms.count(), strategy=strategy).where("k <> 'a'")
        )
        for strategy in ("wid", "paned", "differential", "buffered", "adaptive")
    },
}  # fmt: skip


@pytest.mark.parametrize("at", range(len(REWRITES)), ids=[one.__name__ for one in REWRITES])
@given(ask=st.sampled_from(sorted(ASKS)), seed=st.integers(0, 10_000))
def test_each_rewrite_changes_nothing_that_leaves(at: int, ask: str, seed: int) -> None:
    before = run(seed, {"q": ASKS[ask]}, REWRITES[:at])

    assert before == run(seed, {"q": ASKS[ask]}, REWRITES[: at + 1])


@given(ask=st.sampled_from(sorted(HAVING)), seed=st.integers(0, 10_000))
def test_a_condition_on_groups_or_the_left_side_is_answered_the_same_below_the_aggregate_or_join(
    ask: str, seed: int
) -> None:
    before, after = (run(seed, {"q": HAVING[ask]}, REWRITES[:n])["q"] for n in (1, 2))

    # What the aggregate or join took for groups and rows that are not asked for is now filtered before it.
    assert _accounts(before.pop("books")) == _accounts(after.pop("books"))
    assert before == after


def _accounts(books: dict[str, int]) -> dict[str, int]:
    taken = ("filtered", "accepted", "outside")
    return {"taken": sum(books[name] for name in taken)} | {n: v for n, v in books.items() if n not in taken}


@given(asks=st.lists(st.sampled_from(sorted(ASKS)), min_size=2, max_size=4), seed=st.integers(0, 10_000))
def test_queries_together_are_answered_the_same_with_all_rewrites_and_with_none(asks: list[str], seed: int) -> None:
    several: dict[str, Any] = {f"q{i}": ASKS[ask] for i, ask in enumerate(asks)}

    assert run(seed, several, ()) == run(seed, several, (optimize,))
