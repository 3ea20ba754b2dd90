"""Log messages: quiet where all is well, INFO for who follows a run, WARNING where somebody should look."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

import millstream as ms
from support import in_process

ROWS = [[{"ts": 1, "k": "a"}, {"ts": 5, "k": "b"}], [{"ts": 12, "k": "a"}]]


def run(folder: Path, partitions: int) -> None:
    engine = in_process.engine(folder / "ck", partitions)
    bids = engine.stream("bids", ROWS, progress=ms.ordered("ts"))
    bids.window("ts", range=10).group_by("k").agg(n=ms.count()).named("q").to_parquet(folder / "out")
    engine.start(ms.available_now()).await_termination()


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    mine = [one for one in caplog.records if one.name.startswith("millstream")]
    return [(one.levelname, one.getMessage()) for one in mine]


def test_a_run_without_trouble_has_nothing_for_anybody_to_do(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "millstream")

    run(tmp_path, 2)

    assert [] == [one for one in said(caplog) if one[0] not in ("DEBUG", "INFO")]


def test_state_that_moves_is_told_to_who_follows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run(tmp_path, 2)
    caplog.set_level(logging.INFO, "millstream")
    caplog.clear()

    run(tmp_path, 3)

    assert [("INFO", "moving state from 2 to 3 partitions, by groups")] == said(caplog)


def test_a_manifest_that_cannot_be_read_keeps_files_and_somebody_should_look(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(tmp_path, 2)
    oldest = min((tmp_path / "ck" / "manifests").glob("*.json"))
    oldest.write_text("{")
    caplog.set_level(logging.INFO, "millstream")
    caplog.clear()

    run(tmp_path, 2)

    levels = {level for level, text in said(caplog) if "nothing is removed" in text}
    assert {"WARNING"} == levels
