"""What the fuzzer found, each at its smallest."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from support.in_process import engine as engine_on_disk


def played(engine: ms.Engine, rows: pa.Table, attribute: str, text: str) -> list[dict[str, Any]]:
    engine.stream("s", rows, progress=ms.ordered(attribute))
    query = engine.sql(text, name="q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return query.table().to_pylist()


@pytest.mark.parametrize(("name", "written"), [("a`b", "`a``b`"), ("a.b", "`a.b`"), ("x y", "`x y`")])
@pytest.mark.parametrize("clause", ["RANGE 10, WATTR {}", "RANGE 10, RATTR {}, SLIDE 1 row, SATTR rank({})"])
def test_a_window_clause_takes_any_name_in_backticks(name: str, written: str, clause: str) -> None:
    rows = pa.table({name: [1, 2]})
    text = f"SELECT count(*) AS n FROM s [{clause.format(*[written] * 2)}]"

    assert 2 == max(row["n"] for row in played(ms.Engine(host="local"), rows, name, text))


def test_a_column_may_be_named_window() -> None:
    rows = pa.table({"ts": [1, 2, 3], "window": ["a", "b", "a"]})
    text = "SELECT `window`, count(*) AS n FROM s [RANGE 10, WATTR ts] GROUP BY `window`"

    found = played(ms.Engine(host="local"), rows, "ts", text)

    assert {"a": 2, "b": 1} == {row["window"]: row["n"] for row in found}


@pytest.mark.parametrize("on_disk", [False, True], ids=["local", "tasks"])
def test_the_last_bound_closes_landmarks_before_the_end_does(
    tmp_path: Path,
    on_disk: bool,  # noqa: FBT001 - a parameter
) -> None:
    rows = pa.table({"ts": [1, 35], "v": [1, 2]})
    text = "SELECT count(*) AS n FROM s [RANGE ALL, SLIDE 10, WATTR ts] WHERE v = 1"

    found = played(engine_on_disk(tmp_path, 2) if on_disk else ms.Engine(host="local"), rows, "ts", text)

    assert [10, 20, 30] == [row["window_end"] for row in found]


@pytest.mark.parametrize(
    ("zone", "start", "begins"),
    [
        ("UTC", "TIMESTAMP '1970-01-01 00:00:07'", 7),
        ("UTC", "TIMESTAMP_LTZ '1970-01-01 00:00:07'", 7),
        ("Asia/Kolkata", "TIMESTAMP '1970-01-01 05:30:07'", 7),
        ("Asia/Kolkata", "'1970-01-01 05:30:07'", 7),
        ("Asia/Kolkata", "TIMESTAMP '1970-01-01 00:00:07Z'", 7),
    ],
)
def test_the_start_of_a_window_is_a_time_of_the_engine_s_zone(zone: str, start: str, begins: int) -> None:
    rows = pa.table({"ts": pa.array([20_000_000], pa.timestamp("us", "UTC"))})
    text = f"SELECT window_start, count(*) AS n FROM s [RANGE 1 minute, WATTR ts, START {start}]"

    (row,) = played(ms.Engine(host="local", time_zone=zone), rows, "ts", text)

    assert datetime(1970, 1, 1, 0, 0, begins, tzinfo=UTC) == row["window_start"]


def test_the_start_of_a_window_may_be_a_time_without_a_zone() -> None:
    rows = pa.table({"ts": pa.array([20_000], pa.timestamp("ms"))})
    text = "SELECT count(*) AS n FROM s [RANGE 1 minute, WATTR ts, START TIMESTAMP_NTZ '1970-01-01 00:00:07']"

    (row,) = played(ms.Engine(host="local", time_zone="Asia/Kolkata"), rows, "ts", text)

    assert datetime(1970, 1, 1, 0, 0, 7) == row["window_start"]  # noqa: DTZ001 - it has no zone


@pytest.mark.parametrize(
    ("kind", "condition", "close"),
    [
        (pa.decimal128(9, 2), "b.ts >= a.ts - 0.02", lambda d: d >= -2),
        (pa.decimal128(9, 2), "b.ts > a.ts - 0.02", lambda d: d > -2),
        (pa.decimal128(9, 2), "b.ts > a.ts - 0.025", lambda d: d > -2.5),
        (pa.decimal128(9, 2), "b.ts <= a.ts + .015 AND b.ts >= a.ts - 1", lambda d: d <= 1.5),
        (pa.int64(), "b.ts < a.ts + 1.5 AND b.ts > a.ts - 2.5", lambda d: -2.5 < d < 1.5),
    ],
)
def test_a_join_is_limited_by_lengths_with_a_point(kind: pa.DataType, condition: str, close: Any) -> None:
    ticks = [0, 1, 2, 3, 5]
    times = pa.array(ticks, pa.int64()) if kind == pa.int64() else pa.array([Decimal(t) / 100 for t in ticks], kind)
    engine = ms.Engine(host="local")
    for name in ("a", "b"):
        engine.stream(name, pa.table({"ts": times, "id": ticks}), progress=ms.ordered("ts"))
    query = engine.sql(f"SELECT a.id AS x, b.id AS y FROM a JOIN b ON {condition}", name="q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    pairs = sorted((row["x"], row["y"]) for row in query.table().to_pylist())
    assert [(x, y) for x in ticks for y in ticks if close(y - x)] == pairs
    assert "ts less ts" in engine.explain()


def test_an_as_of_join_is_limited_by_a_length_with_a_point() -> None:
    times = pa.array([Decimal("0.01"), Decimal("0.09")], pa.decimal128(9, 2))
    engine = ms.Engine(host="local")
    engine.stream("a", pa.table({"ts": times, "id": [1, 2]}), progress=ms.ordered("ts"))
    engine.stream("b", pa.table({"ts": times[:1], "id": [1]}), progress=ms.ordered("ts"))
    query = engine.sql("SELECT a.id AS x FROM a ASOF JOIN b ON a.ts >= b.ts AND b.ts >= a.ts - 0.03", name="q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert [{"x": 1}] == query.table().to_pylist()
