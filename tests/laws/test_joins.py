"""Joins under any order, any cut into epochs and any number of partitions equal DuckDB's join of the whole tables."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from support import in_process
from support.joins import NEAR, Case, arriving, rows, streams, table
from support.two_sides import TwoSides

KINDS = ("inner", "left", "right", "full", "semi", "anti")
SHAPES: dict[str, dict[str, Any]] = {
    "one key": {"keys": ("k",)},
    "two keys": {"keys": ("k", "j")},
    "no key": {"keys": ()},
    "a condition": {"keys": ("k",), "where": "v + v2 > 8"},
    "no key and a condition": {"keys": (), "where": "abs(v - v2) < 3"},
}


def play(engine: ms.Engine, case: Case, seed: int) -> None:
    rnd = random.Random(seed)
    left = rows(rnd, rnd.choice([0, 5, 60]), span=rnd.choice([20, 90]))
    right = rows(rnd, rnd.choice([0, 5, 60]), span=rnd.choice([20, 90]))
    a, b = streams(engine, arriving(rnd, left), arriving(rnd, right, name="ts2"))
    query = case.query(a, b).named("q")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert case.got(query.table()) == case.answer(table(left), table(right, second=True))


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_join_equals_that_of_whole_tables(how: str, near: str, shape: str) -> None:
    options, text = NEAR[near]
    for seed in range(6):
        play(ms.Engine(host="local"), Case(how, options=options, near=text, **SHAPES[shape]), seed)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("near", NEAR)
def test_nothing_leaves_that_was_ruled_out_before(how: str, near: str) -> None:
    options, _ = NEAR[near]
    for seed in range(12):
        rnd = random.Random(seed)
        join = TwoSides(lambda a, b: a.join(b, on=[("k", "k2")], how=how, **options))
        sides = [arriving(rnd, rows(rnd, 50, span=60), name=name) for name in ("ts", "ts2")]
        for epoch in range(max(map(len, sides))):
            for side, epochs in enumerate(sides):
                if epoch < len(epochs):
                    join.table(side, epochs[epoch].rows)
            for side, epochs in enumerate(sides):
                for one in epochs[epoch].punctuations if epoch < len(epochs) else ():
                    join.bound(side, one.pattern.attributes[("ts", "ts2")[side]].bound)
        join.end(rnd.randint(0, 1))
        join.end(0)
        join.end(1)
        assert [] == join.kept(0) + join.kept(1)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_a_join_by_tasks_equals_it_too(how: str, near: str, partitions: int, tmp_path: Path) -> None:
    options, text = NEAR[near]
    for seed, shape in enumerate(SHAPES.values()):
        case = Case(how, options=options, near=text, **shape)
        play(in_process.engine(tmp_path / str(seed), partitions), replace(case), seed)
