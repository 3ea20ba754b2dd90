"""Restarts on Spark: after an end, a crash, a failure, a damage; with more files, other partitions, other queries.

Every step of every epoch is tried without Spark in `tests/unit/test_restart.py`; here is what Spark adds.
"""

from __future__ import annotations

import logging
import os
import random
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.errors import MillstreamError, RunError, SinkError, SourceError, StateError
from millstream.kernels.partition import partition_of
from millstream.spark.paths.partition import partition
from millstream.spark.paths.reduce import native_reduce
from millstream.state.local_storage import LocalStorage
from millstream.state.manifest import GROUPS, Manifests
from support.bags import difference
from support.crash import STEPS, ended, pulled
from support.disk import SCHEMA, frame, rows_of, some_rows, without_epoch, write_files
from support.full_disk import small_disk
from support.harness import SCHEMA as NUMBERED
from support.harness import some_rows as numbered_rows
from support.harness import stray
from support.questions import QUESTIONS

pytestmark = [pytest.mark.spark, pytest.mark.survival]

EPOCHS = some_rows(4, 60)
Ask = Callable[[Any], Any]


def sliding(stream: Any, **more: Any) -> Any:
    windowed = stream.where("v > 1 OR v IS NULL").window("ts", range="60 seconds", slide="20 seconds")
    return windowed.group_by("k", "g").agg(n=ms.count(), total=ms.sum("v"), **more)


def tumbling(stream: Any) -> Any:
    return stream.window("ts", range="20 seconds").group_by("k", "g").agg(n=ms.count(), total=ms.sum("v"))


def with_kernels(stream: Any) -> Any:
    return sliding(stream, middle=ms.median("v"))


def stream_of(engine: ms.Engine, source: Any, name: str = "s") -> Any:
    return engine.stream(name, source, progress=ms.bounded_disorder("ts", "10 seconds"))


class Place:
    """A folder of files, a checkpoint, and the folders of three outputs."""

    def __init__(self, spark: Any, root: Path, ask: Ask = sliding, files: Path | None = None) -> None:
        self.spark, self.root, self.ask = spark, root, ask
        self.files = files or root / "in"
        self.checkpoint = root / "ck"

    def add(self, first: int, last: int) -> None:
        """More files."""
        write_files(self.files, EPOCHS[first:last], first)

    def engine(self, *, partitions: int = 2, ask: Ask | None = None) -> ms.Engine:
        engine = ms.Engine(self.spark, checkpoint=self.checkpoint, partitions=partitions)
        self.outputs((ask or self.ask)(stream_of(engine, frame(self.spark, self.files))))
        return engine

    def outputs(self, query: Any) -> None:
        query.named("q").to_parquet(self.root / "out")
        query.late.to_parquet(self.root / "late")
        query.rejected.to_parquet(self.root / "rejected")

    def live(self, *, end: bool = True, **how: Any) -> ms.Run:
        run = self.engine(**how).start(ms.available_now(), end_of_stream=end)
        run.await_termination()
        return run

    def check(self, run: ms.Run | None = None) -> None:
        """Everything that one quiet run on the local host gives."""
        engine = ms.Engine(host="local")
        query = self.ask(stream_of(engine, ms.files(self.files, "parquet", schema=SCHEMA))).named("q")
        quiet = engine.start(ms.available_now(), end_of_stream=True)
        quiet.await_termination()
        assert query.table().num_rows > 50
        assert {} == difference(query.table().to_pylist(), rows_of(self.root / "out"))
        assert {} == difference(without_epoch(query.late.table()), rows_of(self.root / "late"))
        assert {} == difference(without_epoch(query.rejected.table()), rows_of(self.root / "rejected"))
        assert [] == [path for name in ("out", "late", "rejected") for path in (self.root / name).glob(".*")]
        if run is not None:
            assert quiet.progress["queries"]["q"]["books"] == run.progress["queries"]["q"]["books"]


@pytest.fixture
def place(spark: Any, tmp_path: Path) -> Place:
    """All files, nothing read yet."""
    made = Place(spark, tmp_path)
    made.add(0, 4)
    return made


def readable(error: MillstreamError, *words: str, at_start: bool = False) -> None:
    """One error that a person can read: the cause and the epoch, and no pages of Java."""
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    for word in words:
        assert word in text
    assert len(text.splitlines()) <= 4
    assert len(text) < 700
    assert "org.apache" not in text
    assert "Traceback" not in text
    assert at_start != ("epoch " in text)  # what fails at the start fails in no epoch


