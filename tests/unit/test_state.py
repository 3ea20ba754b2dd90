"""State on disk: the codec, files, manifests, cutting by partition, promises and the ledger."""

from __future__ import annotations

import json
import shutil
import zlib
from dataclasses import asdict
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.core.errors import RunError, SinkError, StateError
from millstream.core.generator import BoundedRows, Ordered, PerGroup
from millstream.core.pattern import Between, Equal, From, OneOf, Pattern, UpTo
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from millstream.kernels.partials import KEY
from millstream.kernels.partition import partition_of
from millstream.ops.ingest import observe
from millstream.plan.plan import Plan
from millstream.runtime.durable.ledger import Ledger, merge_seen, name_nodes
from millstream.runtime.durable.migrate import check_states
from millstream.runtime.plain_progress import pattern_from, pattern_plain, progress_from, progress_plain
from millstream.runtime.sinks.owner import Owner
from millstream.runtime.sinks.parquet import ParquetSink
from millstream.runtime.tasks.cut import split, split_segment
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Report
from millstream.runtime.tasks.program import Program, Target, plan_text
from millstream.runtime.tasks.repartition import merge_facts, repartition
from millstream.runtime.tasks.staging import Stage, publish, sweep
from millstream.runtime.tasks.task import open_state, save_state
from millstream.state.codec import plain, restore
from millstream.state.files import Written, read_table, verify, write_table
from millstream.state.local_storage import LocalStorage
from millstream.state.manifest import FORMAT, KEPT, Manifest, Manifests, SavedSegment
from millstream.state.store import Segment
from support.harness import SCHEMA

# --- the codec --------------------------------------------------------------------------------------

ATOMS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.decimals(allow_nan=False),
    st.dates(),
    st.times(),
    st.timedeltas(),
    st.datetimes(),
    st.datetimes(timezones=st.just(UTC)),
)
KEYS = st.recursive(
    ATOMS, lambda inner: st.one_of(st.tuples(inner, inner), st.frozensets(inner, max_size=3)), max_leaves=5
)
VALUES = st.recursive(
    st.one_of(ATOMS, KEYS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.sets(KEYS, max_size=4),
        st.dictionaries(st.one_of(st.text(), st.just("$")), inner, max_size=4),
        st.dictionaries(KEYS, inner, max_size=4),
    ),
    max_leaves=12,
)


def shape(value: Any) -> Any:
    """The types of a value, all the way down: 1, 1.0 and True are equal, and must not be taken for each other."""
    if isinstance(value, dict):
        return dict, frozenset((shape(k), shape(v)) for k, v in value.items())
    if isinstance(value, list | tuple):
        return type(value), tuple(shape(item) for item in value)
    if isinstance(value, set | frozenset):
        return type(value), frozenset(shape(item) for item in value)
    return type(value)


@given(VALUES)
def test_whatever_is_kept_comes_back_as_it_was(value: Any) -> None:
    back = restore(json.loads(json.dumps(plain(value))))

    assert value == back
    assert shape(value) == shape(back)


@pytest.mark.parametrize(
    "value", [object(), np.int64(3), pd.Timestamp(1, unit="ns"), pd.Timedelta(1, unit="ns")], ids=lambda v: str(type(v))
)
def test_what_would_not_come_back_is_refused(value: Any) -> None:
    with pytest.raises(StateError, match=f"a {type(value).__name__} cannot be kept in a checkpoint"):
        plain([value])


def test_an_unknown_type_in_a_checkpoint_is_named() -> None:
    with pytest.raises(StateError, match="unknown type 'quaternion'"):
        restore({"$": "quaternion", "v": [1, 2, 3, 4]})


# --- files ------------------------------------------------------------------------------------------

TABLE = pa.table({KEY: [1, 2, 3], "k": ["a", None, "b"]})


def test_a_table_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    written = write_table(storage, "deep/t.arrow", TABLE)

    assert "deep/t.arrow" == written.key
    assert TABLE.equals(read_table(storage, written.key))
    assert 3 == written.rows
    assert (tmp_path / "deep" / "t.arrow").stat().st_size == written.length
    assert verify(storage, written) is None
    assert ["t.arrow"] == [path.name for path in (tmp_path / "deep").iterdir()]


