"""Window queries that share a store of panes give what each gives by itself: results, side rows and books."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from support.costly import costly
from support.disk import rows_of
from support.in_process import engine as engine_on_disk
from support.window_sets import SCHEMA, Asked, Feed, Left, alone, near, play, some_asked, some_feed, stored

Seeds = st.integers(0, 2**32)


def some_set(rnd: random.Random) -> dict[str, Asked]:
    return {f"q{i}": some_asked(rnd) for i in range(rnd.randint(2, 8))}


def check(asked: dict[str, Asked], feed: Feed, together: dict[str, Left]) -> None:
    for name, one in asked.items():
        apart, here = alone(one, feed), together[name]
        found = {side: near(getattr(apart, side), getattr(here, side)) for side in ("rows", "late", "rejected")}

        assert {"rows": {}, "late": {}, "rejected": {}} == found, (name, one, found)
        assert apart.books == here.books, (name, one, apart.books, here.books)


@given(Seeds)
def test_in_memory_every_query_of_a_set_gives_what_it_gives_alone(seed: int) -> None:
    rnd = random.Random(seed)
    asked, feed = some_set(rnd), some_feed(rnd)

    check(asked, feed, play(ms.Engine(host="local"), asked, feed))


@pytest.mark.parametrize("partitions", [1, 2, 5])
@costly
@given(seed=Seeds)
def test_on_disk_every_query_of_a_set_gives_what_it_gives_alone(partitions: int, seed: int) -> None:
    rnd = random.Random(seed)
    asked, feed = some_set(rnd), some_feed(rnd)
    with tempfile.TemporaryDirectory() as folder:
        check(asked, feed, play(engine_on_disk(Path(folder), partitions), asked, feed))


@costly
@given(Seeds)
def test_a_restart_in_other_partitions_changes_nothing(seed: int) -> None:
    rnd = random.Random(seed)
    asked, feed = some_set(rnd), some_feed(rnd)
    cuts = sorted({rnd.randint(1, len(feed.epochs)), rnd.randint(1, len(feed.epochs)), len(feed.epochs)})
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for end in cuts:
            engine = engine_on_disk(root / "checkpoint", rnd.choice([1, 2, 5]))
            stream = engine.stream("s", list(feed.epochs[:end]), schema=SCHEMA, progress=feed.progress)
            for name, one in asked.items():
                stored(root, name, one.query(stream)).named(name)
            run = engine.start(ms.available_now(), end_of_stream=end == cuts[-1], allow_unbounded=True)
            run.await_termination()
        together = {
            name: Left(
                rows_of(root / name),
                rows_of(root / f"{name}-late"),
                rows_of(root / f"{name}-rejected"),
                run.progress["queries"][name]["books"],
            )
            for name in asked
        }

    check(asked, feed, together)
