"""Joins that come, go and change between epochs: the others stay as alone, and each says truly from when it has all."""

from __future__ import annotations

import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.plan.sharing import STRATEGIES
from support import in_process
from support.bags import difference
from support.costly import costly
from support.disk import rows_of
from support.join_sets import Asked, Keys, latest, some_asked, streams_of
from support.joins import streams

Seeds = st.integers(0, 2**32)
Rows = list[dict[str, Any]]


@dataclass
class Life:
    """One join from when it comes to when it goes."""

    asked: Asked
    came: int
    went: int | None = None
    complete_from: int | None = None
    rows: Rows = field(default_factory=list[dict[str, Any]])


def some_lives(rnd: random.Random, epochs: int) -> dict[str, Life]:
    """Joins that are there for some of the epochs; the first may be alone for a while."""
    lives = {"q0": Life(some_asked(rnd), 0)}
    for i in range(1, rnd.randint(2, 6)):
        came = rnd.choice([0, rnd.randint(0, epochs - 1), rnd.randint(0, epochs - 1), rnd.randint(0, epochs - 1)])
        lives[f"q{i}"] = Life(some_asked(rnd), came, rnd.choice([None, None, rnd.randint(came + 1, epochs)]))
    return lives


def some_keys(rnd: random.Random) -> Keys:
    return rnd.choice([[("k", "k2")], [("k", "k2")], [("k", "k2"), ("j", "j2")], []])


def alone(asked: Asked, keys: Keys, seed: int, *, since: int | None = None) -> Rows:
    """What a join gives by itself; of that, what is complete from a time on."""
    engine = ms.Engine(host="local")
    query = asked.over(*streams(engine, *streams_of(seed)), keys).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return [row for row in query.table().to_pylist() if since is None or latest(row) >= since]


def check(lives: dict[str, Life], keys: Keys, seed: int) -> None:
    for name, life in lives.items():
        wanted = alone(life.asked, keys, seed, since=life.complete_from)
        wrong = difference(wanted, life.rows)
        what = (name, life.asked, life.came, life.went, life.complete_from, wrong)

        assert life.came or life.complete_from is None, what
        assert "unexpected" not in wrong, what
        assert life.went is not None or not wrong, what


def epochs_of(seed: int) -> int:
    return max(map(len, streams_of(seed)))


def play(
    rnd: random.Random,
    lives: dict[str, Life],
    keys: Keys,
    seed: int,
    root: Path | None,
    *,
    restart: float = 0.0,
    sharing: str = "auto",
) -> None:
    """An epoch a run; with some probability each is a life of its own, in another number of partitions."""
    engine: ms.Engine | None = None
    queries: dict[str, ms.Query] = {}
    pair: tuple[Any, Any] = (None, None)
    last = epochs_of(seed)
    for epoch in range(last + 1):
        if engine is None or (root is not None and rnd.random() < restart):
            partitions = rnd.choice([1, 2, 3])
            engine = (
                ms.Engine(host="local", sharing=sharing)
                if root is None
                else in_process.engine(root / "checkpoint", partitions)
            )
            pair = streams(engine, *streams_of(seed))
            there = [n for n, life in lives.items() if life.came < epoch and (life.went is None or life.went > epoch)]
            queries = {name: _made(root, name, lives[name].asked.over(*pair, keys)) for name in there}
        for name, life in lives.items():
            if life.went == epoch and name in queries:
                engine.drop(name)
                if root is not None:
                    del queries[name]
            if life.came == epoch:
                queries[name] = _made(root, name, life.asked.over(*pair, keys))
        end = epoch == last
        run = engine.start(ms.available_now() if end else ms.once(), end_of_stream=end)
        run.await_termination()
        assert {0} == {one["books"]["unaccounted"] for one in run.progress["queries"].values()}
        for name, query in queries.items():
            if lives[name].came == epoch:
                lives[name].complete_from = query.complete_from
    for name, life in lives.items():
        life.rows = queries[name].table().to_pylist() if root is None else rows_of(root / name)


def _made(root: Path | None, name: str, query: ms.Query) -> ms.Query:
    return (query if root is None else query.to_parquet(root / name)).named(name)


