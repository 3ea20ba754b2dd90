"""Why an aggregate needs a guard and a purge together, and how messages reach a run that has nothing to do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.feedback import Records
from millstream.core.pattern import Equal, Pattern
from millstream.core.progress import Progress
from millstream.ops.guard import Guards
from millstream.plan import nodes
from millstream.runtime.batch import Batch
from millstream.runtime.compile import compile_node

ROWS = pa.table({"ts": [1, 2, 3, 4], "k": ["a", "b", "a", "b"]})
IGNORED: Records = (Pattern({"k": Equal("a")}),)


def counted(*, guard: bool, purge: bool, relay: bool = False) -> set[tuple[str, int]]:
    """Counts by group; feedback comes after two rows, and no result is looked at when it leaves."""
    engine = ms.Engine(host="local")
    stream = engine.stream("s", ROWS, progress=ms.ordered("ts"))
    query = stream.window("ts", range=10).group_by("k").agg(n=ms.count(), strategy="wid")
    assert isinstance(query.node, nodes.Aggregate)
    operator = compile_node(query.node, lambda _: None)
    operator.take(0, ROWS.slice(0, 2))
    if guard:
        operator.guards = Guards(inputs={0: IGNORED}, ignored={0: IGNORED})
    if purge:
        operator.purge({0: IGNORED})
    later = ROWS.slice(2)
    operator.take(0, later.slice(1) if relay else later)
    out = operator.advance(0, Progress(ended=True))
    return {(row["k"], row["n"]) for table in out for row in table.to_pylist()}


def test_guard_and_purge_together_give_no_wrong_group_and_either_alone_does() -> None:
    right = {("a", 2), ("b", 2)}

    assert counted(guard=False, purge=False) == right
    assert counted(guard=True, purge=True) == {("b", 2)}
    assert not counted(guard=True, purge=False) <= right  # the group lacks what came later
    assert not counted(guard=False, purge=True) <= right  # it forms again, without what had come
    assert not counted(guard=False, purge=False, relay=True) <= right  # an input that has left out some of its rows


class _Waiting:
    """A source that gives a batch whenever it is told to."""

    schema = ROWS.schema

    def __init__(self) -> None:
        self.more: list[pa.Table] = []

    def batches(self) -> Iterator[Batch]:
        while self.more:
            yield Batch(self.more.pop(0))


def test_feedback_is_delivered_while_no_rows_come_and_nothing_follows_the_end() -> None:
    engine = ms.Engine(host="local")
    source = _Waiting()
    query = engine.stream("s", source, progress=ms.ordered("ts")).where("ts > 0").named("q")
    run = engine.start(ms.every("10 ms"))
    handle = query.feedback(ms.assumed(k="a"))  # returns although no row moves
    assert handle.in_force
    came = threading.Event()
    engine.on_epoch(lambda report: came.set() if report["input_rows"] else None)
    source.more.append(ROWS)
    assert came.wait(20)
    run.stop()
    run.await_termination()
    assert ["b", "b"] == query.table()["k"].to_pylist()

    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    handle.cancel()
    query.feedback(ms.assumed(k="b"))
    assert ["b", "b"] == query.table()["k"].to_pylist()
    with pytest.raises(ms.MillstreamError, match="ended"):
        engine.start(ms.available_now()).await_termination()


def test_counters_of_every_operator_say_what_came_left_and_was_dropped() -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", ROWS, progress=ms.ordered("ts"))
    query = stream.where("ts > 1").window("ts", range=10).group_by("k").agg(n=ms.count()).named("q")
    query.feedback(ms.assumed(k="a"))
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    figures: dict[str, Any] = {one["operator"]: one for one in run.progress["queries"]["q"]["operators"]}

    assert (4, 2, 2) == tuple(figures["source"][name] for name in ("rows_in", "rows_out", "guarded"))
    assert (2, 2, 0) == tuple(figures["select"][name] for name in ("rows_in", "rows_out", "filtered"))
    assert (2, 1, 0) == tuple(figures["aggregate"][name] for name in ("rows_in", "rows_out", "withheld"))