# --- going on ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("ask", [sliding, with_kernels], ids=["reduced by Spark", "by kernels"])
def test_a_restart_goes_on_with_the_files_that_came_since(spark: Any, tmp_path: Path, ask: Ask) -> None:
    place = Place(spark, tmp_path, ask)
    place.add(0, 2)
    place.live(end=False)
    before = len(rows_of(tmp_path / "out"))
    place.live(end=False)  # nothing new: nothing happens
    assert 0 < before == len(rows_of(tmp_path / "out"))
    place.add(2, 4)

    run = place.live()

    place.check(run)


@pytest.mark.parametrize("ask", [sliding, with_kernels], ids=["reduced by Spark", "by kernels"])
def test_a_query_of_a_file_stream_is_drained_and_makes_way(spark: Any, tmp_path: Path, ask: Ask) -> None:
    place = Place(spark, tmp_path, ask)
    place.add(0, 4)
    place.live(end=False)
    before = len(rows_of(tmp_path / "out"))
    place.engine().drain("q")

    assert before < len(rows_of(tmp_path / "out"))
    place.check()
    place.live(end=False, ask=tumbling)  # not refused as a changed query


@pytest.mark.parametrize("ask", [sliding, tumbling])
def test_the_way_rows_are_reduced_may_change_with_the_queries(spark: Any, tmp_path: Path, ask: Ask) -> None:
    # Alone the query is reduced by Spark, beside another by kernels: they must agree on the partitions of state.
    place = Place(spark, tmp_path, ask)
    place.add(0, 2)
    first = place.engine(partitions=3)
    first.start(ms.available_now()).await_termination()
    assert native_reduce(first.host.program) is not None
    assert first.host.ledger.segments
    place.add(2, 3)
    second = ms.Engine(spark, checkpoint=place.checkpoint, partitions=3)
    stream = stream_of(second, frame(spark, place.files))
    place.outputs(ask(stream))
    with_kernels(stream).named("other")
    second.start(ms.available_now()).await_termination()
    assert native_reduce(second.host.program) is None
    assert GROUPS == second.host.ledger.layout
    place.add(3, 4)

    third = place.engine(partitions=3)
    run = third.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    assert native_reduce(third.host.program) is not None
    place.check(run)


@pytest.mark.parametrize("ask", [sliding, tumbling])
def test_the_partitions_of_a_file_stream_may_change(spark: Any, tmp_path: Path, ask: Ask) -> None:
    place = Place(spark, tmp_path, ask)
    place.add(0, 2)
    place.live(end=False, partitions=3)
    place.add(2, 3)
    place.live(end=False, partitions=2)
    place.add(3, 4)

    place.check(place.live(partitions=5))


def numbered(seed: int = 5) -> list[pa.Table]:
    rnd = random.Random(seed)
    rows = stray(numbered_rows(rnd, 120, 150, keys=("a", "b", "c", None)), 8, rnd)
    for late in (45, 90):
        rows[late]["ts"] = -20
    return [pa.Table.from_pylist(rows[i : i + 20], schema=NUMBERED) for i in range(0, 120, 20)]


def ask_numbered(engine: ms.Engine, question: str, tables: list[pa.Table]) -> Any:
    stream = engine.stream("s", list(tables), schema=NUMBERED, progress=ms.bounded_disorder("ts", 8))
    return QUESTIONS[question](stream).named("q")


MOVED = (
    "sliding", "several by window", "differential", "adaptive", "landmark", "sessions", "slide by tuple", "rows by key",
    "distinct", "chain", "as of", "difference", "enriched",
)  # fmt: skip


@pytest.mark.parametrize("question", MOVED)
def test_a_local_source_goes_on_where_it_was_with_other_partitions(spark: Any, tmp_path: Path, question: str) -> None:
    tables = numbered()
    quiet = ms.Engine(host="local")
    expected = ask_numbered(quiet, question, tables)
    quiet.start(ms.available_now(), end_of_stream=True).await_termination()

    for partitions, until in ((2, 2), (5, 4), (1, 6)):
        engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=partitions)
        query = ask_numbered(engine, question, tables[:until]).to_parquet(tmp_path / "out")
        query.late.to_parquet(tmp_path / "late")
        last = until == len(tables)
        engine.start(ms.available_now(), end_of_stream=last, allow_unbounded=True).await_termination()

    assert expected.table().num_rows > 5
    assert {} == difference(expected.table().to_pylist(), rows_of(tmp_path / "out"))
    assert {} == difference(without_epoch(expected.late.table()), rows_of(tmp_path / "late"))
    assert expected.late.table().num_rows > 0


