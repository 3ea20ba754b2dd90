"""Queries that come, go and change between epochs: the others stay as alone, and no wrong window ever leaves."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from support.costly import costly
from support.disk import rows_of
from support.in_process import engine as engine_on_disk
from support.window_sets import SCHEMA, Asked, Feed, alone, near, some_asked, some_feed, stored

Seeds = st.integers(0, 2**32)
Made = Callable[[], ms.Engine]


@dataclass
class Life:
    """One query from when it comes to when it goes."""

    asked: Asked
    came: int
    """The epoch before which it came."""
    went: int | None = None
    complete_from: Any = None
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


def some_lives(rnd: random.Random, epochs: int) -> dict[str, Life]:
    """Queries that are there for some of the epochs; one at least is always there."""
    lives = {"q0": Life(some_asked(rnd), 0)}
    for i in range(1, rnd.randint(3, 7)):
        came = rnd.choice([0, rnd.randint(0, epochs - 1), rnd.randint(0, epochs - 1)])
        asked = rnd.choice([lives["q0"].asked, some_asked(rnd), some_asked(rnd), some_asked(rnd)])
        lives[f"q{i}"] = Life(asked, came, rnd.choice([None, None, rnd.randint(came + 1, epochs)]))
    return lives


def check(lives: dict[str, Life], feed: Feed) -> None:
    for name, life in lives.items():
        expected = alone(life.asked, feed).rows
        what = (name, life.asked, life.came, life.went, life.complete_from)
        if life.came == 0 and life.went is None:
            assert {} == near(expected, life.rows), what
            continue
        if life.asked.grows:
            continue  # a landmark window of a query that comes later begins with the rows to come
        wrong = near(expected, life.rows)

        assert "unexpected" not in wrong, (wrong["unexpected"], what)
        # A query that goes as an equal one comes, at a restart, goes on under another name, with its state.
        renamed = any(other.went == life.came and other.asked == life.asked for other in lives.values())
        if life.went is None and not renamed:
            missing = [dict(row) for row in wrong.get("missing", [])]
            assert life.complete_from is not None or not missing, (missing, what)
            assert [] == [row for row in missing if row["window_start"] >= life.complete_from], (missing, what)


def play_in_memory(lives: dict[str, Life], feed: Feed) -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", list(feed.epochs), schema=SCHEMA, progress=feed.progress)
    queries: dict[str, ms.Query] = {}
    for epoch in range(len(feed.epochs) + 1):
        for name, life in lives.items():
            if life.went == epoch:
                engine.drop(name)
            if life.came == epoch:
                queries[name] = life.asked.query(stream).named(name)
        last = epoch == len(feed.epochs)
        run = engine.start(ms.available_now() if last else ms.once(), end_of_stream=last, allow_unbounded=True)
        run.await_termination()
        for name, life in lives.items():
            if life.came == epoch:
                life.complete_from = queries[name].complete_from
    for name, life in lives.items():
        life.rows = queries[name].table().to_pylist()


@costly
@given(Seeds)
def test_in_memory_queries_that_come_and_go_disturb_nobody(seed: int) -> None:
    rnd = random.Random(seed)
    feed = some_feed(rnd, late=rnd.random() < 0.5)
    lives = some_lives(rnd, len(feed.epochs))
    play_in_memory(lives, feed)

    check(lives, feed)


def play_on_disk(rnd: random.Random, lives: dict[str, Life], feed: Feed, root: Path, *, restart: float) -> None:
    """An epoch a run; with some probability each is a life of its own, in another number of partitions."""
    engine: ms.Engine | None = None
    queries: dict[str, ms.Query] = {}
    stream: Any = None
    for epoch in range(len(feed.epochs) + 1):
        last = epoch == len(feed.epochs)
        if engine is None or rnd.random() < restart:
            engine = engine_on_disk(root / "checkpoint", rnd.choice([1, 2, 5]) if restart else 2)
            stream = engine.stream("s", list(feed.epochs), schema=SCHEMA, progress=feed.progress)
            queries = {}
            there = [n for n, life in lives.items() if life.came < epoch and (life.went is None or life.went > epoch)]
            rnd.shuffle(there)
            for name in there:
                queries[name] = stored(root, name, lives[name].asked.query(stream)).named(name)
        for name, life in lives.items():
            if life.went == epoch and name in queries:
                engine.drop(name)
                del queries[name]
            if life.came == epoch:
                queries[name] = stored(root, name, life.asked.query(stream)).named(name)
        run = engine.start(ms.available_now() if last else ms.once(), end_of_stream=last, allow_unbounded=True)
        run.await_termination()
        for name, query in queries.items():
            if lives[name].came == epoch:
                lives[name].complete_from = query.complete_from
            assert lives[name].complete_from == query.complete_from, (name, lives[name])
    for name, life in lives.items():
        life.rows = rows_of(root / name)


@pytest.mark.parametrize("restart", [0.0, 0.5])
@costly
@given(seed=Seeds)
def test_on_disk_queries_that_come_and_go_disturb_nobody(restart: float, seed: int) -> None:
    rnd = random.Random(seed)
    feed = some_feed(rnd, late=rnd.random() < 0.5)
    lives = some_lives(rnd, len(feed.epochs))
    with tempfile.TemporaryDirectory() as folder:
        play_on_disk(rnd, lives, feed, Path(folder), restart=restart)

    check(lives, feed)


def some_other(rnd: random.Random, one: Asked) -> Asked:
    """A query with the same columns: other windows, another condition."""
    other = some_asked(rnd, landmark=False)
    return Asked(other.window, one.groups, one.calls, rnd.choice([one.where, other.where]))


@pytest.mark.parametrize("host", ["memory", "disk"])
@costly
@given(seed=Seeds)
def test_a_query_that_is_replaced_goes_on_with_what_its_store_has(host: str, seed: int) -> None:
    rnd = random.Random(seed)
    feed = some_feed(rnd, late=False)
    before, beside = some_asked(rnd, landmark=False), some_asked(rnd)
    after, at = some_other(rnd, before), rnd.randint(1, len(feed.epochs))
    with tempfile.TemporaryDirectory() as folder:
        engine = engine_on_disk(Path(folder), 2) if host == "disk" else ms.Engine(host="local")
        stream = engine.stream("s", list(feed.epochs), schema=SCHEMA, progress=feed.progress)
        query = before.query(stream).named("q")
        other = beside.query(stream).named("other") if rnd.random() < 0.5 else None
        for _ in range(at):
            engine.start(ms.once(), allow_unbounded=True).await_termination()
        now = query.replace(after.query(stream))
        engine.start(ms.available_now(), end_of_stream=True, allow_unbounded=True).await_termination()
        rows, complete_from = now.table().to_pylist(), now.complete_from
        others = [] if other is None else other.table().to_pylist()
    expected = alone(after, feed).rows

    assert "unexpected" not in near(alone(before, feed).rows + expected, rows)
    wanted = [row for row in expected if complete_from is not None and row["window_start"] >= complete_from]
    assert "missing" not in near(wanted, rows), (before, after, at, complete_from)
    assert other is None or {} == near(alone(beside, feed).rows, others)


@pytest.mark.parametrize("host", ["memory", "disk"])
@costly
@given(seed=Seeds)
def test_a_running_thread_takes_queries_in_and_lets_them_go(host: str, seed: int) -> None:
    rnd = random.Random(seed)
    feed = some_feed(rnd, late=False)
    asked = {f"q{i}": some_asked(rnd, landmark=False) for i in range(4)}
    with tempfile.TemporaryDirectory() as folder:
        engine = engine_on_disk(Path(folder), 2) if host == "disk" else ms.Engine(host="local")
        stream = engine.stream("s", list(feed.epochs), schema=SCHEMA, progress=feed.progress)
        queries = {"q0": asked["q0"].query(stream).named("q0")}
        run = engine.start(ms.every("5 ms"), allow_unbounded=True)
        queries["q1"] = asked["q1"].query(stream).named("q1")
        with engine.changes():
            queries["q2"] = asked["q2"].query(stream).named("q2")
            queries["q3"] = asked["q3"].query(stream).named("q3")
        engine.drop("q1")
        run.stop()
        run.await_termination()
        engine.start(ms.available_now(), end_of_stream=True, allow_unbounded=True).await_termination()
        rows = {name: query.table().to_pylist() for name, query in queries.items()}
        complete = {name: queries[name].complete_from for name in ("q2", "q3")}

    assert {} == near(alone(asked["q0"], feed).rows, rows["q0"])
    for name in ("q1", "q2", "q3"):
        assert "unexpected" not in near(alone(asked[name], feed).rows, rows[name])
    for name, since in complete.items():
        expected = [row for row in alone(asked[name], feed).rows if since is None or row["window_start"] >= since]
        assert "missing" not in near(expected, rows[name]), (asked[name], since)
