"""Windows of whole days begin at midnight of the engine's time zone, also on days of 23 and 25 hours."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.errors import WindowError
from millstream.core.settings import Settings
from support.in_process import engine as engine_on_disk

ZONES = ["Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Africa/Cairo", "America/Santiago"]
BEGIN = datetime(2026, 3, 20, tzinfo=UTC)


def rows(seed: int, unit: str) -> pa.Table:
    rnd = random.Random(seed)
    times = sorted(BEGIN + timedelta(seconds=rnd.randint(0, 250 * 86400)) for _ in range(800))
    return pa.table({"ts": pa.array(times, pa.timestamp(unit, "UTC"))})


@pytest.mark.parametrize("on_disk", [False, True], ids=["local", "tasks"])
@pytest.mark.parametrize("unit", ["us", "s"])
@pytest.mark.parametrize("zone", ZONES)
def test_days_are_those_of_the_zone(zone: str, unit: str, tmp_path: Path, *, on_disk: bool) -> None:
    made = engine_on_disk(tmp_path, 2) if on_disk else ms.Engine(host="local", time_zone=zone)
    made.settings = Settings(zone=zone)
    table = rows(1, unit)
    stream = made.stream("s", table, progress=ms.ordered("ts"), epoch_rows=100)
    one = stream.window("ts", range="1 day").agg(n=ms.count()).named("one")
    week = stream.window("ts", range="7 days", slide="1 day").agg(n=ms.count()).named("week")
    made.start(ms.available_now(), end_of_stream=True).await_termination()

    local = [ts.astimezone(ZoneInfo(zone)).date() for ts in table["ts"].to_pylist()]
    expected = {day: local.count(day) for day in local}
    found = one.table().to_pylist()
    assert expected == {row["window_start"].astimezone(ZoneInfo(zone)).date(): row["n"] for row in found}
    for row in found:
        begins = row["window_start"].astimezone(ZoneInfo(zone))
        before = (row["window_start"] - timedelta(seconds=1)).astimezone(ZoneInfo(zone))
        assert begins.date() != before.date()
    for row in week.table().to_pylist():
        last = (row["window_end"] - timedelta(seconds=1)).astimezone(ZoneInfo(zone)).date()
        assert row["n"] == sum(last - timedelta(days=7) < day <= last for day in local)


def test_a_start_counts_from_there_and_hours_are_hours() -> None:
    made = ms.Engine(host="local", time_zone="Europe/Berlin")
    stream = made.stream("s", rows(2, "us"), progress=ms.ordered("ts"))
    given = stream.window("ts", range="1 day", start="2026-03-20 00:00:00").agg(n=ms.count()).named("given")
    hours = stream.window("ts", range="12 hours").agg(n=ms.count()).named("hours")
    made.start(ms.available_now(), end_of_stream=True).await_termination()

    assert {0} == {row["window_start"].hour for row in given.table().to_pylist()}
    assert {0, 12} == {row["window_start"].hour for row in hours.table().to_pylist()}
    assert "local days, Europe/Berlin" not in made.explain()
    with pytest.raises(WindowError, match="several ranges of whole days"):
        stream.window("ts", range=["1 day", "2 days"], slide="1 day")