def test_damage_is_told_by_length_and_checksum(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    written = write_table(storage, "t.arrow", TABLE)
    path, whole = tmp_path / "t.arrow", (tmp_path / "t.arrow").read_bytes()

    path.write_bytes(whole[:-7])
    short = verify(storage, written)
    path.write_bytes(whole[:300] + bytes([whole[300] ^ 1]) + whole[301:])
    altered = verify(storage, written)
    path.unlink()

    assert f"has {len(whole) - 7} bytes instead of {len(whole)}" == short
    assert "has another checksum than when it was written" == altered
    assert "is missing" == verify(storage, written)


@pytest.mark.parametrize("damage", [b"", b"ARROW1\0\0 and then nothing that Arrow knows"])
def test_a_segment_that_cannot_be_read_is_named(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "t.arrow").write_bytes(damage)

    with pytest.raises(StateError, match=r"cannot read the segment .*t\.arrow"):
        read_table(LocalStorage(tmp_path), "t.arrow")


@pytest.mark.parametrize(
    "write", [lambda storage, key: write_table(storage, key, TABLE), lambda storage, key: storage.put(key, b"new")]
)
def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write: Any) -> None:
    target = tmp_path / "file"
    target.write_text("old")

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(StateError, match=r"cannot write .*file: .*No space left on device"):
        write(LocalStorage(tmp_path), "file")

    assert "old" == target.read_text()
    assert ["file"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    "write", [lambda storage, key: write_table(storage, key, TABLE), lambda storage, key: storage.put(key, b"new")]
)
def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path, write: Any) -> None:
    (tmp_path / "state").write_text("a file where a folder should be")

    with pytest.raises(StateError, match=r"cannot write .*state/x"):
        write(LocalStorage(tmp_path), "state/x")


# --- manifests --------------------------------------------------------------------------------------


def saved(root: Path, sequence: int, name: str = "fixed") -> SavedSegment:
    written = write_table(LocalStorage(root), f"state/op/00000/{sequence:08d}-0-{name}.arrow", TABLE)
    return SavedSegment("op", 0, 1, 3, {name: written})


def commit(root: Path, sequence: int, **more: Any) -> Manifest:
    given: dict[str, Any] = {"segments": [saved(root, sequence)], **more}
    manifest = Manifest(sequence=sequence, epoch=100 + sequence, version="0", partitions=2, queries={"q": "p"}, **given)
    Manifests(LocalStorage(root)).write(manifest)
    return manifest


def path_of(root: Path, sequence: int) -> Path:
    return root / "manifests" / f"{sequence:08d}.json"


def test_a_manifest_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    assert Manifests(LocalStorage(tmp_path)).latest() is None
    manifest = commit(
        tmp_path,
        7,
        facts={"op": {1: {0: {"counts": {("a", 1): 3}, "last": 9}}}},
        streams={"s": {"generator": {"high": 3, "groups": {(None,): {"high": 1}}}}},
        outputs=[{"sink": "others", "numbers": [0, 1]}],
        counters={"meters": {"op": {"rows_in": 3}}},
        operators={"q": ["op"]},
        frames=["s"],
    )

    assert manifest == Manifests(LocalStorage(tmp_path)).latest()
    assert [7] == Manifests(LocalStorage(tmp_path)).sequences()


def test_the_latest_manifest_is_that_of_the_greatest_number(tmp_path: Path) -> None:
    for sequence in (9, 10, 8):
        commit(tmp_path, sequence)
    path_of(tmp_path, 10).with_name("11 (copy).json").write_text("somebody's copy")
    path_of(tmp_path, 10).with_name(".~00000012.json.cafe").write_text('{"format": 1, "bo')

    latest = Manifests(LocalStorage(tmp_path)).latest()
    Manifests(LocalStorage(tmp_path)).sweep()

    assert latest is not None
    assert 110 == latest.epoch
    assert {"00000008.json", "00000009.json", "00000010.json", "11 (copy).json"} == {
        path.name for path in (tmp_path / "manifests").iterdir()
    }


