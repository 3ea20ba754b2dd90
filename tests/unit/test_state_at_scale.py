"""State at scale: manifests stay small whatever they know, and an epoch writes what it changed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.state.local_storage import LocalStorage
from millstream.state.manifest import Manifests

pytestmark = pytest.mark.slow

Ask = Callable[[ms.Stream], Any]


def after(checkpoint: Path, ask: Ask, epochs: list[pa.Table], progress: Any) -> tuple[int, list[int]]:
    """Run; returns the size of the last manifest, and how many bytes of state each epoch wrote."""
    written: list[int] = []
    before: set[str] = set()
    storage = LocalStorage(checkpoint)
    engine = ms.Engine(host="local", checkpoint=checkpoint)
    ask(engine.stream("s", epochs, progress=progress)).discard().named("q")

    def note(_: Any) -> None:
        keys = set(storage.list("state/"))
        written.append(sum(storage.size(key) or 0 for key in keys - before))
        before.update(keys)

    engine.on_epoch(note)
    engine.start(ms.available_now(), allow_unbounded=True).await_termination()
    newest = max(storage.list("manifests/"))
    return storage.size(newest) or 0, written


def rows(keys: int, epoch: int) -> pa.Table:
    return pa.table({"ts": [epoch * 10 + i % 10 for i in range(keys)], "k": [f"key {i}" for i in range(keys)]})


QUESTIONS: dict[str, tuple[Ask, Any]] = {
    "row windows": (
        lambda s: s.window(range=3, by="rows", partition_by="k").agg(n=ms.count()),
        ms.bounded_disorder("ts", 10),
    ),
    "progress by group": (
        lambda s: s.window("ts", range=10).group_by("k").agg(n=ms.count()),
        ms.per_group("k", ms.bounded_disorder("ts", 10)),
    ),
    "windows": (
        lambda s: s.window("ts", range=10).group_by("k").agg(n=ms.count()),
        ms.bounded_disorder("ts", 10),
    ),
}


MANY = {"row windows": 100_000, "progress by group": 5_000, "windows": 100_000}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_manifest_does_not_grow_with_keys(question: str, tmp_path: Path) -> None:
    ask, progress = QUESTIONS[question]

    few, _ = after(tmp_path / "few", ask, [rows(500, epoch) for epoch in range(3)], progress)
    many, _ = after(tmp_path / "many", ask, [rows(MANY[question], epoch) for epoch in range(3)], progress)

    assert many < few * 1.1 + 300


def test_a_manifest_does_not_grow_with_files_read(tmp_path: Path) -> None:
    sizes: list[int] = []
    (tmp_path / "in").mkdir()
    for until in (300, 10_000):
        for i in range(until):
            if not (tmp_path / "in" / f"{i:04d}.csv").exists():
                (tmp_path / "in" / f"{i:04d}.csv").write_text(f"ts\n{i}\n")
        engine = ms.Engine(host="local", checkpoint=tmp_path / "ck")
        source = ms.files(tmp_path / "in", "csv", epoch_files=100 if until == 300 else 5_000)
        stream = engine.stream("s", source, progress=ms.bounded_disorder("ts", 10))
        stream.window("ts", range=10).agg(n=ms.count()).to_parquet(tmp_path / "out").named("q")
        engine.start(ms.available_now(), end_of_stream=until == 10_000).await_termination()
        storage = LocalStorage(tmp_path / "ck")
        sizes.append(storage.size(max(storage.list("manifests/"))) or 0)

    assert 10_000 == sum(pq.read_table(tmp_path / "out")["n"].to_pylist())
    assert sizes[1] < sizes[0] * 1.1 + 300


def test_a_manifest_does_not_grow_with_epochs(tmp_path: Path) -> None:
    sizes: list[int] = []
    for epochs in (50, 400):
        engine = ms.Engine(host="local", checkpoint=tmp_path / str(epochs))
        stream = engine.stream("s", [{"ts": i} for i in range(epochs)], progress=ms.ordered("ts"), epoch_rows=1)
        stream.window("ts", range=10).agg(n=ms.count()).discard().named("q")
        engine.start(ms.available_now()).await_termination()
        storage = LocalStorage(tmp_path / str(epochs))
        sizes.append(storage.size(max(storage.list("manifests/"))) or 0)

    assert sizes[1] < sizes[0] + 100  # some figures have more digits


def test_distinct_writes_what_is_new(tmp_path: Path) -> None:
    first = pa.table({"ts": range(50_000), "k": [f"key {i}" for i in range(50_000)]})
    later = [pa.table({"ts": [0], "k": [f"new {i}"]}) for i in range(6)]

    _, written = after(tmp_path, lambda s: s.distinct("k"), [first, *later], ms.bounded_disorder("ts", 10**6))

    assert written[0] > 500_000
    assert max(written[1:-1]) < written[0] / 20


def test_top_writes_what_is_new(tmp_path: Path) -> None:
    first = pa.table({"ts": range(50_000), "k": [f"key {i}" for i in range(50_000)]})
    later = [pa.table({"ts": [i], "k": [f"new {i}"]}) for i in range(6)]

    _, written = after(
        tmp_path, lambda s: s.top(2, per="k", by="ts"), [first, *later], ms.bounded_disorder("ts", 10**6)
    )

    assert written[0] > 500_000
    assert max(written[1:-1]) < written[0] / 20


def test_row_windows_write_the_counts_that_changed(tmp_path: Path) -> None:
    first = pa.table({"ts": range(50_000), "k": [f"key {i}" for i in range(50_000)]})
    later = [pa.table({"ts": [i], "k": [f"key {i}"]}) for i in range(6)]

    _, written = after(
        tmp_path,
        lambda s: s.window(range=1, by="rows", partition_by="k").agg(n=ms.count()),
        [first, *later],
        ms.bounded_disorder("ts", 10**6),
    )

    assert written[0] > 500_000
    assert max(written[1:-1]) < written[0] / 20


def test_as_of_writes_what_is_new(tmp_path: Path) -> None:
    sizes: list[int] = []
    engine = ms.Engine(host="local", checkpoint=tmp_path)
    right = [pa.table({"ts": range(50_000), "k": [f"key {i}" for i in range(50_000)], "v": range(50_000)})]
    right += [pa.table({"ts": [50_000 + i], "k": ["x"], "v": [i]}) for i in range(6)]
    left = [pa.table({"ts": [10 + i], "k": ["key 1"]}) for i in range(7)]
    far = ms.bounded_disorder("ts", 10**6)
    a, b = engine.stream("a", left, progress=far), engine.stream("b", right, progress=far)
    a.join_as_of(b, on="k", within=10**7).discard().named("q")
    storage, before = LocalStorage(tmp_path), set[str]()

    def note(_: Any) -> None:
        keys = set(storage.list("state/"))
        sizes.append(sum(storage.size(key) or 0 for key in keys - before))
        before.update(keys)

    engine.on_epoch(note)
    engine.start(ms.available_now(), allow_unbounded=True).await_termination()

    assert sizes[0] > 500_000
    assert max(sizes[1:-1]) < sizes[0] / 20


def test_a_part_of_a_manifest_that_was_changed_is_refused(tmp_path: Path) -> None:
    ask, progress = QUESTIONS["progress by group"]
    after(tmp_path, ask, [rows(2_000, 0)], progress)
    manifests = Manifests(LocalStorage(tmp_path))
    assert manifests.latest() is not None
    part = max((tmp_path / "state" / "parts").iterdir())
    part.write_bytes(part.read_bytes().replace(b"1", b"2"))

    with pytest.raises(ms.StateError, match=r"its part state/parts/\w+\.json is missing or was changed"):
        manifests.latest()
