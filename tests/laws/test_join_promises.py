"""What a join promises: nothing leaves later that it ruled out, whatever the join, and results leave by it."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

import millstream as ms
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from support.harness import stray
from support.joins import ANY_NEAR, KINDS, NEAR, SHAPES, Case, Row, arriving, rows, table
from support.two_sides import TwoSides


def feed(join: TwoSides, sides: list[list[ms.Epoch]]) -> set[str]:
    """All epochs of both sides, rows before punctuation; what was promised on the way.

    `TwoSides` looks at each row that leaves, whether it was ruled out before.
    """
    said: set[str] = set()
    for epoch in range(max(map(len, sides))):
        for side, epochs in enumerate(sides):
            if epoch < len(epochs):
                join.table(side, epochs[epoch].rows)
        for side, epochs in enumerate(sides):
            for one in epochs[epoch].punctuations if epoch < len(epochs) else ():
                join.promise(side, Punctuation(one.pattern))  # type: ignore[union-attr]
                said |= join.promises
    return said


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("near", ANY_NEAR)
@pytest.mark.parametrize("shape", ["one key", "no key", "a condition", "no key and a condition"])
def test_nothing_leaves_that_was_ruled_out_before(how: str, near: str, shape: str) -> None:
    case = Case.of(how, near, **SHAPES[shape])
    said: set[str] = set()
    for seed in range((12 if near in NEAR else 3) if shape == "one key" else 1):
        rnd = random.Random(seed)
        join = TwoSides(case.join)
        sides = [arriving(rnd, rows(rnd, 50, span=60), name=name) for name in ("ts", "ts2")]
        said |= feed(join, sides)
        for side in (rnd.randint(0, 1), 0, 1):
            join.end(side)
        assert [] == join.kept(0) + join.kept(1)
    assert (how != "full") == bool(said)  # either time of a full join may be missing


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_punctuation_of_single_groups_lets_rows_go_and_loses_none(how: str, seed: int) -> None:
    rnd = random.Random(seed)
    case = Case.of(how, "closed band")
    join = TwoSides(case.join)
    sides = [stray(rows(rnd, 50, span=60), 12, rnd) for _ in range(2)]
    left = [list(some) for some in sides]
    while any(left):
        side = rnd.choice([one for one in (0, 1) if left[one]])
        now, left[side] = left[side][:7], left[side][7:]
        join.rows(side, *now)
        for key in "abc":
            mine = [one["ts"] for one in left[side] if one["k"] == key]
            if not mine:
                join.promise(side, Punctuation.over({("k", "k2")[side]: key}))
            elif rnd.random() < 0.5:
                join.bound(side, min(mine), **{("k", "k2")[side]: key})
    join.end(0)
    join.end(1)

    names = ["id"] if how in ("semi", "anti") else ["id", "id2", "ts", "ts2"]
    found = Counter(tuple(row[name] for name in names) for row in join.left)
    assert case.answer(table(sides[0]), table(sides[1], second=True)) == found


class Played:
    """A query on the local host, an epoch a run, of streams whose epochs wait their turn."""

    def __init__(self, ask: Any, first: list[ms.Epoch], second: list[ms.Epoch]) -> None:
        self.engine = ms.Engine(host="local")
        self.waiting = [list(first), list(second)]
        a, b = (
            self.engine.stream(
                "ab"[side], self._next(side), schema=table([], second=bool(side)).schema, progress=ms.supplied(name)
            )
            for side, name in enumerate(("ts", "ts2"))
        )
        self.query = ask(a, b).named("q")
        self.query.for_each(lambda rows, _epoch: self.left.extend(rows.to_pylist()))
        self.left: list[Row] = []

    def _next(self, side: int) -> Any:
        return lambda: self.waiting[side].pop(0) if self.waiting[side] else None

    def epoch(self) -> list[Row]:
        self.left = []
        self.engine.start(ms.once(), allow_unbounded=True).await_termination()
        return self.left

    @property
    def told(self) -> Progress:
        return self.engine.host.graph.at(self.engine.host.queries["q"].node).told.copy()


def counts_of(pairs: Any) -> Any:
    return pairs.window("ts", range=20, slide=10).group_by("k").agg(n=ms.count())


ABOVE: dict[str, Any] = {
    **{f"{how} join": Case.of(how, "closed band").query for how in KINDS},
    "strict, without a key": Case.of("left", "both ends strict", **SHAPES["no key and a condition"]).query,
    "counts of pairs": lambda a, b: counts_of(a.join(b, on=[("k", "k2")], within=5)),
    "counts by both times": lambda a, b: a.join(b, within=3).window("ts", range=1).group_by("ts2").agg(n=ms.count()),
    "the later time": lambda a, b: a.join(b, [("k", "k2")], within=5).select("k", "greatest(ts, ts2) AS at"),
    "the earlier time": lambda a, b: a.join(b, [("k", "k2")], within=5).select("k", "least(ts, ts2) AS at"),
    "a join of counts of a join": lambda a, b: counts_of(a.join(b, on=[("k", "k2")], within=5)).join(
        b, on=[("k", "k2")], within=(0, 15), time=("window_end", "ts2")
    ),
}


@pytest.mark.parametrize("name", ABOVE)
def test_no_row_leaves_a_query_that_its_progress_ruled_out_an_epoch_before(name: str) -> None:
    came, said = 0, False
    for seed in range(2):
        rnd = random.Random(seed)
        sides = [arriving(rnd, rows(rnd, 50, span=90), name=one) for one in ("ts", "ts2")]
        played = Played(ABOVE[name], *sides)
        told = Progress()
        for _ in range(max(map(len, sides))):
            left = played.epoch()
            assert [] == [(row, str(told.rules_out(row))) for row in left if told.rules_out(row) is not None]
            told = played.told
            assert not told.ended
            came, said = came + len(left), said or told != Progress()
    assert came
    assert (name != "full join") == said
