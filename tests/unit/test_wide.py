"""Wide results: the long ones, with the ranges of one end and group side by side."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from support import in_process

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def answers(rows: list[dict[str, Any]], ranges: list[Any], slide: Any, engine: ms.Engine | None = None) -> Any:
    on = engine or ms.Engine(host="local")
    stream = on.stream("s", rows, epoch_rows=7)
    windows = stream.window("ts", range=ranges, slide=slide).group_by("k")
    long = windows.agg(n=ms.count(), top=ms.max("v")).named("long")
    wide = windows.agg(n=ms.count(), top=ms.max("v"), wide=True).named("wide")
    on.start(ms.available_now(), end_of_stream=True).await_termination()
    return long.table().to_pylist(), wide.table().to_pylist()


@pytest.mark.parametrize("host", ["local", "spark"])
@pytest.mark.parametrize("kind", ["seconds", "numbers", "days", "decimals"])
def test_wide_results_say_what_the_long_ones_say(kind: str, host: str, tmp_path: Path) -> None:
    rnd = random.Random(3)
    point, ranges, slide, labels = {
        "seconds": (lambda i: NOON + timedelta(seconds=i), ["5 seconds", "1 minute"], "5 seconds", ("5s", "1m")),
        "numbers": (lambda i: i, [5, 60], 5, ("5", "60")),
        "days": (lambda i: date(2026, 1, 1) + timedelta(days=i), ["5 days", "60 days"], "5 days", ("5d", "60d")),
        "decimals": (lambda i: Decimal(i) / 10, ["0.5", "6"], "0.5", ("0_5", "6_0")),
    }[kind]
    rows = [{"ts": point(rnd.randrange(100)), "k": rnd.choice("ab"), "v": rnd.randrange(9)} for _ in range(60)]
    schema = "ts DECIMAL(10, 1), k STRING, v BIGINT" if kind == "decimals" else None
    engine = ms.Engine(host="local") if host == "local" else in_process.engine(tmp_path / "checkpoint", 2)
    if schema is not None:
        declared = engine.stream
        engine.stream = lambda name, source, **more: declared(name, source, schema=schema, **more)  # type: ignore[method-assign]
    long, wide = answers(rows, ranges, slide, engine)

    short = min(row["window_end"] - row["window_start"] for row in long)
    expected: dict[Any, dict[str, Any]] = {}
    for row in long:
        size = labels[row["window_end"] - row["window_start"] != short]
        mine = expected.setdefault((row["window_end"], row["k"]), {})
        mine |= {f"n_{size}": row["n"], f"top_{size}": row["top"]}
    blank = {f"n_{size}": 0 for size in labels} | {f"top_{size}": None for size in labels}
    found = {(row.pop("window_end"), row.pop("k")): row for row in wide}
    assert {key: blank | mine for key, mine in expected.items()} == found
    assert len(found) == len(wide)


def test_one_range_is_not_wide() -> None:
    stream = ms.Engine(host="local").stream("s", [{"ts": 1}])

    with pytest.raises(ms.PlanError, match="wide=True puts several ranges side by side"):
        stream.window("ts", range=5).agg(n=ms.count(), wide=True)
    with pytest.raises(ms.PlanError, match="two columns would be named 'n_5'"):
        stream.with_columns(n_5="ts").window("ts", range=[5, 9]).group_by("n_5").agg(n=ms.count(), wide=True)


def test_a_wide_row_leaves_when_its_end_is_passed() -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", [{"ts": ts} for ts in (1, 7, 12)], progress=ms.ordered("ts"))
    query = stream.window("ts", range=[5, 10], slide=5).agg(n=ms.count(), wide=True).named("q")
    engine.start(ms.available_now()).await_termination()

    assert [5, 10] == sorted(query.table()["window_end"].to_pylist())
    assert "refused" not in str(engine.check())


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_ranges_beyond_a_day_are_as_long_on_a_day_of_25_hours(zone: str) -> None:
    rows = [{"ts": datetime(2024, 10, 26, 20, tzinfo=UTC) + timedelta(hours=i), "k": "a", "v": i} for i in range(30)]

    long, wide = answers(rows, ["1 hour", "30 hours"], "1 hour", ms.Engine(host="local", time_zone=zone))

    hours = {
        row["window_end"]: row["n"] for row in long if row["window_end"] - row["window_start"] > timedelta(hours=1)
    }
    assert hours == {row["window_end"]: row["n_30h"] for row in wide}


@pytest.mark.parametrize(("ranges", "slide"), [(["500 ns", "2 us"], "1 us"), (["1 us", "2 us"], "500 ns")])
def test_edges_between_two_microseconds_are_refused(ranges: list[str], slide: str) -> None:
    stream = ms.Engine(host="local").stream("s", pa.table({"ts": pa.array([100, 700], pa.timestamp("ns"))}))

    with pytest.raises(ms.PlanError, match="500 ns, which is no number of microseconds"):
        stream.window("ts", range=ranges, slide=slide).agg(n=ms.count(), wide=True)
