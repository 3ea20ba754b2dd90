"""What is said of a statement that would keep rows for ever is SQL, and a statement that follows it is safe."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from sql.refused import REFUSED
from sql.test_hints import PYTHON
from sql.test_refusals import engine

BETWEEN = "AND b.ts BETWEEN a.ts - INTERVAL 5 minutes AND a.ts + INTERVAL 5 minutes"
WITHIN = "AND b.ts >= a.ts - INTERVAL 5 minutes"
# By statement: the words of the hint, and what to replace by what in the statement, to follow it.
FOLLOWED: dict[str, tuple[str, str, str]] = {
    "join without a bound on time": (f"Bound the time: {BETWEEN};", "b.item", f"b.item {BETWEEN}"),
    "aggregate by key without a window": (
        "Give it a window: [RANGE 1 minute, WATTR ts];", "FROM bids", "FROM bids [RANGE 1 minute, WATTR ts]",
    ),
    "distinct on what is not punctuated": (
        "SELECT DISTINCT item, ts;", "SELECT DISTINCT item", "SELECT DISTINCT item, ts",
    ),
    "aggregate of everything": (
        "Give it a window: [RANGE 1 minute, WATTR ts];", "FROM bids", "FROM bids [RANGE 1 minute, WATTR ts]",
    ),
    "landmark by key": ("a length in place of ALL: RANGE 1 hour;", "RANGE ALL", "RANGE 1 hour"),
    "landmark of every value": ("a length in place of ALL: RANGE 1 hour;", "RANGE ALL", "RANGE 1 hour"),
    "join bounded at one end": (f"Bound it at the other end too: {BETWEEN};", "AND b.ts >= a.ts", BETWEEN),
    "outer join without a bound": (f"Bound the time: {BETWEEN};", "USING (item)", f"ON a.item = b.item {BETWEEN}"),
    "as-of join of any age": (f"Bound the distance: {WITHIN};", "a.ts >= b.ts", f"a.ts >= b.ts {WITHIN}"),
    "union that removes duplicates": ("of both sides: SELECT item, ts;", "SELECT item", "SELECT item, ts"),
    "aggregate by a computed key": (
        "Give it a window: [RANGE 1 minute, WATTR ts]; or run it with", "FROM bids",
        "FROM bids [RANGE 1 minute, WATTR ts]",
    ),
    "except without a time": ("of both sides: SELECT item, ts;", "SELECT item", "SELECT item, ts"),
    "where sessions start": ("use window_end.", "WATTR window_start", "WATTR window_end"),
    "where growing windows start": ("use window_end.", "WATTR window_start", "WATTR window_end"),
    "computed attribute": ("use the stream's own column.", "later", "ts"),
    "top of windows of rows": (
        "give those that it reads a range of time;", "[RANGE 10 rows, SLIDE 10 rows, WATTR row-num]",
        "[RANGE 1 minute, WATTR ts]",
    ),
    "windows of windows of rows": (
        "give those that it reads a range of time;", "[RANGE 10 rows])\n[RANGE 5, WATTR window_id]",
        "[RANGE 1 minute, WATTR ts]) [RANGE 5 minutes, WATTR window_end]",
    ),
}  # fmt: skip


def refused(made: ms.Engine, text: str) -> ms.ContractError:
    made.sql(text, name="q")
    with pytest.raises(ms.ContractError) as caught:
        made.start(ms.available_now())
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_said_is_sql_in_plain_words(name: str) -> None:
    said = str(refused(engine(), REFUSED[name]))

    assert PYTHON.search(said) is None
    assert "[[" not in said


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_statement_that_follows_the_hint_is_safe(name: str) -> None:
    hint, old, new = FOLLOWED[name]
    made = engine()

    assert hint in str(refused(engine(), REFUSED[name]).hint)
    made.sql(REFUSED[name].replace(old, new).replace("ts + INTERVAL 1 hour AS ts", "ts"), name="q")
    assert made.check().safe
    made.start(ms.available_now()).await_termination()


@pytest.mark.parametrize("name", [name for name in REFUSED if "computed" not in name])
def test_streams_that_promise_what_would_do_make_it_safe(name: str, tmp_path: Path) -> None:
    lines = str(refused(engine(), REFUSED[name])).partition("One of these would do:\n")[2].splitlines()
    for line in (line for line in lines if "… and" not in line):
        promises = dict(part.strip().split(": ", 1) for part in line.split(";"))
        made = declared(tmp_path, promises)
        made.sql(REFUSED[name], name="q")
        assert made.check().safe, promises


def declared(folder: Path, promises: dict[str, str]) -> ms.Engine:
    """The streams of the statements, declared in SQL: with these promises, or with those that they make anyway."""
    columns: dict[str, Any] = {"bids": "ts TIMESTAMP, item STRING, price BIGINT", "spaced": "`my ts` TIMESTAMP"}
    out = ms.Engine(host="local")
    for stream in ("bids", "quiet", "spaced"):
        (folder / stream).mkdir(exist_ok=True)
        promise = promises.get(stream, "")
        (apart,) = re.findall(r"ON (\S+) WITHIN …", promise) or [""]
        promise = promise.replace("WITHIN …", "WITHIN 5" if apart == "price" else "WITHIN 5 seconds")
        out.sql(
            f"CREATE STREAM {stream} ({columns.get(stream, columns['bids'])}) FROM json '{folder / stream}' {promise}"
        )
    return out