def test_a_checkpoint_can_be_moved(tmp_path: Path) -> None:
    commit(tmp_path / "here", 1)
    shutil.move(tmp_path / "here", tmp_path / "there")
    there = Manifests(LocalStorage(tmp_path / "there"))

    manifest = there.latest()

    assert manifest is not None
    there.check(manifest)
    assert ["state/op/00000/00000001-0-fixed.arrow"] == [w.key for w in manifest.files()]
    assert [] == there.collect(())


CORRUPTIONS: dict[str, Any] = {
    "cut short": lambda text: text[: len(text) // 2],
    "empty": lambda _: "",
    "no JSON": lambda _: "manifest",
    "another JSON": lambda _: "[1, 2]",
    "a field gone": lambda text: text.replace('"sha256"', '"sha1"'),
    "a format that is none": lambda text: text.replace('"format": 2', '"format": "one"'),
    "a digit changed": lambda text: text.replace('\\"epoch\\": 103', '\\"epoch\\": 104'),
}


@pytest.mark.parametrize("how", CORRUPTIONS)
def test_a_corrupt_manifest_is_named_with_the_epoch_to_fall_back_to(tmp_path: Path, how: str) -> None:
    for sequence in (1, 2, 3):
        commit(tmp_path, sequence)
    before = path_of(tmp_path, 3).read_text()
    path_of(tmp_path, 3).write_text(CORRUPTIONS[how](before))
    assert before != path_of(tmp_path, 3).read_text()

    with pytest.raises(StateError) as caught:
        Manifests(LocalStorage(tmp_path)).latest()

    assert f"the manifest {path_of(tmp_path, 3)} " in caught.value.fact
    assert f"fall back to epoch 102 ({path_of(tmp_path, 2)})" in (caught.value.hint or "")


def test_the_epoch_to_fall_back_to_is_one_that_is_whole(tmp_path: Path) -> None:
    for sequence in (1, 2, 3):
        commit(tmp_path, sequence)
    path_of(tmp_path, 2).write_text("{")
    path_of(tmp_path, 3).write_text("{")
    with pytest.raises(StateError, match="fall back to epoch 101 "):
        Manifests(LocalStorage(tmp_path)).latest()

    next((tmp_path / "state").rglob("00000001-*")).unlink()

    with pytest.raises(StateError, match="no earlier epoch is whole"):
        Manifests(LocalStorage(tmp_path)).latest()


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    commit(tmp_path, 1)
    outer = json.loads(path_of(tmp_path, 1).read_text())
    path_of(tmp_path, 1).write_text(json.dumps({**outer, "format": FORMAT + 1}))

    with pytest.raises(StateError, match=f"has format {FORMAT + 1}, and this engine knows up to {FORMAT}"):
        Manifests(LocalStorage(tmp_path)).latest()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), "is missing"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "bytes instead of"),
        (lambda path: path.write_bytes(path.read_bytes().replace(b"ARROW1", b"ARROW2")), "has another checksum"),
    ],
    ids=["missing", "cut short", "altered"],
)
def test_a_segment_that_is_not_what_it_was_is_named(tmp_path: Path, damage: Any, said: str) -> None:
    commit(tmp_path, 1)
    manifest = commit(tmp_path, 2)
    Manifests(LocalStorage(tmp_path)).check(manifest)
    path = tmp_path / next(manifest.files()).key
    damage(path)

    with pytest.raises(StateError) as caught:
        Manifests(LocalStorage(tmp_path)).check(manifest)

    assert caught.value.fact.startswith(f"the segment {path} ")
    assert said in caught.value.fact
    assert caught.value.fact.endswith("epoch 102 needs it")
    assert "fall back to epoch 101 " in (caught.value.hint or "")


def test_what_no_kept_manifest_names_is_removed(tmp_path: Path) -> None:
    for sequence in range(6):
        commit(tmp_path, sequence)
    storage = LocalStorage(tmp_path)
    orphan, in_use = "state/op/00001/00000005-0-fixed.arrow", "state/op/00001/00000007-0-fixed.arrow"
    for key in (orphan, in_use):
        write_table(storage, key, TABLE)
    torn = tmp_path / "state" / "op" / "00001" / ".~cafe"
    torn.write_bytes(b"half of a tab")
    manifests = Manifests(LocalStorage(tmp_path))

    removed = manifests.collect([in_use])

    assert {orphan, *(saved_key(n) for n in range(6 - KEPT))} == set(removed)
    assert not torn.exists()
    assert [3, 4, 5] == manifests.sequences()
    for sequence in (3, 4, 5):
        manifests.check(manifests.read(sequence))
    assert storage.get(in_use) is not None
    assert [] == manifests.collect([in_use])


