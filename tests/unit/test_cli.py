"""The command line: what it prints, and the codes it exits with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import millstream as ms
from millstream.cli import app

RUNNER = CliRunner()
BIDS = [{"ts": ts, "item": item, "price": price} for ts, item, price in
        [(1, "lamp", 20), (4, "sofa", 95), (3, "lamp", 25), (14, "lamp", 40), (26, "sofa", 99)]]  # fmt: skip
GOOD = """
CREATE STREAM bids FROM parquet 'in' PROGRESS ON ts WITHIN 5;
INSERT INTO json 'out' SELECT item, max(price) AS top FROM bids [RANGE 10, WATTR ts] GROUP BY item;
SELECT count(*) AS n FROM bids [RANGE 10, WATTR ts];
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that is right, and the rows it reads."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    pq.write_table(pa.Table.from_pylist(BIDS), tmp_path / "in" / "bids.parquet")
    path = tmp_path / "good.sql"
    path.write_text(GOOD)
    return path


def call(*arguments: object, text: str | None = None) -> tuple[int, str, str]:
    """The exit code, what is printed, and what is said on the error stream."""
    done = RUNNER.invoke(app, [str(one) for one in arguments], input=text, env={"COLUMNS": "200"})
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.stdout, done.stderr


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def test_run_prints_results_and_writes_files(script: Path) -> None:
    code, out, err = call("run", script)

    assert 0 == code, err
    assert "window_id" in out
    assert "good: 4 rows" not in err
    assert "out: 4 rows" in err
    assert ["lamp", "lamp", "sofa", "sofa"] == sorted(
        row["item"] for path in Path("out").glob("*.json") for row in lines(path.read_text())
    )


def test_run_for_machines(script: Path) -> None:
    code, out, err = call("run", script, "--json")

    *rows, summary = lines(out)
    assert (0, "") == (code, err)
    assert [3, 1, 1] == [one["row"]["n"] for one in rows]
    assert {"rows_in": 5, "late": 0, "rejected": 0, "progress": "∞"} == summary["streams"]["bids"]
    assert (True, False, 4) == (summary["ok"], summary["stopped"], summary["queries"]["out"]["rows_out"])


def test_run_can_leave_windows_open(script: Path) -> None:
    _, out, _ = call("run", script, "--json", "--keep-open")

    assert [3, 1] == [one["row"]["n"] for one in lines(out)[:-1]]


def test_run_says_how_many_rows_a_query_rejected(script: Path, caplog: pytest.LogCaptureFixture) -> None:
    text = script.read_text().split(";")[0]
    text += "; SELECT count(*) AS n, sum(1 / (price - price)) AS t FROM bids [RANGE 10, WATTR ts]"
    _, _, told = call("run", "-", text=text)
    _, out, _ = call("run", "-", "--json", text=text)

    assert "rows rejected: 5" in told
    assert 2 == caplog.text.count("5 of 5 rows of query 'query_1' were rejected"), "once a run"
    assert "were rejected" not in told, "it is told twice"
    assert 5 == lines(out)[-1]["queries"]["query_1"]["rejected"]


def test_run_reads_standard_input(script: Path) -> None:
    code, out, _ = call("run", "-", "--json", text=script.read_text())

    assert (0, 4) == (code, len(lines(out)))


def test_explain_shows_the_plans(script: Path) -> None:
    code, out, _ = call("explain", script)

    assert 0 == code
    assert "query out" in out
    assert "└─ stream bids: ts within 5" in out
    assert not Path("out").exists()


def test_explain_for_machines(script: Path) -> None:
    _, out, _ = call("explain", script, "--json")

    assert ["out", "query_1"] == list(lines(out)[0]["queries"])


def test_check_says_what_each_statement_gives(script: Path) -> None:
    code, out, _ = call("check", script)

    assert 0 == code
    assert "ts int64, item string, price int64" in out
    assert not Path("out").exists()


def test_check_can_ask_the_host_that_will_run_it(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        "millstream.cli.running.engine_on", lambda host, _: asked.append(host) or ms.Engine(host="local")
    )

    assert 0 == call("check", script, "--host", "spark")[0]
    assert ["spark"] == asked


def test_check_says_what_each_query_keeps_and_for_how_long(script: Path) -> None:
    _, out, _ = call("check", script)

    assert "query out: safe" in out
    assert "    horizon  15 of ts: range 10 + disorder 5" in out


UNBOUNDED = "CREATE STREAM bids FROM parquet 'in' PROGRESS ON ts WITHIN 5;\nSELECT DISTINCT item FROM bids;\n"


