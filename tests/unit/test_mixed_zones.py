"""Times in several time zones: a moment is the same moment in every one, on every host."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from support import in_process

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
Ask = Callable[[Any, Any], Any]
ASKS: dict[str, tuple[Ask, list[Any]]] = {
    "union": (lambda a, b: a.union(b).select("v"), [0, 1, 2, 3, 100, 101, 102, 104, None, None]),
    "union, then a window": (
        lambda a, b: a.union(b).window("ts", range="1 hour").agg(v=ms.count()).select("v"), [1, 1, 2, 2, 2, 2],
    ),
    "union, then a condition": (
        lambda a, b: a.union(b).where("ts < TIMESTAMP '2026-01-01 13:30:00' AND at IS NOT NULL").select("v"),
        [0, 1, 100, 101],
    ),
    "difference": (lambda a, b: a.select("ts").difference(b.select("ts")).select(v="hour(ts)"), [15]),
    "intersection": (lambda a, b: a.select("ts").intersect(b.select("ts")).select(v="hour(ts)"), [12, 13, 14]),
    "join by a time": (lambda a, b: a.join(b, on="at", within="2 hours").select(v="right_v"), [100, 101, 102]),
    "join by the same time": (lambda a, b: a.join(b, on="ts", within="0 s").select(v="right_v"), [100, 101, 102]),
    "as-of join by a time": (lambda a, b: a.join_as_of(b, on="at", within="1 d").select(v="right_v"), [100, 101, 102]),
}  # fmt: skip


def rows(hours: list[int], zone: str, base: int) -> pa.Table:
    """One row for each hour after noon, whose other time is null in the end."""
    times = [NOON + timedelta(hours=hour) for hour in hours]
    moments = pa.array(times, pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone))
    others = pa.array([*times[:-1], None], pa.timestamp("us", "UTC")).cast(pa.timestamp("us", zone))
    values = pa.array([*(base + hour for hour in hours[:-1]), None], pa.int64())
    return pa.table({"ts": moments, "at": others, "v": values})


@pytest.mark.parametrize("name", ASKS)
@pytest.mark.parametrize("host", ["local", "tasks"])
def test_a_moment_is_the_same_in_every_time_zone(name: str, host: str, tmp_path: Path) -> None:
    ask, expected = ASKS[name]
    engine = ms.Engine(host="local") if host == "local" else in_process.engine(tmp_path, 3)
    promise = ms.ordered("ts")
    a = engine.stream("a", rows([0, 1, 2, 3, 3], "UTC", 0), progress=promise)
    b = engine.stream("b", rows([0, 1, 2, 4, 5], "Asia/Tokyo", 100), progress=promise)
    query = ask(a, b).named("q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert expected == sorted(query.table()["v"].to_pylist(), key=lambda v: (v is None, v))


def test_a_time_without_a_zone_is_no_moment() -> None:
    engine = ms.Engine(host="local")
    a = engine.stream("a", rows([0], "UTC", 0))
    b = engine.stream("b", rows([0], "UTC", 0).set_column(0, "ts", pa.array([None], pa.timestamp("us"))))

    with pytest.raises(ms.SchemaError, match="a union of"):
        a.union(b)
    with pytest.raises(ms.SchemaError, match="so they are never equal"):
        a.join(b, on="ts")