def saved_key(sequence: int) -> str:
    return f"state/op/00000/{sequence:08d}-0-fixed.arrow"


def test_nothing_is_removed_while_a_kept_manifest_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for sequence in range(5):
        commit(tmp_path, sequence)
    path_of(tmp_path, 3).write_text("{")
    files = set((tmp_path / "state").rglob("*"))

    assert [] == Manifests(LocalStorage(tmp_path)).collect(())

    assert files == set((tmp_path / "state").rglob("*"))
    assert [0, 1, 2, 3, 4] == Manifests(LocalStorage(tmp_path)).sequences()
    assert f"{path_of(tmp_path, 3)} cannot be read" in caplog.text


# --- partitions -------------------------------------------------------------------------------------

GROUPS = st.lists(st.tuples(st.sampled_from([None, "a", "b", "", "\x1f"]), st.integers(-3, 3) | st.none()), max_size=30)


@given(GROUPS, st.integers(1, 7))
def test_a_group_is_in_one_partition_wherever_it_comes_from(groups: list[tuple[Any, Any]], partitions: int) -> None:
    k, g = pa.array([k for k, _ in groups], pa.string()), pa.array([g for _, g in groups], pa.int64())
    table = pa.table({"k": k, "g": g})

    parts = dict(split(table.append_column("n", pa.array(range(len(groups)))), ["k", "g"], partitions))

    at = partition_of([table["k"], table["g"]], len(groups), partitions).tolist()
    alone = [
        partition_of([table["k"].slice(i, 1), table["g"].slice(i, 1)], 1, partitions)[0] for i in range(len(groups))
    ]
    texts = [("\x00" if k is None else k, "\x00" if g is None else str(g)) for k, g in groups]
    assert [zlib.crc32("\x1f".join(text).encode()) % partitions for text in texts] == at == alone
    assert list(range(len(groups))) == sorted(n for part in parts.values() for n in part["n"].to_pylist())
    assert all(at[n] == partition for partition, part in parts.items() for n in part["n"].to_pylist())
    assert all(part.num_rows for part in parts.values())


def test_each_part_of_a_segment_has_every_table() -> None:
    bag = pa.table({KEY: [1, 1], "k": ["a", "a"], "value": [5, 6]})
    fixed = pa.table({KEY: [1, 1, 2], "k": ["a", "b", "a"], "n": [2, 1, 1]})

    parts = dict(split_segment({"fixed": fixed, "bag.0": bag}, ["k"], 5))

    assert {"fixed", "bag.0"} == {name for part in parts.values() for name in part}
    of_a = int(partition_of([pa.array(["a"])], 1, 5)[0])
    of_b = int(partition_of([pa.array(["b"])], 1, 5)[0])
    assert of_a != of_b
    assert {of_a, of_b} == set(parts)
    assert [2, 1] == parts[of_a]["fixed"]["n"].to_pylist()
    assert bag.equals(parts[of_a]["bag.0"])
    assert bag.slice(0, 0).equals(parts[of_b]["bag.0"])


def program(partitions: int, *names: str, **window: Any) -> Program:
    stream = ms.Engine(host="local").stream("s", [], schema=SCHEMA, progress=ms.ordered("ts"))
    queries = {name: stream.window("ts", **(window or {"range": 10})).group_by("k").agg(n=ms.count()) for name in names}
    return Program([Target(name, query.node) for name, query in queries.items()], partitions)