def test_check_refuses_what_would_keep_rows_for_ever_unless_the_streams_end(script: Path) -> None:
    script.write_text(UNBOUNDED)

    code, out, _ = call("check", script)

    assert 2 == code
    assert "query query_1: refused" in out
    assert "bids: PROGRESS SUPPLIED PER item" in out
    assert "Tell rows apart by ts too: SELECT DISTINCT item, ts" in " ".join(out.split())
    assert "ms." not in out
    assert 0 == call("check", script, "--ends")[0]


def test_run_refuses_it_too_unless_the_streams_end_or_it_is_allowed(script: Path) -> None:
    script.write_text(UNBOUNDED)

    code, _, err = call("run", script, "--keep-open")

    assert 2 == code
    assert "line 2, column 1: distinct on item keeps every item for ever" in err
    assert 0 == call("run", script)[0]
    assert 0 == call("run", script, "--keep-open", "--allow-unbounded")[0]


def test_a_refusal_for_machines(script: Path) -> None:
    script.write_text(UNBOUNDED)

    (said,) = lines(call("run", script, "--keep-open", "--json")[1])
    assert (False, "ContractError") == (said["ok"], said["error"])
    assert ["distinct on item"] == [one["operator"] for one in said["problems"]]
    (checked,) = lines(call("check", script, "--json")[1])
    assert [False] == [one["safe"] for one in checked["contracts"]]
    assert [{"bids": ["[[item:#]]"]}] == checked["contracts"][0]["would_do"]


WRONG = "CREATE STREAM bids FROM parquet 'in';\nSELECT prize FROM bids;\nSELECT itm FROM bids;\n"


@pytest.mark.parametrize("command", ["run", "explain", "check"])
def test_a_wrong_statement_exits_with_2(command: str, script: Path) -> None:
    script.write_text(WRONG)

    code, _, err = call(command, script)

    assert 2 == code
    assert 'line 2, column 8: there is no column "prize"' in err
    assert 'line 3, column 8: there is no column "itm"' in err
    assert "Traceback" not in err


@pytest.mark.parametrize("command", ["run", "explain"])
def test_a_wrong_statement_for_machines(command: str, script: Path) -> None:
    script.write_text(WRONG)

    code, out, _ = call(command, script, "--json")

    (said,) = lines(out)
    assert (2, False, [2, 3]) == (code, said["ok"], [one["line"] for one in said["problems"]])


def test_check_for_machines(script: Path) -> None:
    script.write_text(WRONG)

    code, out, _ = call("check", script, "--json")

    (said,) = lines(out)
    assert (2, [True, False, False]) == (code, [one["ok"] for one in said["statements"]])
    assert 'Did you mean "price"?' in said["statements"][1]["problems"][0]["hint"]


def test_a_failed_run_exits_with_1(script: Path) -> None:
    (script.parent / "in" / "more.parquet").write_bytes(b"this is no Parquet")

    code, _, err = call("run", script)

    assert 1 == code
    assert "more.parquet" in err
    assert "Traceback" not in err