def test_spark_and_kernels_send_a_group_to_the_same_partition(spark: Any) -> None:
    groups = pa.table(
        {
            "k": pa.array(["", "a", "é", "漢", "a\x1fb", None, "\x00", "long " * 50], pa.string()),
            "g": pa.array([0, -1, 2**62, -(2**63), 7, None, 10, 11], pa.int64()),
            "b": pa.array([True, False, None, True, False, True, None, False], pa.bool_()),
            "i": pa.array([1, -2, 3, None, 5, 6, 7, 127], pa.int8()),
        }
    )
    rows = spark.createDataFrame(groups)
    for partitions in (2, 3, 7):
        for names in (["k", "g", "b", "i"], ["g", "i"], ["i"], ["k"]):  # whole numbers are hashed as such
            kinds = [groups.schema.field(name).type for name in names]
            found = rows.select(partition(names, kinds, partitions).alias("p")).toArrow()
            ours = partition_of([groups[name] for name in names], groups.num_rows, partitions)
            assert ours.tolist() == found["p"].to_pylist()


# --- crashes ----------------------------------------------------------------------------------------


def test_an_epoch_with_a_manifest_is_not_done_again(place: Place, caplog: pytest.LogCaptureFixture) -> None:
    with pulled("after publishing", 1):
        assert isinstance(ended(place.engine().start(ms.available_now())), RunError)
    manifest = Manifests(LocalStorage(place.checkpoint)).latest()
    assert manifest is not None
    assert 1 == manifest.epoch
    assert ["0"] == [path.name for path in (place.checkpoint / "spark" / "commits").glob("[0-9]*")]

    with caplog.at_level(logging.INFO, "millstream.spark"):
        run = place.live()

    assert "epoch 1 is committed already" in caplog.text
    assert [2, 3] == [one["batchId"] for one in run.recent_progress if one["numInputRows"]]
    place.check(run)


@pytest.mark.parametrize("step", [step for step in STEPS if step != "while state is written"])
def test_a_crash_at_any_step_changes_nothing(place: Place, step: str) -> None:
    with pulled(step, 2) as plug:
        error = ended(place.engine().start(ms.available_now(), end_of_stream=True))
    assert plug.pulled
    assert isinstance(error, RunError)

    run = place.live(partitions=3)

    place.check(run)


def test_the_same_engine_can_be_started_again_after_a_crash(place: Place) -> None:
    engine = place.engine()
    with pulled("after the job", 1):
        assert isinstance(ended(engine.start(ms.available_now())), RunError)

    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    place.check(run)


def test_a_run_told_to_stop_ends_its_epoch_and_the_next_goes_on(place: Place) -> None:
    engine = place.engine()
    run = engine.start(ms.available_now())
    while not run.recent_progress and run.is_active:
        run.await_termination(0.02)
    run.stop()

    assert run.exception is None
    taken = len(run.recent_progress)
    assert 1 <= taken < 4
    place.check(place.live())


# --- damage -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def broken_off(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Three of four files read."""
    place = Place(spark, tmp_path_factory.mktemp("broken"))
    place.add(0, 3)
    place.live(end=False)
    place.add(3, 4)
    return place


def copied(place: Place, to: Path) -> Place:
    """Another checkpoint and other outputs, at the same point of the same files."""
    shutil.copytree(place.root, to / "copy", ignore=shutil.ignore_patterns("in"))
    return Place(place.spark, to / "copy", files=place.files)


def latest(root: Path) -> Path:
    return max((root / "ck" / "manifests").iterdir())


def segment(root: Path) -> Path:
    manifest = Manifests(LocalStorage(root / "ck")).latest()
    assert manifest is not None
    return root / "ck" / next(manifest.files()).key


def altered(data: bytes) -> bytes:
    return data[:200] + bytes([data[200] ^ 255]) + data[201:]