def test_state_is_cut_anew_for_another_number_of_partitions(tmp_path: Path) -> None:
    two, five = program(2, "q"), program(5, "q")
    ledger = Ledger(sequence=4)
    ledger.operators = name_nodes(two, {})
    name_nodes(five, ledger.operators)
    (stop, _) = next(two.stops())
    key = two.keys[stop]
    storage = LocalStorage(tmp_path)
    rows = pa.table({KEY: list(range(40)), "k": [f"k{i % 9}" for i in range(40)], "n": list(range(40))})
    for partition, part in split(rows, ["k"], 2):
        written = write_table(storage, f"state/{key}/{partition:05d}/old.arrow", part)
        ledger.segments.append(SavedSegment(key, partition, 0, 39, {"fixed": written}))
    ledger.facts = {key: {0: {0: {"last": 3}}, 1: {0: {"last": 7}}}}
    old = {w.key: storage.get(w.key) for s in ledger.segments for w in s.tables.values()}

    repartition(ledger, five, storage, 2)

    assert 5 == ledger.sequence
    found = {s.partition: read_table(storage, s.tables["fixed"].key) for s in ledger.segments}
    assert rows.equals(pa.concat_tables(found.values()).sort_by("n"))
    assert {partition: part["n"].to_pylist() for partition, part in split(rows, ["k"], 5)} == {
        partition: sorted(part["n"].to_pylist()) for partition, part in found.items()
    }
    assert {p: {0: {"last": 7}} for p in range(5)} == ledger.facts[key]
    assert all((s.low, s.high) == (min(n := found[s.partition][KEY].to_pylist()), max(n)) for s in ledger.segments)
    # A kill before the next manifest must find everything that the last one names.
    assert old == {key: storage.get(key) for key in old}


def test_of_two_copies_of_a_fact_the_greater_is_true() -> None:
    # After a move to more partitions each holds all counts, and only the owner's go on counting.
    before = {"counts": {("a",): 5, ("b",): 7}}

    merged = merge_facts([{"counts": {**before["counts"], ("a",): 9}}, {"counts": {**before["counts"], ("b",): 8}}])

    assert {"counts": {("a",): 9, ("b",): 8}} == merged


def test_a_new_segment_is_never_taken_for_one_that_was_dropped(tmp_path: Path) -> None:
    # Python gives the identity of an object that is gone to the next one: the first must not go while that matters.
    made = program(1, "q")
    name_nodes(made, {})
    (stop, _) = next(made.stops())
    written = write_table(LocalStorage(tmp_path), "old.arrow", TABLE)
    on_disk = SavedSegment(made.keys[stop], 0, 1, 3, {"fixed": written})
    order = Order(5, LocalStorage(tmp_path), {}, {}, {}, {(stop, 0): [on_disk]}, keys=made.keys, attempt="cafe")
    operator = made.operator(stop)
    loaded = open_state(operator, order, stop, 0)
    operator.store.replace([])

    fresh = [Segment({"fixed": TABLE.slice(i % 3)}, 1, 3) for i in range(500)]
    operator.store.replace(fresh)
    report = Report()
    save_state(operator, order, made.keys[stop], 0, loaded, report)

    paths = [one["tables"]["fixed"]["key"] for one in report.segments]
    assert len(fresh) == len(set(paths))
    assert written.key not in paths
    assert [len(one.tables["fixed"]) for one in fresh] == [one["tables"]["fixed"]["rows"] for one in report.segments]


def test_a_segment_that_stays_is_not_written_again(tmp_path: Path) -> None:
    made = program(1, "q")
    name_nodes(made, {})
    (stop, _) = next(made.stops())
    on_disk = SavedSegment(made.keys[stop], 0, 1, 3, {"fixed": write_table(LocalStorage(tmp_path), "old.arrow", TABLE)})
    order = Order(5, LocalStorage(tmp_path), {}, {}, {}, {(stop, 0): [on_disk]}, keys=made.keys, attempt="cafe")
    operator = made.operator(stop)
    loaded = open_state(operator, order, stop, 0)
    report = Report()

    save_state(operator, order, made.keys[stop], 0, loaded, report)

    assert [asdict(on_disk)] == report.segments
    assert ["old.arrow"] == [path.name for path in tmp_path.rglob("*")]


# --- publishing -------------------------------------------------------------------------------------


def staged(folder: Path, attempt: str) -> list[dict[str, Any]]:
    made = program(1, "q")
    sink = ParquetSink(folder)
    sink.claim(Owner("ck", "q", "results"))
    made.targets[0].sinks["results"] = [sink]
    return Stage(LocalStorage(folder / "none"), 7, "1-00003", attempt).write(made, 0, "results", TABLE)


