"""Results that are held back are the same: late by no more than was said, and never after they were ruled out."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.core.progress import Progress
from support import in_process, oracle
from support.bags import difference
from support.harness import SCHEMA, Stepper, cut, punctuated, run
from support.oracle import Row

STRATEGIES = ("auto", "wid", "paned", "differential", "buffered", "adaptive")
flushes = st.builds(ms.slow_flush, rows=st.integers(1, 4), windows=st.integers(1, 4)) | st.builds(
    ms.lazy_flush, windows=st.integers(1, 4)
)
some_rows = st.lists(
    st.fixed_dictionaries(
        {"ts": st.integers(-6, 24), "k": st.sampled_from(["a", "b", "c", None]), "v": st.integers(0, 5)}
    ),
    max_size=30,
).map(lambda rows: [{**row, "f": None} for row in rows])
randoms = st.randoms(use_true_random=False)
COUNT = {"n": len}


@given(some_rows, st.integers(1, 8), st.integers(1, 8), flushes, st.sampled_from(STRATEGIES), randoms)
def test_the_bag_is_that_of_the_oracle_for_any_order_and_any_cut(
    rows: list[Row], size: int, slide: int, flush: Any, strategy: str, rnd: random.Random
) -> None:
    ran = run(
        iter(punctuated(cut(rows, rnd, most=6), rnd, group_wise=True)),
        lambda s: (
            s.window("ts", range=size, slide=slide, flush=flush).group_by("k").agg(n=ms.count(), strategy=strategy)
        ),
        progress=ms.supplied("ts"),
    )

    expected = oracle.answers(oracle.sliding(rows, "ts", size, slide), ("k",), COUNT)
    assert {} == difference(expected, ran.answers(("k",), ["n"]))


@given(some_rows, st.sampled_from([{"range": 5}, {"range": [3, 6]}, {"range": "all", "slide": 4}]), flushes, randoms)
def test_what_is_available_now_is_there_when_the_run_is_over(
    rows: list[Row], window: dict[str, Any], flush: Any, rnd: random.Random
) -> None:
    epochs = punctuated(cut(rows, rnd, most=6), rnd, group_wise=True)

    def answers(**more: Any) -> list[Row]:
        ran = run(
            iter(epochs),
            lambda s: s.window("ts", **window, **more).group_by("k").agg(n=ms.count()),
            progress=ms.supplied("ts"),
            end=False,
        )
        return ran.query.table().to_pylist()

    assert {} == difference(answers(), answers(flush=flush))


@dataclass
class Seen:
    """One epoch, seen from outside: what punctuation has closed and not let go before, and what left of it."""

    bounds: dict[Any, int]
    """By group: how far punctuation has come."""
    groups: set[Any]
    """Those that got a row."""
    before: list[Row]
    """Held when the epoch began."""
    closed: list[Row]
    left: list[Row]
    told: Progress
    """What readers know when it is over."""

    @property
    def waiting(self) -> list[Row]:
        left = Counter(map(repr, self.left))
        out: list[Row] = []
        for row in [*self.before, *self.closed]:
            if left[repr(row)]:
                left[repr(row)] -= 1
            else:
                out.append(row)
        assert not +left
        return out


def epoch_by_epoch(epochs: list[ms.Epoch], size: int, slide: int, flush: Any, strategy: str) -> Iterator[Seen]:
    """The query with a flush beside the one without."""

    def ask(**more: Any) -> Stepper:
        return Stepper(
            lambda s: s.window("ts", range=size, slide=slide, **more).group_by("k").agg(n=ms.count(), strategy=strategy)
        )

    plain, held, waiting = ask(), ask(flush=flush), list[Row]()
    for epoch in epochs:
        closed, left = (one._step(epoch.rows, list(epoch.punctuations), end=False) for one in (plain, held))
        known = plain.operator.progress[0]
        bounds = {key: known.bound("ts", {"k": key}) for key in ("a", "b", "c", None)}
        groups = set(epoch.rows["k"].to_pylist())
        yield (seen := Seen(bounds, groups, waiting, closed, left, held.graph.at(held.query.node).told.copy()))
        waiting = seen.waiting
    assert {} == difference([*plain.step(end=True), *waiting], held.step(end=True))
    assert not held.operator.store.rows


@given(some_rows, st.integers(1, 8), st.integers(1, 5), flushes, st.sampled_from(STRATEGIES[1:]), randoms)
def test_rows_leave_in_their_time_and_none_after_it_was_ruled_out(
    rows: list[Row], size: int, slide: int, flush: Any, strategy: str, rnd: random.Random
) -> None:
    epochs = punctuated(cut(rows, rnd, most=6), rnd, group_wise=rnd.random() < 0.5)
    told = Progress()
    for seen in epoch_by_epoch(epochs, size, slide, flush, strategy):

        def due(row: Row, bounds: dict[Any, int] = seen.bounds) -> bool:
            return row["window_end"] + flush.windows * slide <= bounds[row["k"]]

        waiting, forced = seen.waiting, sum(map(due, seen.left))
        assert [] == [row for row in waiting if due(row)]
        if flush.lazy:
            collided = [row for row in seen.before if row["k"] in seen.groups]
            late = [row for row in [*seen.before, *seen.closed] if due(row) and row not in collided]
            assert {} == difference([*collided, *late], seen.left)
        else:
            assert len(seen.left) <= max(flush.rows, forced)
            assert len(seen.left) >= min(flush.rows, len(seen.before) + len(seen.closed))
            chosen = [row["window_end"] for row in seen.left if not due(row)]
            assert max(chosen, default=-(10**9)) <= min((row["window_end"] for row in waiting), default=10**9)
        assert [] == [row for row in seen.left if told.rules_out(row) is not None]
        told = seen.told
        assert [] == [row for row in waiting if told.rules_out(row) is not None]


@given(some_rows, st.integers(1, 8), st.integers(1, 5), flushes, randoms)
def test_punctuation_waits_for_the_oldest_row_held_and_no_longer(
    rows: list[Row], size: int, slide: int, flush: Any, rnd: random.Random
) -> None:
    epochs = punctuated(cut(rows, rnd, most=6), rnd)
    for seen in epoch_by_epoch(epochs, size, slide, flush, "paned"):
        bound = seen.bounds["a"]
        if bound > -(2**63):
            held = [row["window_id"] for row in seen.waiting]
            assert min([bound // slide, *held]) == seen.told.bound("window_id")


@settings(max_examples=settings().max_examples * 3 // 4)
@given(some_rows, st.sampled_from([1, 2, 3, 5]), flushes, flushes, st.sampled_from(["ends", "goes on"]), randoms)
def test_partitions_and_windows_above_change_no_answer(
    rows: list[Row],
    partitions: int,
    below: Any,
    above: Any,
    ends: str,
    rnd: random.Random,
) -> None:
    epochs = punctuated(cut(rows, rnd, most=8), rnd, group_wise=True)

    def answers(engine: ms.Engine, *, held: bool) -> list[Row]:
        flushed = [{"flush": one} if held else {} for one in (below, above)]
        stream = engine.stream("s", iter(epochs), schema=SCHEMA, progress=ms.supplied("ts"))
        counts = stream.window("ts", range=6, slide=3, **flushed[0]).group_by("k").agg(n=ms.count())
        query = counts.window("window_end", range=9, **flushed[1]).group_by("k").agg(n=ms.sum("n")).named("q")
        engine.start(ms.available_now(), end_of_stream=ends == "ends").await_termination()
        return query.table().to_pylist()

    with TemporaryDirectory() as folder:
        expected = answers(ms.Engine(host="local"), held=False)
        assert {} == difference(expected, answers(ms.Engine(host="local"), held=True))
        assert {} == difference(expected, answers(in_process.engine(Path(folder), partitions), held=True))


class Counted:
    """A sink that keeps rows until they are looked at."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def write(self, rows: pa.Table, epoch: int) -> None:
        self.rows += rows.to_pylist()

    def close(self) -> None:
        """Nothing to let go of."""


@settings(max_examples=settings().max_examples * 3 // 4)
@given(some_rows, st.sampled_from([1, 2, 3, 5]), st.integers(1, 7), st.integers(1, 3), randoms)
def test_partitions_together_let_no_more_go_than_was_said(
    rows: list[Row], partitions: int, most: int, windows: int, rnd: random.Random
) -> None:
    epochs, left = punctuated(cut(rows, rnd, most=8), rnd), Counted()
    with TemporaryDirectory() as folder:
        engine = in_process.engine(Path(folder), partitions)
        stream = engine.stream("s", iter(epochs), schema=SCHEMA, progress=ms.supplied("ts"))
        flush = ms.slow_flush(rows=most, windows=windows)
        stream.window("ts", range=4, flush=flush).group_by("k").agg(n=ms.count()).named("q").to(left)
        for _ in epochs:
            engine.start(ms.once()).await_termination()
            bound = engine.host.ledger.streams["s"].known.bound("ts")
            # One partition may be forced to let more go than its share, beside others that use theirs.
            due = [row for row in left.rows if row["window_end"] + 4 * windows <= bound]
            assert len(left.rows) <= most + len(due)
            left.rows.clear()