class _Broken:
    """An engine that is none."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, *_: object) -> object:
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (KeyError("x"), "KeyError: 'x'"),
        (OSError(28, "No space left on device", "out/part"), 'no space left on device: "out/part"'),
        (RuntimeError("first line\nsecond line"), "RuntimeError: first line"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_whatever_goes_wrong_is_one_readable_error(
    script: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    monkeypatch.setattr("millstream.cli.running.engine_on", _Broken(error))

    code, _, err = call("run", script)
    assert (1, said) == (code, err.splitlines()[0])
    assert "Traceback" not in err
    assert "--debug" in err
    (machine,) = lines(call("run", script, "--json")[1])
    assert (False, type(error).__name__) == (machine["ok"], machine["error"])
    for option in ("--debug", "-v"):
        code, _, err = call(option, "run", script)
        assert 1 == code
        assert "Traceback (most recent call last)" in err
        assert "test_cli.py" in err


def test_a_reader_that_goes_away_is_no_error(script: Path) -> None:
    done = subprocess.run(
        f"{sys.executable} -m millstream.cli run {script} --json | head -c 1 > /dev/null",
        shell=True, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("run",),
        ("run", "not-there.sql"),
        ("fly",),
        ("run", "good.sql", "--limit", "-1"),
        ("run", "good.sql", "--every", "soon"),
    ],
)
@pytest.mark.usefixtures("script")
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...]) -> None:
    code, _, err = call(*arguments)

    assert 2 == code
    assert "Usage" in err


def test_nothing_to_run(script: Path) -> None:
    script.write_text("CREATE STREAM bids FROM parquet 'in'")

    code, _, err = call("run", script)

    assert 2 == code
    assert "there is no query to run" in err


def test_version_names_what_is_at_work() -> None:
    _, out, _ = call("version")
    _, machine, _ = call("version", "--json")

    assert f"millstream {ms.__version__}" in out
    assert {"millstream", "python", "pyarrow", "sqlglot"} <= set(lines(machine)[0])


def test_help_teaches() -> None:
    _, out, _ = call("run", "--help")
    _, top, _ = call("--help")

    assert "CREATE STREAM bids" in out
    assert "millstream demo" in top
    assert "--install-completion" in top


def test_bench_lists_what_there_is() -> None:
    code, out, _ = call("bench")
    wrong, _, err = call("bench", "slidin")

    assert (0, 2) == (code, wrong)
    assert "sliding" in out.split()
    assert 'Did you mean "sliding"?' in err


def test_the_demo_finds_the_batch_answer() -> None:
    code, out, _ = call("demo", "auction", "--rows", 12_000, "--pace", 0)

    assert 0 == code
    assert "identical" in out


def test_the_speed_map_shows_what_it_would_without_feedback() -> None:
    code, out, _ = call("demo", "speed-map", "--pace", 0)

    assert 0 == code
    assert "the same as those" in out


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_ctrl_c_and_sigterm_stop_at_the_end_of_an_epoch(script: Path, sent: signal.Signals, code: int) -> None:
    script.write_text(
        "CREATE STREAM r FROM rate OPTIONS (rowsPerSecond 1000) PROGRESS ORDERED ON timestamp;"
        "SELECT count(*) AS n FROM r [RANGE 100 ms, WATTR timestamp];"
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "millstream.cli", "run", str(script), "--every", "50 ms", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    assert running.stdout is not None
    first = running.stdout.readline()
    time.sleep(0.2)
    running.send_signal(sent)
    out, err = running.communicate(timeout=20)

    *rows, summary = lines(first + out)
    assert (code, "") == (running.returncode, err)
    assert summary["stopped"]
    assert len(rows) == summary["queries"]["query_1"]["rows_out"]


def test_a_hint_about_a_run_is_sql_too(script: Path) -> None:
    statements = ("CREATE STREAM bids FROM parquet 'in'", "INSERT INTO parquet 'out' SELECT * FROM bids")
    script.write_text(";\n".join(statements))
    assert 0 == call("run", script, "--host", "local")[0]

    code, _, said = call("run", script, "--host", "local")

    assert 1 == code
    assert "INSERT OVERWRITE … replaces what is there, and OPTIONS (mode 'append') writes beside it." in said
    assert "to_parquet" not in said


@pytest.mark.parametrize("module", ["millstream", "millstream.cli"])
def test_the_command_is_there_where_it_is_not_on_the_path(module: str) -> None:
    done = subprocess.run([sys.executable, "-m", module, "--help"], capture_output=True, text=True, check=True)

    assert f"Usage: python -m {module} " in done.stdout


def test_a_query_is_drained_before_it_is_changed(script: Path) -> None:
    stream = "CREATE STREAM bids FROM parquet 'in' PROGRESS ON ts WITHIN 5;"
    old = "INSERT INTO json 'out/counts' SELECT count(*) AS n FROM bids [RANGE 10, WATTR ts];"
    script.write_text(f"{stream}\n{old}")
    assert 0 == call("run", script, "--checkpoint", "ck")[0]
    changed = script.with_name("changed.sql")
    changed.write_text(f"{stream}\n{old.replace('RANGE 10', 'RANGE 20')}")

    code, _, said = call("run", changed, "--checkpoint", "ck")
    assert 1 == code
    assert "`window range 10 slide 10 on ts [CF]` and now has `window range 20 slide 20 on ts [CF]`" in said
    assert "millstream drain FILE.sql 'counts' --checkpoint …" in said
    assert "engine." not in said

    code, _, said = call("drain", script, "counts", "--checkpoint", "ck")
    assert (0, "counts is drained, and the checkpoint has no state of it\n") == (code, said)
    rows = [row for path in sorted(Path("out/counts").glob("*.json")) for row in lines(path.read_text())]
    assert [(0, 3), (1, 1), (2, 1)] == [(row["window_id"], row["n"]) for row in rows]
    assert 0 == call("run", changed, "--checkpoint", "ck")[0]


def test_what_is_not_there_is_not_drained(script: Path) -> None:
    code, _, said = call("drain", script, "nothing", "--checkpoint", "ck")

    assert 1 == code
    assert "there is no query 'nothing'" in said
    assert 2 == call("drain", script, "out")[0]  # which checkpoint?
