"""A stream that has ended does not go on: a later run says so, and the command line ends none that has a checkpoint."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import millstream as ms
from millstream.cli import app
from support import in_process

SCRIPT = """
CREATE STREAM bids FROM parquet 'in' PROGRESS ON ts WITHIN 5;
INSERT INTO json 'out' SELECT count(*) AS n FROM bids [RANGE 10, WATTR ts];
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of bids with its first file, and a script that reads it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    Path("counts.sql").write_text(SCRIPT)
    more("0", 1, 4, 12)
    return tmp_path


def more(name: str, *times: int) -> None:
    pq.write_table(pa.table({"ts": times}), Path("in") / f"{name}.parquet")


def engine(folder: Path, host: str) -> ms.Engine:
    out = ms.Engine(host="local") if host == "local" else in_process.engine(folder / "checkpoint", 2)
    ms.Script(SCRIPT).bind(out)
    return out


def run(on: ms.Engine, *, end: bool) -> None:
    on.start(ms.available_now(), end_of_stream=end).await_termination()


def counts() -> list[str]:
    return sorted(line for path in Path("out").glob("part-*.json") for line in path.read_text().splitlines())


@pytest.mark.parametrize("host", ["local", "spark"])
def test_the_same_engine_does_not_go_on_after_the_end(folder: Path, host: str) -> None:
    on = engine(folder, host)
    run(on, end=True)

    with pytest.raises(ms.RunError, match="the stream 'bids' ended in an earlier run, and cannot go on") as caught:
        run(on, end=False)

    assert "another engine" in str(caught.value.hint)


def test_a_restart_on_a_checkpoint_does_not_go_on_after_the_end(folder: Path) -> None:
    run(engine(folder, "spark"), end=True)

    with pytest.raises(ms.RunError, match="cannot go on"):
        run(engine(folder, "spark"), end=False)


@pytest.mark.parametrize("host", ["local", "spark"])
def test_to_end_once_more_is_no_mistake_unless_rows_have_come(folder: Path, host: str) -> None:
    on = engine(folder, host)
    run(on, end=True)
    before = counts()

    run(on, end=True)
    assert before == counts()
    more("1", 21, 22)
    with pytest.raises(ms.RunError, match="2 rows came in the stream 'bids', which ended in an earlier run"):
        run(on, end=True)
    assert before == counts()


def test_a_stream_that_was_kept_open_goes_on(folder: Path) -> None:
    run(engine(folder, "spark"), end=False)
    more("1", 13, 21)
    run(engine(folder, "spark"), end=True)

    assert 5 == sum(int(line.partition('"n": ')[2].rstrip("}")) for line in counts())


def call(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["run", "counts.sql", *arguments], env={"COLUMNS": "200"})
    return done.exit_code, done.stderr


def test_with_a_checkpoint_the_command_line_keeps_streams_open() -> None:
    asked = ("--checkpoint", "kept")

    assert 0 == call(*asked)[0]
    more("1", 13, 21)
    assert 0 == call(*asked, "--end")[0]
    assert 5 == sum(int(line.partition('"n": ')[2].rstrip("}")) for line in counts())
    code, said = call(*asked)
    assert 1 == code
    assert "the stream 'bids' ended in an earlier run" in said
    assert "--end" in said


def test_without_a_checkpoint_it_ends_them() -> None:
    assert 0 == call()[0]
    assert 2 == len(counts())


@pytest.mark.parametrize("other", [("--keep-open",), ("--every", "1 second")])
def test_the_end_does_not_go_with_going_on(other: tuple[str, ...]) -> None:
    code, said = call("--end", *other)

    assert 2 == code
    assert "do not go together" in said
