"""A kill at any step of any epoch, then a restart, perhaps with other partitions: the answer of one quiet run.

Tasks run in this process (`support/in_process.py`), so that every step of every epoch can be tried; the same with
Spark is in `tests/spark/test_recovery.py`.
"""

from __future__ import annotations

import gc
import random
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.core.errors import RunError
from millstream.runtime.durable.host import DurableHost
from support.bags import difference
from support.crash import STEPS, ended, pulled
from support.disk import rows_of, without_epoch
from support.full_disk import small_disk
from support.harness import SCHEMA, some_rows, stray
from support.in_process import engine
from support.questions import QUESTIONS

pytestmark = pytest.mark.slow

BOUND = 8


def epochs(seed: int, *, rows: int = 90, span: int = 120) -> list[pa.Table]:
    """Epochs in which some rows come too late and some have no time; one is empty."""
    rnd = random.Random(seed)
    made = stray(some_rows(rnd, rows, span, keys=("a", "b", "c", "d", None)), BOUND + 6, rnd)
    for row in rnd.sample(made, 2):
        row["ts"] = None
    cuts = [0, *sorted(rnd.sample(range(len(made)), 5)), len(made)]
    parts = [made[a:b] for a, b in pairwise(cuts)]
    parts.insert(3, [])
    return [pa.Table.from_pylist(part, schema=SCHEMA) for part in parts]


class Keeper:
    """A sink of no folder: what it gets a second time must be what it got the first time."""

    def __init__(self) -> None:
        self.rows: dict[int, list[Any]] = {}
        self.again = 0

    def write(self, rows: pa.Table, epoch: int) -> None:
        if epoch in self.rows:
            self.again += 1
            assert {} == difference(self.rows[epoch], rows.to_pylist())
        self.rows[epoch] = rows.to_pylist()

    def close(self) -> None:
        """Nothing to let go of."""


def ask(made: ms.Engine, question: str, source: Any) -> Any:
    stream = made.stream("s", source, schema=SCHEMA, progress=ms.bounded_disorder("ts", BOUND))
    return QUESTIONS[question](stream).named("q")


class Life:
    """What survives from one life of an engine to the next: folders, and a sink outside."""

    def __init__(self, root: Path, question: str, tables: list[pa.Table]) -> None:
        self.root, self.question, self.tables = root, question, tables
        self.keeper = Keeper()

    def begin(self, partitions: int, *, end: bool = True, tables: list[pa.Table] | None = None) -> ms.Run:
        made = engine(self.root / "ck", partitions)
        query = ask(made, self.question, list(tables or self.tables)).to(self.keeper).to_parquet(self.root / "out")
        query.late.to_parquet(self.root / "late")
        query.rejected.to_parquet(self.root / "rejected")
        return made.start(ms.available_now(), end_of_stream=end, allow_unbounded=True)

    def check(self, run: ms.Run) -> None:
        """Everything that a quiet run on the local host gives."""
        made = ms.Engine(host="local")
        query = ask(made, self.question, list(self.tables))
        quiet = made.start(ms.available_now(), end_of_stream=True)
        quiet.await_termination()
        assert {} == difference(query.table().to_pylist(), rows_of(self.root / "out"))
        assert {} == difference(query.table().to_pylist(), [r for rows in self.keeper.rows.values() for r in rows])
        assert {} == difference(without_epoch(query.late.table()), rows_of(self.root / "late"))
        assert {} == difference(without_epoch(query.rejected.table()), rows_of(self.root / "rejected"))
        if run.progress["epoch"] >= 0:
            there, here = quiet.progress["queries"]["q"], run.progress["queries"]["q"]
            assert there["books"] == here["books"]
            assert there["rows_out"] == here["rows_out"]
        assert [] == [path for path in self.root.rglob(".*") if path.is_file()]
        assert [] == list((self.root / "ck" / "staging").glob("*"))


@pytest.mark.parametrize("step", STEPS)
def test_a_crash_at_each_step_of_each_epoch_changes_nothing(tmp_path: Path, step: str) -> None:
    tables, nth, pulled_out = epochs(1), 0, True
    while pulled_out:
        nth += 5 if step == "while state is written" else 1  # many files a step
        life = Life(tmp_path / str(nth), "sliding", tables)
        with pulled(step, nth - 1) as plug:
            error = ended(life.begin(2))
        pulled_out = plug.pulled
        assert pulled_out == isinstance(error, RunError)
        run = life.begin(2)
        assert ended(run) is None
        life.check(run)

    assert nth >= len(tables)


@pytest.mark.parametrize("question", ["sliding", "pairs"])
def test_a_disk_that_is_full_at_any_time_stops_a_run_and_with_room_it_goes_on(tmp_path: Path, question: str) -> None:
    tables, stopped, error = epochs(1), 0, RunError("not yet")
    while error is not None:
        with small_disk(tmp_path / str(stopped)) as disk:
            disk.leave(stopped * 24 << 10)
            life = Life(disk.at / "life", question, tables)
            error = ended(life.begin(2))
            disk.clear()
            run = life.begin(2)
            assert ended(run) is None
            life.check(run)
        if error is not None:
            stopped += 1
            text = "\n".join([str(error), *getattr(error, "__notes__", ())])
            assert "No space left on device" in text
            assert len(text) < 700

    assert stopped >= 5


@pytest.mark.parametrize("question", QUESTIONS)
@settings(max_examples=max(2, settings().max_examples // 2))
@given(
    plan=st.lists(
        st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 6), st.sampled_from([1, 2, 3, 5])), max_size=5
    ),
    seed=st.integers(0, 5),
    last=st.sampled_from([1, 2, 5]),
)
def test_crashes_and_moves_change_no_answer(
    question: str, plan: list[tuple[str, int, int]], seed: int, last: int
) -> None:
    with TemporaryDirectory() as root:
        life = Life(Path(root), question, epochs(seed))
        for step, nth, partitions in plan:
            with pulled(step, nth) as plug:
                error = ended(life.begin(partitions, end=False))
            assert plug.pulled == isinstance(error, RunError)
        run = life.begin(last)
        assert ended(run) is None
        life.check(run)


def test_a_checkpoint_that_nobody_named_goes_with_its_engine() -> None:
    host = DurableHost(None, 2)
    folder = host.checkpoint
    assert folder.is_dir()

    del host
    gc.collect()

    assert not folder.exists()