DAMAGES: dict[str, tuple[Callable[[Path], Path], Callable[[bytes], bytes] | None, str]] = {
    "manifest altered": (latest, lambda data: data.replace(b'\\"partitions\\": 2', b'\\"partitions\\": 3'), "checksum"),
    "manifest cut short": (latest, lambda data: data[:-40], "cannot be read"),
    "manifest empty": (latest, lambda _: b"", "cannot be read"),
    "segment missing": (segment, None, "is missing"),
    "segment cut short": (segment, lambda data: data[:-8], "bytes instead of"),
    "segment altered": (segment, altered, "another checksum"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_and_nothing_is_skipped(tmp_path: Path, broken_off: Place, damage: str) -> None:
    place = copied(broken_off, tmp_path)
    which, how, said = DAMAGES[damage]
    path = which(place.root)
    before = path.read_bytes()
    path.unlink() if how is None else path.write_bytes(how(before))
    shown = rows_of(place.root / "out")

    with pytest.raises(StateError) as caught:
        place.live()

    assert str(path) in caught.value.fact
    assert said in caught.value.fact
    assert "epoch 2 needs it" in caught.value.fact or "manifest" in caught.value.fact
    assert "fall back to epoch " in (caught.value.hint or "")
    assert shown == rows_of(place.root / "out")
    path.write_bytes(before)
    place.check(place.live())


def test_falling_back_repeats_what_the_newer_epochs_had_done(tmp_path: Path, broken_off: Place) -> None:
    place = copied(broken_off, tmp_path)
    manifests = Manifests(LocalStorage(place.checkpoint))
    for sequence in manifests.sequences()[1:]:
        (place.checkpoint / "manifests" / f"{sequence:08d}.json").unlink()
    manifest = manifests.latest()
    assert manifest is not None
    assert manifest.epoch < 2

    with pytest.raises(StateError) as caught:
        place.live()

    assert f"the last manifest is that of epoch {manifest.epoch}" in caught.value.fact
    # Now as the hint says.
    assert f"To fall back to epoch {manifest.epoch}, remove what" in (caught.value.hint or "")
    for folder, last in (("commits", manifest.epoch), ("offsets", manifest.epoch + 1)):
        for path in (place.checkpoint / "spark" / folder).iterdir():
            if int(path.name.strip(".").split(".")[0]) > last:
                path.unlink()
    for path in (one for name in ("out", "late", "rejected") for one in (place.root / name).glob("part-*")):
        if int(path.name.split("-")[1]) > manifest.sequence:
            path.unlink()
    place.check(place.live())


def test_without_spark_s_part_of_the_checkpoint_nothing_is_read_twice(tmp_path: Path, broken_off: Place) -> None:
    place = copied(broken_off, tmp_path)
    shutil.rmtree(place.checkpoint / "spark")

    with pytest.raises(StateError, match="Spark no longer knows what epoch 2 had read"):
        place.live()


# --- change -----------------------------------------------------------------------------------------


def grouped(stream: Any, *, where: str = "v > 1 OR v IS NULL", size: str = "60 seconds", by: Any = ("k", "g")) -> Any:
    return stream.where(where).window("ts", range=size, slide="20 seconds").group_by(*by)


CHANGES: dict[str, tuple[Ask, list[str]]] = {
    "window": (
        lambda s: grouped(s, size="40 seconds").agg(n=ms.count(), total=ms.sum("v")),
        ["range 60 s slide 20 s on ts", "range 40 s slide 20 s on ts"],
    ),
    "aggregate": (
        lambda s: grouped(s).agg(n=ms.count(), total=ms.max("v")),
        ["total = sum(v)", "total = max(v)"],
    ),
    "filter": (
        lambda s: grouped(s, where="v > 2").agg(n=ms.count(), total=ms.sum("v")),
        ["select where v > 1 OR v IS NULL", "select where v > 2"],
    ),
    "group": (
        lambda s: grouped(s, by=("k",)).agg(n=ms.count(), total=ms.sum("v")),
        ["by k, g", "by k"],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_query_is_refused_with_what_changed(broken_off: Place, change: str) -> None:
    ask, said = CHANGES[change]
    files = {path: path.stat().st_mtime_ns for path in broken_off.root.rglob("*")}

    with pytest.raises(StateError) as caught:
        broken_off.live(ask=ask)

    assert "the query 'q' is not the one this checkpoint was made with" in caught.value.fact
    for word in said:
        assert word in caught.value.fact
    assert "Give the changed query another name" in (caught.value.hint or "")
    assert files == {path: path.stat().st_mtime_ns for path in broken_off.root.rglob("*")}


def test_queries_come_and_go_and_the_others_go_on(spark: Any, tmp_path: Path) -> None:
    """A query that is added begins with the rows to come; one that is removed leaves; the one that stays is right."""

    def per_key(stream: Any, name: str) -> Any:
        # Not the same question: a query that is gone and an equal one that is new are one that has another name now.
        more = {} if name == "early" else {"top": ms.max("v")}
        return stream.window("ts", range="20 seconds").group_by("k").agg(n=ms.count(), **more)

    def lives(host: str) -> dict[str, list[Any]]:
        root = tmp_path / host
        local = ms.Engine(host="local") if host == "local" else None
        out: dict[str, list[Any]] = {"q": [], "early": [], "late": []}
        kept: dict[str, Any] = {}
        for number, names in enumerate((("q", "early"), ("late", "q"), ("q",))):
            write_files(root / "in", EPOCHS[number : number + 1], number)
            if number == 2:
                write_files(root / "in", EPOCHS[3:], 3)
            if local is not None:
                # The local host has no restarts: queries are added, and those that would be removed are not looked at.
                if not number:
                    kept["s"] = stream_of(local, ms.files(root / "in", "parquet", schema=SCHEMA))
                engine, stream = local, kept["s"]
            else:
                engine = ms.Engine(spark, checkpoint=root / "ck", partitions=2)
                stream = stream_of(engine, frame(spark, root / "in"))
            for name in names:
                if local is None or name not in kept:
                    kept[name] = (sliding(stream) if name == "q" else per_key(stream, name)).named(name).to_memory()
            had = {name: kept[name].table().num_rows if local is not None else 0 for name in names}
            engine.start(ms.available_now(), end_of_stream=number == 2).await_termination()
            for name in names:
                out[name] += kept[name].table().to_pylist()[had[name] :]
        return out

    here, there = lives("local"), lives("spark")

    assert len(here["q"]) > 50
    assert here["early"]
    assert here["late"]
    for name in here:
        assert {} == difference(here[name], there[name]), name


def test_a_sink_may_change(place: Place) -> None:
    for path in sorted((place.files).iterdir())[2:]:
        path.unlink()
    # Killed between the manifest and the rename: what was staged goes where it was meant to go.
    with pulled("after the manifest", 1):
        assert isinstance(ended(place.engine().start(ms.available_now())), RunError)
    write_files(place.files, EPOCHS[2:], 2)
    engine = ms.Engine(place.spark, checkpoint=place.checkpoint, partitions=2)
    query = sliding(stream_of(engine, frame(place.spark, place.files))).named("q").to_parquet(place.root / "new")
    query.late.to_parquet(place.root / "late")
    query.rejected.to_parquet(place.root / "rejected")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert rows_of(place.root / "new")
    for path in (place.root / "new").iterdir():
        path.rename(place.root / "out" / path.name)
    place.check()


def test_streams_that_spark_reads_may_not_change(place: Place) -> None:
    place.live(end=False)
    engine = ms.Engine(place.spark, checkpoint=place.checkpoint, partitions=2)
    other = stream_of(engine, frame(place.spark, place.files), "t")
    other.window("ts", range="60 seconds").agg(n=ms.count()).named("new")

    with pytest.raises(StateError, match="with the streaming data frames 's', and now there are 't'"):
        engine.start(ms.available_now()).await_termination()


def test_two_queries_that_look_the_same_have_their_own_state(spark: Any, tmp_path: Path) -> None:
    place = Place(spark, tmp_path)
    place.add(0, 4)
    engine = ms.Engine(spark, checkpoint=place.checkpoint, partitions=2)
    stream = stream_of(engine, frame(spark, place.files))
    place.outputs(sliding(stream))
    twin = sliding(stream).named("twin").to_memory()

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    place.check()
    assert {} == difference(rows_of(tmp_path / "out"), twin.table().to_pylist())


def test_two_outputs_in_one_folder_are_refused(place: Place) -> None:
    engine = ms.Engine(place.spark, checkpoint=place.checkpoint, partitions=2)
    query = sliding(stream_of(engine, frame(place.spark, place.files))).to_parquet(place.root / "out")
    query.late.to_parquet(place.root / "out")

    with pytest.raises(SinkError, match="is the folder of two outputs"):
        engine.start(ms.available_now()).await_termination()


# --- failures inside --------------------------------------------------------------------------------


def with_udaf(function: Callable[[list[Any]], Any]) -> Ask:
    return lambda stream: sliding(stream, own=ms.udaf(function, "v", returns="int64"))


def test_a_function_that_raises_stops_the_run_and_the_next_goes_on(place: Place, tmp_path: Path) -> None:
    flag = str(tmp_path / "trouble")

    def pairs_of_seconds(tick: int) -> list[int]:
        if Path(flag).exists():
            raise ZeroDivisionError("the user's own trouble")
        return [tick // 2_000_000]

    place.ask = lambda stream: (
        stream.window("ts", extent=lambda wid: (wid * 2_000_000, (wid + 1) * 2_000_000), wids=pairs_of_seconds)
        .group_by("k")
        .agg(n=ms.count())
    )
    engine = place.engine()
    Path(flag).touch()
    error = ended(engine.start(ms.available_now()))
    readable(error, "ZeroDivisionError", "the user's own trouble")
    Path(flag).unlink()

    run = place.live()

    place.check(run)


def test_a_killed_worker_stops_the_run_and_the_next_goes_on(place: Place, tmp_path: Path) -> None:
    flag = str(tmp_path / "kill")

    def counted(values: list[Any]) -> int:
        if Path(flag).exists():
            Path(flag).unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return len(values)

    place.ask = with_udaf(counted)
    engine = place.engine()
    Path(flag).touch()
    error = ended(engine.start(ms.available_now()))
    assert isinstance(error, RunError)
    readable(error, "Python worker exited unexpectedly")

    run = place.live()

    place.check(run)


def test_a_file_cut_short_stops_the_run_and_the_next_goes_on(place: Place) -> None:
    path = place.files / "0002.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    os.utime(path, (1_700_000_002, 1_700_000_002))
    error = ended(place.engine().start(ms.available_now()))
    assert isinstance(error, RunError)
    readable(error, "0002.parquet")
    manifest = Manifests(LocalStorage(place.checkpoint)).latest()
    assert manifest is not None
    assert 1 == manifest.epoch
    path.write_bytes(whole)
    os.utime(path, (1_700_000_002, 1_700_000_002))

    run = place.live()

    place.check(run)


def test_a_source_that_raises_stops_the_run_and_the_next_goes_on(spark: Any, tmp_path: Path) -> None:
    tables = numbered()

    def broken() -> Any:
        yield from tables[:3]
        raise OSError("the wire was cut")

    def live(source: Any) -> Any:
        engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
        stream = engine.stream("s", source, schema=NUMBERED, progress=ms.bounded_disorder("ts", 8))
        QUESTIONS["sliding"](stream).named("q").to_parquet(tmp_path / "out")
        return ended(engine.start(ms.available_now(), end_of_stream=True))

    error = live(broken())
    assert isinstance(error, SourceError)
    readable(error, "the wire was cut", "epoch 3")
    assert live(tables) is None

    quiet = ms.Engine(host="local")
    expected = ask_numbered(quiet, "sliding", tables)
    quiet.start(ms.available_now(), end_of_stream=True).await_termination()
    assert {} == difference(expected.table().to_pylist(), rows_of(tmp_path / "out"))


def test_a_folder_that_cannot_be_written_stops_the_run_and_the_next_goes_on(place: Place) -> None:
    (place.root / "late").write_text("a file where a folder should be")
    error = ended(place.engine().start(ms.available_now(), end_of_stream=True))
    assert isinstance(error, SinkError)
    readable(error, str(place.root / "late"), "cannot be made", at_start=True)
    (place.root / "late").unlink()

    run = place.live()

    place.check(run)


def test_state_that_cannot_be_written_stops_the_run_and_the_next_goes_on(place: Place) -> None:
    (place.checkpoint).mkdir()
    (place.checkpoint / "state").write_text("a file where a folder should be")
    error = ended(place.engine().start(ms.available_now(), end_of_stream=True))
    assert isinstance(error, StateError)
    readable(error, f"cannot write {place.checkpoint / 'state'}", "disk full")
    (place.checkpoint / "state").unlink()

    run = place.live()

    place.check(run)


@pytest.mark.parametrize("free", [0, 150 << 10])
def test_a_full_disk_stops_the_run_and_with_room_the_next_goes_on(spark: Any, tmp_path: Path, free: int) -> None:
    with small_disk(tmp_path / "disk") as disk:
        place = Place(spark, disk.at / "place", files=tmp_path / "in")
        place.add(0, 4)
        disk.leave(free)
        error = ended(place.engine().start(ms.available_now(), end_of_stream=True))
        assert error is not None
        readable(error, "No space left on device", at_start=not free)
        disk.clear()

        run = place.live()

        place.check(run)
