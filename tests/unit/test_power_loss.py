"""The power goes: whatever was not synced is gone, and still the last committed epoch is whole."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.state.local_storage import LocalStorage
from millstream.state.manifest import Manifests
from support.bags import difference
from support.crash import STEPS, pulled
from support.disk import SCHEMA, rows_of, some_rows, without_epoch, write_files
from support.kill_target import ASK, INPUTS, local
from support.power import watched

pytestmark = pytest.mark.slow

FILES = 5


def one_life(folder: Path, data: Path, what: str, *, end: bool) -> Any:
    """A run over what is there; returns why it failed, if it did."""
    engine = ms.Engine(host="local", checkpoint=folder / "ck", partitions=2)
    sources = [ms.files(data / name, "parquet", schema=SCHEMA) for name in INPUTS[what]]
    query = ASK[what](engine, *sources).to_parquet(folder / "out")
    query.late.to_parquet(folder / "late")
    query.rejected.to_parquet(folder / "rejected")
    try:
        engine.start(ms.available_now(), end_of_stream=end).await_termination()
    except ms.MillstreamError as error:
        return error
    return None


def manifests(folder: Path) -> set[str]:
    """The epochs that are committed, by the names of their manifests."""
    return {path.name for path in (folder / "ck" / "manifests").glob("[0-9]*.json")}


@pytest.mark.parametrize("what", ASK)
@pytest.mark.parametrize("step", STEPS)
def test_the_last_committed_epoch_is_whole_after_a_power_loss(step: str, what: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    for i, name in enumerate(INPUTS[what]):
        write_files(data / name, some_rows(FILES, 30, seed=i, late_from=2))
    for nth in (1, 3, 6):
        root, again = tmp_path / f"{nth}", tmp_path / f"{nth} again"
        root.mkdir()
        with watched(root, tmp_path / f"{nth} kept") as disk, pulled(step, nth) as plug:
            failed = one_life(root, data, what, end=True)
        assert plug.pulled == (failed is not None)
        committed = manifests(root)
        disk.after_power_loss(again)
        shutil.rmtree(root)
        again.rename(root)

        assert committed <= manifests(root)
        kept = Manifests(LocalStorage(root / "ck"))
        if (last := kept.latest()) is not None:
            kept.check(last)
        assert one_life(root, data, what, end=True) is None

        query, _ = local(data, what)
        assert {} == difference(query.table().to_pylist(), rows_of(root / "out"))
        assert {} == difference(without_epoch(query.late.table()), rows_of(root / "late"))
        assert {} == difference(without_epoch(query.rejected.table()), rows_of(root / "rejected"))
        assert disk.syncs > 0


def test_a_disk_without_syncs_would_be_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation can fail: without syncs of folders, nothing is there after a power loss."""
    data, root, again = tmp_path / "data", tmp_path / "root", tmp_path / "again"
    write_files(data / "in", some_rows(2, 30, late_from=1))
    root.mkdir()
    with watched(root, tmp_path / "kept") as disk:
        monkeypatch.setattr("millstream.state.local_storage.sync", lambda _: None)
        assert one_life(root, data, "windows", end=False) is None
    disk.after_power_loss(again)

    assert [] == list(again.iterdir())
