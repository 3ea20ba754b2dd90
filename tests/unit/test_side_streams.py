"""Late and rejected rows as streams on a host with a checkpoint: each is read exactly once, whatever happens.

Tasks run in this process; the same with Spark is in `tests/spark/test_side_streams.py`.
"""

from __future__ import annotations

import logging
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.errors import RunError
from millstream.state.local_storage import LocalStorage
from millstream.state.manifest import Manifests
from support import side_streams
from support.crash import STEPS, ended, pulled
from support.in_process import engine

pytestmark = pytest.mark.slow

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
PROMISE = ms.bounded_disorder("ts", 5)


def epochs() -> list[pa.Table]:
    """Rows in some order: many are late, some have no time, and some sums are 0."""
    rnd = random.Random(5)
    rows: list[dict[str, Any]] = [
        {"ts": i // 3 - rnd.choice([0, 0, 3, 30]), "k": rnd.choice("abc"), "v": rnd.randint(0, 3)} for i in range(120)
    ]
    rows += [{"ts": 60, "k": "d", "v": 0}]
    for row in rnd.sample(rows[:100], 5):
        row["ts"] = None
    cuts = [0, 20, 60, 121]
    return [pa.Table.from_pylist(rows[a:b], schema=SCHEMA) for a, b in pairwise(cuts)]


def begin(root: Path, partitions: int = 2, *, end: bool = True, tables: list[pa.Table] | None = None) -> ms.Run:
    made = engine(root / "ck", partitions)
    stream = made.stream("s", tables or epochs(), schema=SCHEMA, progress=PROMISE)
    side_streams.to_folders(side_streams.ask(stream), root)
    return made.start(ms.available_now(), end_of_stream=end, allow_unbounded=True)


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_each_step_of_each_epoch_changes_nothing(tmp_path: Path, step: str) -> None:
    nth, pulled_out = 0, True
    while pulled_out:
        nth += 9 if step == "while state is written" else 1
        root = tmp_path / str(nth)
        with pulled(step, nth - 1) as plug:
            error = ended(begin(root))
        pulled_out = plug.pulled
        assert pulled_out == isinstance(error, RunError)
        assert ended(begin(root, 3)) is None
        side_streams.check(root, epochs(), schema=SCHEMA, progress=PROMISE)

    assert nth >= len(epochs())


def test_a_restart_goes_on_with_rows_that_wait(tmp_path: Path) -> None:
    for count in range(1, len(epochs()) + 1):
        made = engine(tmp_path / "ck", 2)
        stream = made.stream("s", epochs()[:count], schema=SCHEMA, progress=PROMISE)
        side_streams.to_folders(side_streams.ask(stream), tmp_path)
        made.start(ms.once(), allow_unbounded=True).await_termination()
    assert list((tmp_path / "ck" / "handed").glob("*.arrow"))

    assert ended(begin(tmp_path)) is None

    side_streams.check(tmp_path, epochs(), schema=SCHEMA, progress=PROMISE)


def test_a_checkpoint_may_be_moved_while_rows_wait(tmp_path: Path) -> None:
    two = epochs()[:2]
    made = engine(tmp_path / "ck", 2)
    side_streams.ask(made.stream("s", two, schema=SCHEMA, progress=PROMISE))
    for _ in two:
        made.start(ms.once(), allow_unbounded=True).await_termination()
    (tmp_path / "ck").rename(tmp_path / "moved")

    again = engine(tmp_path / "moved", 2)
    queries = side_streams.ask(again.stream("s", two, schema=SCHEMA, progress=PROMISE))
    again.start(ms.available_now(), allow_unbounded=True).await_termination()

    assert queries["late"].table().num_rows


def test_rows_that_nobody_reads_any_more_are_dropped_and_it_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    made = engine(tmp_path / "ck", 2)
    side_streams.ask(made.stream("s", epochs()[:2], schema=SCHEMA, progress=PROMISE))
    for _ in range(2):
        made.start(ms.once(), allow_unbounded=True).await_termination()

    again = engine(tmp_path / "ck", 2)
    again.stream("s", epochs(), schema=SCHEMA, progress=PROMISE).named("plain")
    with caplog.at_level(logging.WARNING):
        again.start(ms.available_now(), allow_unbounded=True).await_termination()

    assert "that waited in the stream 'out_late' are dropped: no query reads it now" in caplog.text
    last = Manifests(LocalStorage(tmp_path / "ck")).latest()
    assert last is not None
    assert {} == last.handed


def test_a_stream_of_late_rows_that_nobody_reads_keeps_nothing(tmp_path: Path) -> None:
    made = engine(tmp_path / "ck", 2)
    made.stream("s", epochs(), schema=SCHEMA, progress=PROMISE).named("plain").late.stream()
    made.start(ms.available_now(), allow_unbounded=True).await_termination()

    assert [] == list((tmp_path / "ck").glob("handed/*"))


def test_what_the_end_of_a_stream_sets_apart_is_read_on_the_local_host_too() -> None:
    made = ms.Engine(host="local")
    counts = made.stream("s", [{"x": 1}, {"x": 0}]).group_by("x").agg(n=ms.count())
    bad = counts.select(part="n / x").named("q").rejected.stream().select("reason").named("bad")
    made.start(ms.available_now(), end_of_stream=True).await_termination()

    assert 1 == bad.table().num_rows