@costly
@given(Seeds)
def test_in_memory_joins_that_come_and_go_are_as_alone_from_when_they_are_complete(seed: int) -> None:
    rnd = random.Random(seed)
    lives, keys = some_lives(rnd, epochs_of(seed)), some_keys(rnd)
    play(rnd, lives, keys, seed, None)

    check(lives, keys, seed)


@pytest.mark.parametrize("restart", [0.0, 0.5])
@costly
@given(seed=Seeds)
def test_on_disk_joins_that_come_and_go_are_as_alone_from_when_they_are_complete(restart: float, seed: int) -> None:
    rnd = random.Random(seed)
    lives, keys = some_lives(rnd, epochs_of(seed)), some_keys(rnd)
    with tempfile.TemporaryDirectory() as folder:
        play(rnd, lives, keys, seed, Path(folder), restart=restart)

    check(lives, keys, seed)


def some_other(rnd: random.Random, one: Asked) -> Asked:
    """A join with the same columns: another band, and perhaps another condition."""
    other = some_asked(rnd)
    return Asked(
        one.how, other.low, other.width, rnd.choice([one.left, other.left]), one.right, one.where, one.computed
    )


@pytest.mark.parametrize("host", ["memory", "disk"])
@costly
@given(seed=Seeds)
def test_a_join_that_is_replaced_goes_on_with_the_rows_that_are_there(host: str, seed: int) -> None:
    rnd = random.Random(seed)
    before, beside, keys = some_asked(rnd), some_asked(rnd), some_keys(rnd)
    after, at = some_other(rnd, before), rnd.randint(1, epochs_of(seed))
    with tempfile.TemporaryDirectory() as folder:
        engine = in_process.engine(Path(folder), 2) if host == "disk" else ms.Engine(host="local")
        pair = streams(engine, *streams_of(seed))
        query = before.over(*pair, keys).named("q")
        other = beside.over(*pair, keys).named("other") if rnd.random() < 0.5 else None
        for _ in range(at):
            engine.start(ms.once()).await_termination()
        given_before = query.table().num_rows
        now = query.replace(after.over(*pair, keys))
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        rows = now.table().to_pylist()[given_before:]  # the sink stays
        others = [] if other is None else other.table().to_pylist()

        assert {} == difference(alone(after, keys, seed, since=now.complete_from), rows), (before, after, at)
    assert other is None or {} == difference(alone(beside, keys, seed), others)


@pytest.mark.parametrize("host", ["memory", "disk"])
@costly
@given(seed=Seeds)
def test_a_running_thread_takes_joins_in_and_lets_them_go(host: str, seed: int) -> None:
    rnd = random.Random(seed)
    asked, keys = {f"q{i}": some_asked(rnd) for i in range(4)}, some_keys(rnd)
    with tempfile.TemporaryDirectory() as folder:
        engine = in_process.engine(Path(folder), 2) if host == "disk" else ms.Engine(host="local")
        pair = streams(engine, *streams_of(seed))
        queries = {"q0": asked["q0"].over(*pair, keys).named("q0")}
        run = engine.start(ms.every("5 ms"))
        queries["q1"] = asked["q1"].over(*pair, keys).named("q1")
        with engine.changes():
            queries["q2"] = asked["q2"].over(*pair, keys).named("q2")
            queries["q3"] = asked["q3"].over(*pair, keys).named("q3")
        engine.drop("q1")
        run.stop()
        run.await_termination()
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        for name in ("q0", "q2", "q3"):
            since = queries[name].complete_from
            found = queries[name].table().to_pylist()
            assert {} == difference(alone(asked[name], keys, seed, since=since), found), (name, asked[name], since)


@pytest.mark.parametrize("sharing", STRATEGIES)
@costly
@given(seed=Seeds)
def test_joins_that_come_and_go_are_as_alone_by_every_strategy(sharing: str, seed: int) -> None:
    rnd = random.Random(seed)
    lives, keys = some_lives(rnd, epochs_of(seed)), some_keys(rnd)
    play(rnd, lives, keys, seed, None, sharing=sharing)

    check(lives, keys, seed)
