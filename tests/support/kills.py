"""SIGKILL at random instants: whatever was under way, the next start goes on, and nothing is lost or doubled."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from support.bags import difference
from support.disk import rows_of, some_rows, without_epoch, write_files
from support.kill_target import INPUTS, TIMES, local

SEED = int(os.environ.get("MILLSTREAM_KILL_SEED", "7"))
FILES, ROWS = 12, 60
PAUSE = {"spark": 0.8, "local": 0.04}
"""Seconds from a commit to the latest kill: about as long as an epoch takes."""
log = logging.getLogger(__name__)
TESTS = Path(__file__).parents[1]


class Life:
    """A driver in a process group of its own, with the JVM that it starts."""

    def __init__(self, folder: Path, partitions: int, what: str, host: str) -> None:
        self.errors = folder / "stderr"
        with self.errors.open("a") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "support.kill_target", str(folder), str(partitions), what, host],
                cwd=TESTS,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
            )

    def said(self, timeout: float) -> str | None:
        """The next line that it says; None if it says nothing for that long."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], timeout)
        return self.process.stdout.readline().strip() if ready else None

    def kill(self, *, alone: bool) -> None:
        """At once; `alone` leaves the JVM to find out by itself, and tasks to finish what they were writing."""
        if alone:
            self.process.kill()
        else:
            os.killpg(self.process.pid, signal.SIGKILL)

    def bury(self) -> None:
        """Leave nothing of it behind."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def newest(folder: Path) -> int:
    """The number of the last step that is committed, -1 if none is."""
    return max((int(path.stem) for path in (folder / "ck" / "manifests").glob("0*.json")), default=-1)


def one_life(life: Life, folder: Path, steps: int | None, pause: float) -> str | None:
    """Let it live to its end, or until `pause` seconds after so many steps; returns its last words, if it had any."""
    words = life.said(120)
    assert "READY" == words, life.errors.read_text()[-3000:]
    if steps is not None:
        goal, words = newest(folder) + steps, None
        while words is None and newest(folder) < goal:
            words = life.said(0.02)
        words = words or life.said(pause)
    else:
        words = life.said(120)
    if words is not None:
        assert words.startswith("DONE"), life.errors.read_text()[-3000:]
        life.process.wait(60)
    return words


def one_round(folder: Path, rnd: random.Random, kills: int, what: str, host: str) -> list[str]:
    """From an empty checkpoint to the end; returns when the kills came."""
    inputs = {name: some_rows(FILES, ROWS, seed=rnd.randrange(1000), late_from=5) for name in INPUTS[what]}
    for name, epochs in inputs.items():
        write_files(folder / name, epochs)
    instants: list[str] = []
    lives: list[Life] = []
    words: str | None = None
    try:
        while words is None:
            steps = rnd.choice([0, 1, 1, 2, 3]) if len(instants) < kills else None
            pause = rnd.uniform(0.0, PAUSE[host] if steps else 4 * PAUSE[host])  # the first epoch takes longest
            alone = rnd.random() < 0.3
            lives.append(Life(folder, rnd.choice([2, 2, 2, 3]), what, host))
            words = one_life(lives[-1], folder, steps, pause)
            if words is None:
                lives[-1].kill(alone=alone)
                who = "the driver" if alone else "all"
                instants.append(f"{who} {pause:.2f} s after {steps} steps, at step {newest(folder)}")
    finally:
        for life in lives:
            life.bury()
    source = [row for epochs in inputs.values() for rows in epochs for row in rows]
    check(folder, source, json.loads(words.removeprefix("DONE ")), what)
    return instants


def check(folder: Path, source: list[dict[str, Any]], books: dict[str, int] | None, what: str) -> None:
    """The bags of the local host, and books that balance against the source."""
    query, expected = local(folder, what)
    results, late, rejected = (rows_of(folder / name) for name in ("out", "late", "rejected"))
    assert {} == difference(query.table().to_pylist(), results)
    for kind in ("csv", "json"):
        assert [] == apart(folder, kind)
    # Killed between its own two logs, Spark's file source puts two files into one epoch, and then a late row is
    # ruled out by an earlier punctuation. So there are no late rows among the first files, and the text may differ.
    assert {} == difference(_plain(without_epoch(query.late.table())), _plain(late))
    assert {} == difference(without_epoch(query.rejected.table()), rejected)
    filtered: list[Any] = []
    if what == "windows":
        filtered = [
            row
            for row in source
            if row["ts"] is not None and row["v"] is not None and row["v"] <= 1 and row not in _plain(late)
        ]
        counted = sum(row["n"] for row in results)
        assert 0 == counted % TIMES
        assert len(source) == counted // TIMES + len(late) + len(rejected) + len(filtered)
    elif what == "ring":
        assert results
    else:
        assert {True, False} == {row["right_ts"] is None for row in results}
    assert len(late) > 0
    assert len(rejected) > 0
    if books is not None:  # None if the last life found everything done
        assert expected == books
        assert len(source) == books["rows_in"]
        assert (len(late), len(rejected), len(filtered)) == (books["late"], books["rejected"], books["filtered"])
    hidden = [path.name for name in ("out", "csv", "json", "late", "rejected") for path in (folder / name).glob(".*")]
    assert [] == hidden
    assert [] == list((folder / "ck" / "staging").glob("*"))
    assert len(list((folder / "ck" / "manifests").iterdir())) <= 3


def apart(folder: Path, kind: str) -> list[Any]:
    """Rows that one of two outputs has and the other has not, or more often; of their numbers and texts."""
    schema = ds.dataset(folder / "out", format="parquet").schema
    plain = [one.name for one in schema if pa.types.is_integer(one.type) or pa.types.is_string(one.type)]
    columns = ", ".join(f'CAST("{name}" AS VARCHAR)' for name in plain)
    read = {"csv": "read_csv('{}', all_varchar = true)", "json": "read_json('{}', union_by_name = true)"}[kind]
    one, other = (
        f"SELECT {columns} FROM {source}"
        for source in (f"read_parquet('{folder}/out/*.parquet')", read.format(f"{folder}/{kind}/*.{kind}"))
    )
    return duckdb.connect().sql(f"({one} EXCEPT ALL {other}) UNION ALL ({other} EXCEPT ALL {one})").fetchall()


def _plain(late: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: row[name] for name in ("ts", "k", "g", "v")} for row in late]


def send(kills: int, what: str, host: str, tmp_path: Path) -> int:
    """Send so many kills, in as many rounds as that takes; returns how many were sent."""
    rnd = random.Random(SEED)
    made, rounds = 0, 0
    began = time.monotonic()
    while made < kills:
        folder = tmp_path / str(rounds)
        folder.mkdir()
        instants = one_round(folder, rnd, kills - made, what, host)
        made, rounds = made + len(instants), rounds + 1
        log.info("round %d, %.0f s: killed %s", rounds, time.monotonic() - began, "; ".join(instants))
    return made