def test_what_is_staged_is_seen_by_nobody_until_it_is_published_and_again_changes_nothing(tmp_path: Path) -> None:
    outputs = staged(tmp_path, "cafe")
    assert 0 == ds.dataset(tmp_path, format="parquet").count_rows()

    publish(outputs, "ck", again=False)
    publish(outputs, "ck", again=True)

    assert ["_millstream", "part-00000007-1-00003.parquet"] == sorted(path.name for path in tmp_path.iterdir())
    assert TABLE.equals(ds.dataset(tmp_path).to_table())


def test_two_attempts_at_an_epoch_cannot_spoil_each_other_s_files(tmp_path: Path) -> None:
    dead, alive = staged(tmp_path, "dead"), staged(tmp_path, "cafe")

    (tmp_path / dead[0]["hidden"]).write_bytes(b"half of a file, by a task whose driver is gone")
    publish(alive, "ck", again=False)

    assert TABLE.equals(ds.dataset(tmp_path).to_table())
    sweep([ParquetSink(tmp_path)])
    assert ["_millstream", "part-00000007-1-00003.parquet"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_staged_file_that_is_gone_is_no_small_matter(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    outputs = staged(tmp_path, "cafe")
    (tmp_path / outputs[0]["hidden"]).unlink()

    with pytest.raises(SinkError, match="is gone before it was published"):
        publish(outputs, "ck", again=False)
    publish(outputs, "ck", again=True)  # after a restart it may have been published, and taken away by its reader

    assert "part-00000007-1-00003.parquet" in caplog.text


# --- promises and the ledger ------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.builds(Equal, st.integers()),
    st.builds(UpTo, st.integers()),
    st.builds(From, st.integers()),
    st.tuples(st.integers(0, 5), st.integers(6, 9)).map(lambda pair: Between(*pair)),
    st.builds(OneOf, st.frozensets(st.integers(), min_size=1, max_size=3)),
)
TEXTS = st.one_of(st.builds(Equal, st.text()), st.builds(OneOf, st.frozensets(st.text(), min_size=1, max_size=3)))
PATTERNS = (
    st.fixed_dictionaries({}, optional={"ts": NUMBERS, "v": NUMBERS, "k": TEXTS})
    .filter(bool)
    .map(lambda parts: Pattern(dict(parts)))
)


def over_json(value: Any) -> Any:
    return restore(json.loads(json.dumps(plain(value))))


@given(PATTERNS)
def test_a_pattern_comes_back_as_it_was(pattern: Pattern) -> None:
    assert pattern == pattern_from(over_json(pattern_plain(pattern)))


@given(st.lists(PATTERNS, max_size=6), st.booleans())
def test_progress_comes_back_as_it_was_and_goes_on(patterns: list[Pattern], ended: bool) -> None:  # noqa: FBT001
    progress = Progress()
    for pattern in patterns:
        progress.accept(Punctuation(pattern))
    if ended:
        progress.accept(Punctuation.end_of_stream())

    back = progress_from(over_json(progress_plain(progress)))

    assert progress == back
    more = Punctuation(Pattern({"k": Equal("z"), "ts": UpTo(10**6)}))
    assert progress.accept(more) == back.accept(more)
    assert progress == back


TICKS = st.lists(st.tuples(st.integers(-9, 9), st.sampled_from(["a", "b", None])), min_size=1, max_size=8)


@pytest.mark.parametrize(
    "generator",
    [Ordered("ts"), BoundedRows("ts", 3), PerGroup(("k",), Ordered("ts")), PerGroup(("k",), BoundedRows("ts", 2))],
    ids=["plain", "with a tail", "by group", "by group with a tail"],
)
@given(parts=st.lists(TICKS, min_size=1, max_size=5))
def test_what_tasks_saw_one_after_another_is_what_one_task_would_have_seen(
    generator: Any, parts: list[list[tuple[int, str | None]]]
) -> None:
    schema = pa.schema([("ts", pa.int64()), ("k", pa.string())])
    tables = [pa.Table.from_pylist([{"ts": tick, "k": k} for tick, k in part], schema=schema) for part in parts]

    merged = merge_seen([observe(generator, table) for table in tables], generator.tail)

    whole = observe(generator, pa.concat_tables(tables))
    # How many rows a group had is asked by nobody, and a group without a tail counts tasks.
    assert (whole.high, whole.high_before_tail, whole.tail) == (merged.high, merged.high_before_tail, merged.tail)
    assert {k: (g.high, g.high_before_tail, g.tail) for k, g in whole.groups.items()} == {
        k: (g.high, g.high_before_tail, g.tail) for k, g in merged.groups.items()
    }
    assert whole.rows == merged.rows


def reported(program: Program, partition: int, **more: Any) -> Report:
    (stop, _) = next(program.stops())
    return Report(facts=[{"operator": program.keys[stop], "partition": partition, "facts": {}}], **more)


def test_a_partition_that_did_not_run_is_noticed() -> None:
    made = program(3, "q")
    ledger = Ledger(operators=name_nodes(made, {}))

    with pytest.raises(RunError, match="partition 1 of 3 was left out"):
        ledger.absorb(made, [reported(made, 0), reported(made, 2)])


def test_the_ledger_is_the_same_from_its_manifest() -> None:
    made = program(2, "q")
    ledger = Ledger(operators=name_nodes(made, {}), frames=["s"], epoch=4, sequence=6)
    (stop, _) = next(made.stops())
    source = next(n for n in made.nodes if type(n).__name__ == "Source")
    written = Written("state/x.arrow", 10, 20, 30)
    segment = asdict(SavedSegment(made.keys[stop], 1, 0, 2, {"fixed": written}))
    seen = {"stream": "s", "at": 0, "rows": 2, "high": 12, "high_before_tail": 0, "tail": (), "groups": {}}
    first = reported(made, 0, meters={stop: {"rows_in": 5, "open_windows": 2}}, seen=[seen], rows={"q": 3})
    second = reported(made, 1, meters={stop: {"rows_in": 2, "open_windows": 4}}, segments=[segment])
    second.facts[0]["facts"] = {0: {"last": 3}}
    ledger.learn(source, [first, second], (), None)  # type: ignore[arg-type]
    ledger.absorb(made, [first, second])

    back = Ledger.of(ledger.manifest(made, "0", []))

    assert ledger == back
    assert (30, 10) == back.sizes()[made.keys[stop]]
    assert (7, 4) == (back.meter(made.keys[stop]).rows_in, back.meter(made.keys[stop]).open_windows)
    assert 12 == back.streams["s"].known.bound("ts")
    assert {made.keys[stop]: {1: {0: {"last": 3}}}} == back.facts


def test_queries_that_look_the_same_keep_their_state_apart() -> None:
    twins = program(2, "one", "two")

    names = name_nodes(twins, {})

    assert names["one"][0] == names["two"][0]  # one stream
    assert names["one"][1] != names["two"][1]


def test_a_query_keeps_its_state_when_others_come_and_go() -> None:
    both = name_nodes(program(2, "one", "two"), {})

    alone = name_nodes(program(2, "two"), both)
    among = name_nodes(program(2, "zero", "two", "one"), alone)

    assert both["two"] == alone["two"] == among["two"]
    assert len({among[name][1] for name in among}) == 3


def check(before: Manifest, now: Program) -> None:
    plan = Plan.of({target.name: target.node for target in now.targets})
    check_states(plan, before, {target.name: plan_text(target.node) for target in now.targets}, {})


def test_what_changed_in_a_query_is_named() -> None:
    before = Ledger(operators=name_nodes(program(2, "q"), {})).manifest(program(2, "q", "gone"), "0", [])

    check(before, program(3, "q", "new"))
    with pytest.raises(StateError) as caught:
        check(before, program(2, "q", range=20))

    assert "'q'" in caught.value.fact
    assert "range 10 slide 10 on ts" in caught.value.fact
    assert "range 20 slide 20 on ts" in caught.value.fact


def test_types_of_keys_survive(tmp_path: Path) -> None:
    moment = datetime(2024, 1, 2, tzinfo=UTC)
    values = [moment, moment.date(), time(3, 4), timedelta(1), Decimal("1.50"), b"x", True, None]
    keys = [(value,) for value in values]
    facts = {"op": {0: {0: {"counts": {key: i for i, key in enumerate(keys)}}}}}
    commit(tmp_path, 1, facts=facts)

    manifest = Manifests(LocalStorage(tmp_path)).latest()

    assert manifest is not None
    assert facts == manifest.facts
